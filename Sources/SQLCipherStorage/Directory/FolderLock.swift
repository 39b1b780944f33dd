import CPlatform
import Platform
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
  /// -1 after ``release()``.
  private let held: Locked<Int32>
  private var descriptor: Int32 { held.withLock { $0 } }

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

  /// Returns a lock of a folder that processes share; `nil` if one has it alone.
  static func shared(ofFolder path: String) throws(ServerError) -> FolderLock? {
    // The folder itself is locked, because a file for it would belong to the user of the first command, which may be root.
    let lock = try FolderLock(path, O_RDONLY | O_DIRECTORY)
    if lock.share() { return lock }
    guard errno == EWOULDBLOCK else { throw failure(path) }
    return nil
  }

  /// Shares the lock with other processes. Returns `false` if one has it alone.
  @discardableResult
  func share() -> Bool { flock(descriptor, LOCK_SH | LOCK_NB) == 0 }

  /// Takes a shared lock alone. While it changes hands another process may have it.
  /// - Returns: `false` if other processes share it.
  func makeExclusive() -> Bool {
    if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
    // The system gives up the shared lock first.
    share()
    return false
  }

  private init(_ path: String, _ flags: Int32 = O_RDWR | O_CREAT | O_NOFOLLOW) throws(ServerError) {
    held = Locked(cplatform_open(path, flags | O_CLOEXEC, 0o600))
    guard descriptor >= 0 else { throw Self.failure(path) }
  }

  /// Gives up the lock before this value ends.
  func release() {
    let last = held.withLock { held in
      defer { held = -1 }
      return held
    }
    if last >= 0 { close(last) }
  }

  deinit { release() }

  private static func failure(_ path: String) -> ServerError {
    ServerError(.system, "cannot lock \(path): \(String(cString: strerror(errno)))")
  }
}
