import CPlatform

/// Keeps keys out of core dumps: no core file, and on Linux no debugger of the same user and no other kind of dump.
///
/// Call it first in an executable that opens a vault. On Linux the files under `/proc/self` belong to root
/// afterwards, so a child that opens `/dev/fd/N` needs the descriptor itself. Children start without the second
/// protection, and keep the first.
///
/// - Returns: whether the system accepted both. A program continues either way.
@discardableResult
public func forbidCoreDumps() -> Bool {
  let noFile = cplatform_forbid_core_files() == 0
  return cplatform_forbid_dumps() == 0 && noFile
}
