import CPlatform
import Platform
import VaultKeys

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The lock of the one sync worker of a vault, across processes. The system releases it when the process ends in any
/// way.
package final class SyncLock: Sendable {
  private let descriptor: Int32

  /// Acquires the lock without waiting. Returns `nil` if another worker holds it.
  package init?(of layout: VaultLayout) throws {
    descriptor = cplatform_open(layout.syncLock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw FileError.last("open", layout.syncLock) }
    // `deinit` closes the descriptor. It also runs for an initialiser that fails from here on.
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      let reason = errno
      if reason == EWOULDBLOCK { return nil }
      throw FileError("lock", layout.syncLock, Descriptor.Failure(number: reason))
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }
}
