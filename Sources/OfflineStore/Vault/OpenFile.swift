import CPlatform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A file that is read or written sequentially. Interrupted calls are repeated.
final class OpenFile {
  let path: String
  private let descriptor: Int32

  /// The descriptor, valid while this value exists.
  var number: Int32 { descriptor }

  /// Opens a file for reading.
  init(reading path: String) throws(VaultError) {
    self.path = path
    descriptor = cplatform_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0)
    guard descriptor >= 0 else { throw FileProblem.current("read", path) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw VaultError(.unreadable, "cannot read \(path): it is not a file", hint: "check the path")
    }
  }

  /// Creates a file of mode 0600 at a free path.
  init(creating path: String) throws(VaultError) {
    self.path = path
    descriptor = cplatform_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw FileProblem.current("make", path) }
  }

  deinit { close(descriptor) }

  /// The size in bytes.
  func size() throws(VaultError) -> Int {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileProblem.current("read", path) }
    return Int(status.st_size)
  }

  /// Fills the buffer up to the end of the file. Returns the number of bytes.
  func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(VaultError) -> Int {
    var done = 0
    while done < buffer.count {
      let count = read(descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done)
      if count == 0 { break }
      if count > 0 { done += count } else if errno != EINTR { throw FileProblem.current("read", path) }
    }
    return done
  }

  /// Writes all bytes.
  func write(_ bytes: UnsafeRawBufferPointer) throws(VaultError) {
    var done = 0
    while done < bytes.count {
      let count = systemWrite(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
      if count > 0 { done += count } else if errno != EINTR { throw FileProblem.current("write", path) }
    }
  }

  func write(_ bytes: [UInt8]) throws(VaultError) {
    let result: Result<Void, VaultError> = bytes.withUnsafeBytes { buffer in
      do throws(VaultError) {
        return .success(try write(buffer))
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }

  /// Flushes the content to the disk.
  func synchronize() throws(VaultError) { try Files.syncFile(path) }

  /// Locks the file for this process; returns `false` if another process has the lock.
  func lock() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }
}

// Within the type, the name is that of its method.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  write(descriptor, bytes, count)
}
