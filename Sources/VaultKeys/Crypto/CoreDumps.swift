import CPlatform

/// Keeps keys out of core dumps. Disables core files, and on Linux also debuggers of the same user and other kinds of
/// dumps.
///
/// Call it first in an executable that opens a vault. On Linux the files under `/proc/self` belong to root afterwards,
/// so a child cannot open `/dev/fd/N` and must inherit the descriptor. Children start without the second protection,
/// but keep the first.
///
/// - Returns: whether the system accepted both. A program continues either way.
@discardableResult
public func forbidCoreDumps() -> Bool {
  let noFile = cplatform_forbid_core_files() == 0
  return cplatform_forbid_dumps() == 0 && noFile
}
