import CPlatform
import ServerStorage

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A file lock. The system releases it when the process ends in any way.
package final class FolderLock: Sendable {
  private let descriptor: Int32

  /// Waits for the lock.
  static func waiting(_ path: String) throws(ServerError) -> FolderLock {
    let lock = try FolderLock(path)
    while flock(lock.descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else { throw failure(path) }
    }
    return lock
  }

  /// Returns the lock; `nil` if another process has it.
  static func ifFree(_ path: String) throws(ServerError) -> FolderLock? {
    let lock = try FolderLock(path)
    if flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0 { return lock }
    guard errno == EWOULDBLOCK else { throw failure(path) }
    return nil
  }

  private init(_ path: String) throws(ServerError) {
    descriptor = cplatform_open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw Self.failure(path) }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  private static func failure(_ path: String) -> ServerError {
    ServerError(.system, "cannot lock \(path): \(String(cString: strerror(errno)))")
  }
}
