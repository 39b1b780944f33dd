import CPlatform

/// Keeps keys out of core dumps: no core file, and on Linux no debugger of the same user and no dump by other means.
///
/// Call it first thing in an executable that opens a vault. On Linux the files under `/proc/self` belong to root
/// from then on, so a child that is to open `/dev/fd/N` needs the descriptor itself. Children start without the
/// second protection, and keep the first.
///
/// - Returns: Whether the system accepted all of it. A program goes on either way.
@discardableResult
public func forbidCoreDumps() -> Bool {
  let noFile = cplatform_forbid_core_files() == 0
  return cplatform_forbid_dumps() == 0 && noFile
}
