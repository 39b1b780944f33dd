import CPlatform

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A file descriptor. Interrupted calls are repeated. A descriptor that this type opened or owns is closed on deinitialization.
package struct Descriptor: ~Copyable {
  /// The number of the descriptor.
  package let number: Int32
  private let isOwned: Bool

  /// The failure of a system call.
  package struct Failure: Error {
    /// The value of `errno`.
    package let number: Int32

    package init(number: Int32) { self.number = number }

    /// The failure of the previous call.
    package static var last: Failure { Failure(number: errno) }

    /// The system's message for the failure.
    package var text: String { String(cString: strerror(number)) }
  }

  /// Opens a file, never as the controlling terminal and never for a child process.
  package init(opening path: String, _ flags: Int32, mode: UInt32 = 0) throws(Failure) {
    var descriptor: Int32
    repeat {
      descriptor = cplatform_open(path, flags | O_CLOEXEC | O_NOCTTY, mode)
    } while descriptor < 0 && errno == EINTR
    guard descriptor >= 0 else { throw .last }
    number = descriptor
    isOwned = true
  }

  /// Creates a descriptor that another object owns and closes.
  package init(borrowing number: Int32) {
    self.number = number
    isOwned = false
  }

  /// Takes over an open descriptor.
  package init(owning number: Int32) {
    self.number = number
    isOwned = true
  }

  deinit {
    if isOwned { _ = close(number) }
  }

  /// Reads into the buffer. Returns 0 at the end.
  package func read(into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int {
    try Descriptor.repeating { systemRead(number, buffer) }
  }

  /// Returns the next bytes, empty at the end. Not for secrets.
  package func chunk(atMost size: Int) throws(Failure) -> [UInt8] {
    var failure: Failure?
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      do throws(Failure) {
        count = try read(into: UnsafeMutableRawBufferPointer(buffer))
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return bytes
  }

  /// Writes every byte.
  package func write(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
    var rest = bytes
    while !rest.isEmpty {
      let written = try Descriptor.repeating { systemWrite(number, rest) }
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(written))
    }
  }

  /// Reads from an offset until the buffer is full or the file ends. Returns the number of bytes.
  package func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int {
    var done = 0
    while done < buffer.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let count = try Descriptor.repeating { pread(number, rest.baseAddress, rest.count, off_t(offset + done)) }
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// Writes every byte at an offset.
  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(Failure) {
    var done = 0
    while done < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
      done += try Descriptor.repeating { pwrite(number, rest.baseAddress, rest.count, off_t(offset + done)) }
    }
  }

  /// Returns the size of the file, in bytes.
  package func size() throws(Failure) -> Int {
    var status = stat()
    guard fstat(number, &status) == 0 else { throw .last }
    return Int(status.st_size)
  }

  /// Truncates the file, or extends it with zeros.
  package func setSize(_ size: Int) throws(Failure) {
    _ = try Descriptor.repeating { Int(ftruncate(number, off_t(size))) }
  }

  /// Flushes the written bytes to the disk.
  package func synchronize() throws(Failure) {
    #if canImport(Darwin)
      // fsync leaves it in the cache of the drive there; some file systems know no other call.
      if cplatform_fcntl(number, F_FULLFSYNC, 0) == 0 { return }
    #endif
    _ = try Descriptor.repeating { Int(fsync(number)) }
  }

  /// Sets exactly this mode, independent of the umask.
  package func setMode(_ mode: UInt32) throws(Failure) {
    guard fchmod(number, mode_t(mode)) == 0 else { throw .last }
  }

  /// Returns whether the file is a regular file.
  package func isRegular() throws(Failure) -> Bool {
    var status = stat()
    guard fstat(number, &status) == 0 else { throw .last }
    return status.st_mode & S_IFMT == S_IFREG
  }

  /// Removes a file. A missing file is ignored.
  package static func remove(_ path: String) throws(Failure) {
    guard unlink(path) == 0 || errno == ENOENT else { throw .last }
  }

  private static func repeating(_ call: () -> Int) throws(Failure) -> Int {
    while true {
      let result = call()
      if result >= 0 { return result }
      if errno != EINTR { throw .last }
    }
  }
}

// Inside the type the names are those of its methods.
private func systemRead(_ number: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
  read(number, buffer.baseAddress, buffer.count)
}

private func systemWrite(_ number: Int32, _ buffer: UnsafeRawBufferPointer) -> Int {
  write(number, buffer.baseAddress, buffer.count)
}

extension [UInt8] {
  /// Calls a closure with the bytes. `withUnsafeBytes` does not support typed errors yet.
  package func withBytes<Failure: Error>(_ body: (UnsafeRawBufferPointer) throws(Failure) -> Void) throws(Failure) {
    let result: Result<Void, Failure> = withUnsafeBytes { bytes in
      do throws(Failure) {
        return .success(try body(bytes))
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }
}
