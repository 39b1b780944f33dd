import CPlatform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Held by the one worker of a vault, also across processes. The system frees it when the process ends, however it ends.
package final class SyncLock: Sendable {
  private let descriptor: Int32

  /// Takes the lock at once; nil when another worker has it.
  package init?(of layout: VaultLayout) throws {
    descriptor = cplatform_open(layout.syncLock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw FileProblem.current("open", layout.syncLock) }
    // The descriptor is closed by `deinit`, which runs for an initialiser that fails from here on.
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      let reason = errno
      if reason == EWOULDBLOCK { return nil }
      throw FileProblem.error(reason, "lock", layout.syncLock)
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }
}
