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
  private let descriptor: Int32
  private let ownsDescriptor: Bool
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
      (descriptor, ownsDescriptor, name, size) = (STDIN_FILENO, false, "standard input", nil)
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
    (descriptor, ownsDescriptor, name, size) = (opened, true, path, isFile ? Int(status.st_size) : nil)
  }

  deinit { if ownsDescriptor { close(descriptor) } }

  /// Fills a part of a buffer. Zero at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(VaultError) -> Int {
    while true {
      #if canImport(Glibc)
        let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
      #elseif canImport(Musl)
        let count = Musl.read(descriptor, buffer.baseAddress, buffer.count)
      #else
        let count = Darwin.read(descriptor, buffer.baseAddress, buffer.count)
      #endif
      if count >= 0 {
        position += count
        return count
      }
      if errno == EINTR { continue }
      throw VaultError(.unreadable, "cannot read \(name): \(String(cString: strerror(errno)))")
    }
  }
}
