import CPlatform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Reads bytes from a file, from standard input or from memory.
public final class ByteSource {
  private let input: Input
  /// The name of the source in messages.
  public let name: String
  /// The size in bytes; `nil` for standard input and for anything but a regular file.
  public let size: Int?
  /// The number of bytes read so far.
  public private(set) var position = 0

  /// Opens a file; `-` means standard input.
  /// - Throws: ``VaultError`` with `unreadable`.
  public init(path: String) throws {
    if path == "-" {
      (input, name, size) = (Input(descriptor: STDIN_FILENO, isOwned: false), "standard input", nil)
      return
    }
    let opened = cplatform_open(path, O_RDONLY | O_CLOEXEC, 0)
    var status = stat()
    guard opened >= 0, fstat(opened, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
      let reason = opened >= 0 ? EISDIR : errno
      if opened >= 0 { close(opened) }
      throw VaultError(
        .unreadable, "cannot read \(path): \(String(cString: strerror(reason)))", hint: "check the path of the file")
    }
    let isFile = status.st_mode & S_IFMT == S_IFREG
    let descriptor = Input(descriptor: opened, isOwned: true)
    (input, name, size) = (descriptor, path, isFile ? Int(status.st_size) : nil)
  }

  /// Creates a source of bytes in memory that simulates reads of at most `part` bytes.
  package init(_ bytes: [UInt8], name: String = "input", part: Int = .max) {
    (input, self.name, size) = (Input(bytes: bytes, part: max(part, 1)), name, bytes.count)
  }

  /// Fills a buffer and returns the number of bytes. The number is smaller than the buffer only at the end of the
  /// input, and 0 after it.
  ///
  /// Callers scan their buffer from its beginning after each call. Returning the small reads of a pipe would make
  /// that quadratic.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(VaultError) -> Int {
    var filled = 0
    while filled < buffer.count {
      let count = try input.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]), named: name)
      if count == 0 { break }
      filled += count
      position += count
    }
    return filled
  }

  /// The origin of the bytes: a file descriptor or an array.
  private final class Input {
    private let descriptor: Int32
    private let isOwned: Bool
    private var bytes: ArraySlice<UInt8> = []
    private var part = 0

    init(descriptor: Int32, isOwned: Bool) { (self.descriptor, self.isOwned) = (descriptor, isOwned) }

    init(bytes: [UInt8], part: Int) {
      (descriptor, isOwned, self.bytes, self.part) = (-1, false, bytes[...], part)
    }

    deinit { if isOwned { close(descriptor) } }

    func read(into buffer: UnsafeMutableRawBufferPointer, named name: String) throws(VaultError) -> Int {
      if descriptor < 0 {
        let next = bytes.prefix(min(part, buffer.count))
        buffer.copyBytes(from: next)
        bytes = bytes.dropFirst(next.count)
        return next.count
      }
      while true {
        #if canImport(Glibc)
          let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
        #elseif canImport(Musl)
          let count = Musl.read(descriptor, buffer.baseAddress, buffer.count)
        #else
          let count = Darwin.read(descriptor, buffer.baseAddress, buffer.count)
        #endif
        if count >= 0 { return count }
        if errno == EINTR { continue }
        throw VaultError(.unreadable, "cannot read \(name): \(String(cString: strerror(errno)))")
      }
    }
  }
}
