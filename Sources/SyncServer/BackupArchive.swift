import CPlatform
import Platform
import SQLCipherStorage
import SchemaModel
import ServerStorage
import SyncModel

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The format of `BackupFormat.md`.
enum BackupFormat {
  static let header = Array("fieldvault-server backup 1\n".utf8)
  static let partSize = 1 << 20

  /// Returns whether a backup may contain a name.
  static func isName(_ name: String) -> Bool {
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    func isWord(_ text: Substring) -> Bool {
      !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }
    }
    switch parts.count {
    case 1: return name == "server.key" || name == ServerFolder.directoryFile
    case 3: return parts[0] == "accounts" && isWord(parts[1]) && ["records.db", "files.db"].contains(parts[2])
    case 5:
      return parts[0] == "accounts" && isWord(parts[1]) && parts[2] == "files" && isWord(parts[4])
        && parts[3].count == 2 && parts[4].hasSuffix(parts[3])
    default: return false
    }
  }

  static func bytes(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

  static func damaged(_ path: String, _ reason: String) -> ServerError {
    ServerError(.damaged, "\(path) is not an intact backup of a server: \(reason)", hint: "use another backup")
  }
}

/// An open file that is read or written from its beginning to its end.
final class SequentialFile {
  let path: String
  private let descriptor: Int32

  /// Opens a file for reading.
  init(reading path: String) throws {
    self.path = path
    descriptor = cplatform_open(path, O_RDONLY | O_CLOEXEC, 0)
    guard descriptor >= 0 else { throw Self.failure("open", path) }
  }

  /// Creates a file with mode 0600. The path must not exist.
  init(making path: String) throws {
    self.path = path
    descriptor = cplatform_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw Self.failure("make", path) }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Returns the next bytes, at most this many; empty at the end.
  func read(upTo count: Int) throws -> [UInt8] {
    var part = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let read = part.withUnsafeMutableBytes { buffer in
        systemRead(descriptor, buffer.baseAddress.map { $0 + filled }, count - filled)
      }
      if read < 0, errno == EINTR { continue }
      guard read >= 0 else { throw Self.failure("read", path) }
      if read == 0 { break }
      filled += read
    }
    part.removeLast(count - filled)
    return part
  }

  func write(_ bytes: [UInt8]) throws {
    var start = 0
    while start < bytes.count {
      let written = bytes.withUnsafeBytes {
        systemWrite(descriptor, $0.baseAddress.map { $0 + start }, bytes.count - start)
      }
      if written < 0, errno == EINTR { continue }
      guard written > 0 else { throw Self.failure("write", path) }
      start += written
    }
  }

  func sync() throws { guard Files.sync(descriptor) else { throw Self.failure("sync", path) } }

  static func failure(_ action: String, _ path: String) -> any Error {
    if errno == ENOSPC || errno == EDQUOT {
      return VaultError(.noSpace, "cannot \(action) \(path): no space left", hint: "free some space and try again")
    }
    return ServerError(.disk, "cannot \(action) \(path): \(String(cString: strerror(errno)))")
  }
}

// Inside the type these names are those of its functions.
private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(descriptor, buffer, count)
}
private func systemWrite(_ descriptor: Int32, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
  write(descriptor, buffer, count)
}

extension SHA256 {
  mutating func add(_ bytes: [UInt8]) { bytes.withUnsafeBytes { add($0) } }
}

/// Writes a backup. It appears under its name only after ``finish()``.
final class BackupWriter {
  private let target: String
  private let file: SequentialFile
  private var digests = SHA256()
  private var count: UInt64 = 0
  /// The number of written bytes.
  private(set) var byteCount: Int64 = 0

  /// - Throws: ``ServerError`` with `exists` if the path already exists.
  init(at target: String) throws {
    guard !Files.exists(target) else { throw Self.exists(target) }
    self.target = target
    try Files.removeTree(target + ".part")
    file = try SequentialFile(making: target + ".part")
    try write(BackupFormat.header)
    digests.add(BackupFormat.header)
  }

  private static func exists(_ target: String) -> ServerError {
    ServerError(.exists, "\(target) already exists", hint: "choose another name; a backup does not replace a file")
  }

  private func write(_ bytes: [UInt8]) throws {
    try file.write(bytes)
    byteCount += Int64(bytes.count)
  }

  /// Adds a file.
  /// - Parameter size: the number of bytes to copy.
  func add(_ name: String, from path: String, size: Int64) throws {
    let source = try SequentialFile(reading: path)
    var digest = SHA256()
    let head = BackupFormat.bytes(UInt16(name.utf8.count)) + Array(name.utf8) + BackupFormat.bytes(UInt64(size))
    digest.add(head)
    try write(head)
    var left = size
    while left > 0 {
      let part = try source.read(upTo: Int(min(left, Int64(BackupFormat.partSize))))
      guard !part.isEmpty else { throw ServerError(.disk, "\(path) was truncated while it was copied") }
      digest.add(part)
      try write(part)
      left -= Int64(part.count)
    }
    try write(digest.digest)
    digests.add(digest.digest)
    count += 1
  }

  /// Makes the backup durable and gives it its name.
  func finish() throws {
    let end = BackupFormat.bytes(UInt16(0)) + BackupFormat.bytes(count)
    digests.add(end)
    try write(end + digests.digest)
    try file.sync()
    // Unlike a rename this replaces nothing.
    guard link(target + ".part", target) == 0 else {
      throw errno == EEXIST ? Self.exists(target) : SequentialFile.failure("make", target)
    }
    try Files.removeTree(target + ".part")
    try Files.syncFolder(Files.parent(of: target))
  }

  /// Removes the file of an unfinished backup.
  func cancel() throws { try Files.removeTree(target + ".part") }
}

/// Reads a backup.
struct BackupReader {
  private let file: SequentialFile

  init(_ path: String) throws { file = try SequentialFile(reading: path) }

  /// Reads all entries to the end. The received content is valid only after this function returns.
  /// - Parameter take: receives each entry's name, and returns the destination of its content; `nil` if the content is only
  ///   verified.
  /// - Throws: ``ServerError`` with `damaged` for a file that is not a backup, or that fails its verification.
  func readAll(_ take: (String) throws -> SequentialFile?) throws {
    var digests = SHA256()
    guard try file.read(upTo: BackupFormat.header.count) == BackupFormat.header else {
      throw damaged("its header is unknown, or a newer program wrote it")
    }
    digests.add(BackupFormat.header)
    var count: UInt64 = 0
    while true {
      let length = try exactly(2)
      guard length != [0, 0] else {
        let end = length + (try exactly(8))
        digests.add(end)
        guard end.dropFirst(2).elementsEqual(BackupFormat.bytes(count)), try exactly(32) == digests.digest else {
          throw damaged("its end does not match its entries")
        }
        guard try file.read(upTo: 1).isEmpty else { throw damaged("it has extra bytes at its end") }
        return
      }
      digests.add(try readEntry(length, take))
      count += 1
    }
  }

  private func readEntry(_ length: [UInt8], _ take: (String) throws -> SequentialFile?) throws -> [UInt8] {
    var digest = SHA256()
    let name = try exactly(Int(length[0]) << 8 | Int(length[1]))
    let size = try exactly(8)
    for part in [length, name, size] { digest.add(part) }
    let text = String(decoding: name, as: UTF8.self)
    var left = size.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    guard BackupFormat.isName(text), left <= UInt64(Int64.max) else {
      throw damaged("an entry has an invalid name or size")
    }
    let target = try take(text)
    while left > 0 {
      let part = try exactly(Int(min(left, UInt64(BackupFormat.partSize))))
      digest.add(part)
      try target?.write(part)
      left -= UInt64(part.count)
    }
    guard try exactly(32) == digest.digest else { throw damaged("\(text) differs from its checksum") }
    try target?.sync()
    return digest.digest
  }

  private func exactly(_ count: Int) throws -> [UInt8] {
    let bytes = try file.read(upTo: count)
    guard bytes.count == count else { throw damaged("it is truncated") }
    return bytes
  }

  private func damaged(_ reason: String) -> ServerError { BackupFormat.damaged(file.path, reason) }
}
