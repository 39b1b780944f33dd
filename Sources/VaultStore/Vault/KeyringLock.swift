import CPlatform
import Platform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The lock for reading, changing and writing the keyring, so that concurrent changes do not lose each other. The lock
/// is on the folder of the vault. It leaves no file and does not exclude processes that have the vault open.
final class KeyringLock {
  private let descriptor: Int32

  /// Acquires the lock and waits for at most ten seconds.
  /// - Throws: ``VaultError`` with `busy`.
  init(folder: String) throws {
    descriptor = cplatform_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    guard descriptor >= 0 else { throw FileError.last("open the folder", folder) }
    for attempt in 0... {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return }
      let reason = errno
      guard reason == EWOULDBLOCK || reason == EINTR, attempt < 500 else {
        let names = LockHolders.names(of: descriptor)
        // `deinit` closes the descriptor. It also runs for an initialiser that throws from here on.
        guard reason == EWOULDBLOCK else { throw FileError("lock", folder, Descriptor.Failure(number: reason)) }
        throw VaultError(
          .busy, "the keyring is being changed by \(names.isEmpty ? "another process" : names.joined(separator: ", "))",
          hint: "try again in a moment")
      }
      usleep(20_000)
    }
  }

  /// Acquires the lock if it is free.
  init?(ifFree folder: String) {
    descriptor = cplatform_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    guard descriptor >= 0 else { return nil }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return nil }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }
}
