import CPlatform
import Platform
import SchemaModel

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A file that is being attached. It is read sequentially, usually once, and must not change while it is read.
package final class AttachmentSource {
  package let path: String
  /// The last path component, for display.
  package let fileName: String
  /// The size in bytes when the file was opened.
  package let byteCount: Int
  private let file: OpenFile
  private let descriptor: Int32
  private let beginning: stat
  private var bytesRead = 0

  /// Opens a file.
  /// - Throws: ``VaultError`` with `unreadable`, also for a folder, a pipe or a device.
  package init(_ path: String) throws {
    self.path = path
    file = try OpenFile(reading: path)
    descriptor = file.number
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileError.last("read", path) }
    beginning = status
    byteCount = Int(status.st_size)
    fileName = Self.name(of: path)
  }

  /// Reads the next bytes into `buffer` and returns their count; 0 at the end.
  private func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    let count = try file.fill(buffer)
    bytesRead += count
    // Without this check, reading a file that another process keeps appending to would never end.
    if bytesRead > byteCount { throw changed }
    return count
  }

  /// Returns to the first byte.
  func rewind() throws {
    guard lseek(descriptor, 0, SEEK_SET) == 0 else { throw FileError.last("read", path) }
    bytesRead = 0
  }

  /// Calls `body` with the remaining content in parts of at most 256 KiB.
  package func forEachPart(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)
    defer {
      // The buffer held plaintext.
      buffer.initializeMemory(as: UInt8.self, repeating: 0)
      buffer.deallocate()
    }
    while true {
      let count = try read(into: buffer)
      if count == 0 { return }
      try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
  }

  /// Checks that the path still names the opened file and that the file is unchanged.
  /// - Throws: ``VaultError`` with `unreadable` when the file was changed, replaced or removed after it was opened.
  package func checkUnchanged() throws {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileError.last("read", path) }
    guard bytesRead == byteCount, Self.isSame(status, beginning) else { throw changed }
    var named = stat()
    guard stat(path, &named) == 0 else {
      throw VaultError(.unreadable, "\(path) was removed while it was read", hint: "nothing was attached")
    }
    guard named.st_ino == status.st_ino, named.st_dev == status.st_dev else {
      throw VaultError(.unreadable, "\(path) was replaced while it was read", hint: "nothing was attached; try again")
    }
  }

  private var changed: VaultError {
    VaultError(.unreadable, "\(path) was changed while it was read", hint: "nothing was attached; try again")
  }

  private static func isSame(_ left: stat, _ right: stat) -> Bool {
    #if canImport(Darwin)
      let (now, before) = (left.st_mtimespec, right.st_mtimespec)
    #else
      let (now, before) = (left.st_mtim, right.st_mtim)
    #endif
    return left.st_size == right.st_size && now.tv_sec == before.tv_sec && now.tv_nsec == before.tv_nsec
  }

  private static func name(of path: String) -> String {
    let name = Files.name(of: path)
    return name.allSatisfy(\.isWhitespace) ? "file" : name
  }
}
