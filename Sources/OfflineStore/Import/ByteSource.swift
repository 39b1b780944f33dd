import CPlatform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Bytes from a file or from standard input, a part at a time.
public final class ByteSource {
  private let input: Input
  /// What messages call it.
  public let name: String
  /// Its size in bytes, where it is a file.
  public let size: Int?
  /// How many bytes have been read.
  public private(set) var position = 0

  /// Opens a file; `-` is standard input.
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

  /// Bytes in memory, given out in parts of at most `part` bytes.
  package init(_ bytes: [UInt8], name: String = "input", part: Int = .max) {
    (input, self.name, size) = (Input(bytes: bytes, part: max(part, 1)), name, bytes.count)
  }

  /// Fills a buffer. Fewer bytes than it holds only at the end of the input, none behind it.
  ///
  /// Readers look at what they have from its beginning after each call. Parts as small as a pipe gives them would make that
  /// quadratic.
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

  /// Where the bytes come from.
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
