import CPlatform
import Platform
import SchemaModel
import VaultKeys

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A lock on the attachments folder. Operations that write files, or rely on their presence, hold it shared. A
/// sweep holds it exclusively for a short time.
///
/// It is a `flock` on the folder, so it creates no file. The system releases it when the process ends.
package final class AttachmentLock: Sendable {
  private let descriptor: Int32

  /// Acquires a shared lock. Waits up to ten seconds for a sweep.
  /// - Throws: ``VaultError`` with `busy`.
  package init(sharing layout: VaultLayout) throws {
    if !Files.exists(layout.attachments) { try Files.makeFolder(layout.attachments) }
    descriptor = cplatform_open(layout.attachments, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    guard descriptor >= 0 else { throw FileError.last("open the folder", layout.attachments) }
    for attempt in 0... {
      if flock(descriptor, LOCK_SH | LOCK_NB) == 0 { return }
      let reason = errno
      // The descriptor is closed by `deinit`, which runs for an initialiser that throws from here on.
      guard reason == EWOULDBLOCK || reason == EINTR else {
        throw FileError("lock", layout.attachments, Descriptor.Failure(number: reason))
      }
      guard attempt < 500 else {
        throw VaultError(.busy, "another process is removing files of this vault", hint: "try again in a moment")
      }
      usleep(20_000)
    }
  }

  /// Acquires the exclusive lock. Returns `nil` when the lock is held or the folder cannot be opened.
  package init?(ifFree layout: VaultLayout) {
    descriptor = cplatform_open(layout.attachments, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return nil }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }
}
