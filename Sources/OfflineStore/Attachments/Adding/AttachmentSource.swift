import CPlatform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A file that is taken in. It is read from front to back, as a rule once, and has to stay as it is meanwhile.
final class AttachmentSource {
  let path: String
  /// The last part of the path, as a name for people.
  let fileName: String
  /// When reading began.
  let byteCount: Int
  private let file: OpenFile
  private let descriptor: Int32
  private let beginning: stat
  private var bytesRead = 0

  /// - Throws: ``VaultError`` with `unreadable`, also for a folder, a pipe or a device.
  init(_ path: String) throws {
    self.path = path
    file = try OpenFile(reading: path)
    descriptor = file.number
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileProblem.current("read", path) }
    beginning = status
    byteCount = Int(status.st_size)
    fileName = Self.name(of: path)
  }

  /// The next bytes; 0 at the end.
  private func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    let count = try file.fill(buffer)
    bytesRead += count
    // One that somebody writes to for ever would never end.
    if bytesRead > byteCount { throw changed }
    return count
  }

  /// Begins again at the first byte.
  func rewind() throws {
    guard lseek(descriptor, 0, SEEK_SET) == 0 else { throw FileProblem.current("read", path) }
    bytesRead = 0
  }

  /// Calls `body` with the content, part by part.
  func forEachPart(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)
    defer {
      // It held what nobody else is to see.
      buffer.initializeMemory(as: UInt8.self, repeating: 0)
      buffer.deallocate()
    }
    while true {
      let count = try read(into: buffer)
      if count == 0 { return }
      try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
  }

  /// - Throws: ``VaultError`` with `unreadable` when the file was changed, replaced or removed since reading began.
  func checkUnchanged() throws {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileProblem.current("read", path) }
    guard bytesRead == byteCount, Self.isSame(status, beginning) else { throw changed }
    var named = stat()
    guard stat(path, &named) == 0 else {
      throw VaultError(.unreadable, "\(path) was removed while it was read", hint: "nothing was taken in")
    }
    guard named.st_ino == status.st_ino, named.st_dev == status.st_dev else {
      throw VaultError(.unreadable, "\(path) was replaced while it was read", hint: "nothing was taken in; try again")
    }
  }

  private var changed: VaultError {
    VaultError(.unreadable, "\(path) was changed while it was read", hint: "nothing was taken in; try again")
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
    let name = path.split(separator: "/").last.map(String.init) ?? path
    return name.allSatisfy(\.isWhitespace) ? "file" : name
  }
}
