import CPlatform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A file that is read or written from front to back. Interrupted calls are repeated.
final class OpenFile {
  let path: String
  private let descriptor: Int32

  /// The descriptor, for as long as this value lives.
  var number: Int32 { descriptor }

  /// Opens a file to read.
  init(reading path: String) throws(VaultError) {
    self.path = path
    descriptor = cplatform_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0)
    guard descriptor >= 0 else { throw FileProblem.current("read", path) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw VaultError(.unreadable, "cannot read \(path): it is not a file", hint: "check the path")
    }
  }

  /// Makes a file of mode 0600, where nothing may be.
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

  /// Fills the buffer as far as the file goes. Returns the number of bytes.
  func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(VaultError) -> Int {
    var done = 0
    while done < buffer.count {
      let count = read(descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done)
      if count == 0 { break }
      if count > 0 { done += count } else if errno != EINTR { throw FileProblem.current("read", path) }
    }
    return done
  }

  /// Writes every byte.
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

  /// Brings the content to the disk itself.
  func synchronize() throws(VaultError) { try Files.syncFile(path) }

  /// Takes the file for this process alone; false when another one has it.
  func lock() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }
}

// Inside the type the name is that of its method.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  write(descriptor, bytes, count)
}
