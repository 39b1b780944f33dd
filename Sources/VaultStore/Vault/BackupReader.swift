import Platform
import VaultKeys

/// Reads a backup file sequentially. Every item that it returns is authenticated, including its position. Memory
/// use does not grow with the file.
final class BackupReader {
  /// An item of a backup.
  enum Item {
    case file(name: String, size: Int)
    /// The bytes are valid until the next item is read.
    case content(UnsafeRawBufferPointer)
    case end
  }

  /// The keyring that the backup carries.
  let keyring: Keyring
  /// The bytes of the keyring, as stored in the backup.
  let keyringBytes: [UInt8]
  private let file: OpenFile
  private var stream: OpeningStream?
  private var beginning: [UInt8]
  private let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: BackupFormat.chunkBytes, alignment: 64)
  private var files = 0

  /// Reads the unencrypted header.
  /// - Throws: ``VaultError`` with `damaged` when the file is not a backup or its keyring is damaged, with
  ///   `refused` when the keyring has a newer format.
  init(_ file: OpenFile) throws {
    self.file = file
    guard try Self.bytes(BackupFormat.magic.count, of: file) == BackupFormat.magic else {
      throw VaultError(
        .damaged, "\(file.path) is not a vault backup, or its first bytes are damaged", hint: "use another backup")
    }
    let length = try Self.bytes(8, of: file)
    guard let count = BackupFormat.number(length), count <= BackupFormat.longestKeyring else {
      throw Self.damaged(file, "the length of its keyring is invalid")
    }
    keyringBytes = try Self.bytes(count, of: file)
    do throws(KeyError) {
      keyring = try Keyring(parsing: keyringBytes)
    } catch {
      throw VaultError(
        error.code == .newerFormat ? .refused : .damaged, "\(file.path): \(error.message)", hint: "use another backup")
    }
    beginning = BackupFormat.magic + length + keyringBytes
  }

  deinit { chunk.deallocate() }

  /// Starts decrypting the stream.
  func begin(key: SecureBytes) throws {
    guard let stream = try OpeningStream(key: key, header: try Self.bytes(SealingStream.headerCount, of: file)) else {
      throw damaged("its stream header is invalid")
    }
    self.stream = stream
  }

  /// Returns the next item.
  /// - Throws: ``VaultError`` with `damaged` when the next message is not authentic or violates the format.
  func next() throws -> Item {
    guard let stream else { throw damaged("it was not unlocked") }
    let lengths = try Self.bytes(16, of: file)
    guard let length = BackupFormat.number(lengths.prefix(8)),
      let attachedCount = BackupFormat.number(lengths.suffix(8)),
      (SealingStream.overhead + 1...BackupFormat.longestMessage).contains(length), attachedCount <= chunk.count,
      // The associated data of the first message is the unencrypted header, so this message cannot have attached
      // bytes.
      beginning.isEmpty || attachedCount == 0
    else { throw damaged("the length of a segment is invalid") }
    let sealed = try Self.bytes(length, of: file)
    let attached = UnsafeMutableRawBufferPointer(rebasing: chunk[..<attachedCount])
    guard try file.fill(attached) == attachedCount else { throw damaged("it is truncated") }
    var message = [UInt8](repeating: 0, count: length - SealingStream.overhead)
    let isFinal = beginning.withUnsafeBytes { beginning in
      sealed.withUnsafeBytes { sealed in
        message.withUnsafeMutableBytes {
          stream.open(
            sealed, into: $0, associated: attachedCount > 0 ? UnsafeRawBufferPointer(attached) : beginning)
        }
      }
    }
    guard let isFinal else { throw damaged("a segment fails authentication") }
    beginning = []
    return try item(message, UnsafeRawBufferPointer(attached), isFinal: isFinal)
  }

  private func item(_ message: [UInt8], _ attached: UnsafeRawBufferPointer, isFinal: Bool) throws -> Item {
    let content = message.dropFirst()
    switch (message.first.flatMap(BackupFormat.Message.init), isFinal) {
    case (.content, false):
      guard !attached.isEmpty, content.isEmpty else { break }
      return .content(attached)
    case (.file, false) where attached.isEmpty:
      let name = String(decoding: content.dropFirst(8), as: UTF8.self)
      guard let size = BackupFormat.number(content.prefix(8)), BackupFormat.isAcceptable(name) else { break }
      files += 1
      return .file(name: name, size: size)
    case (.end, true) where attached.isEmpty:
      guard BackupFormat.number(content) == files, try Self.isAtEnd(file) else { break }
      return .end
    default: break
    }
    throw damaged("a segment is out of order")
  }

  func damaged(_ what: String) -> VaultError { Self.damaged(file, what) }

  private static func damaged(_ file: OpenFile, _ what: String) -> VaultError {
    VaultError(.damaged, "the backup \(file.path) is damaged: \(what)", hint: "use another backup")
  }

  private static func bytes(_ count: Int, of file: OpenFile) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let found = try bytes.withUnsafeMutableBytes { try file.fill($0) }
    guard found == count else { throw damaged(file, "it is truncated") }
    return bytes
  }

  private static func isAtEnd(_ file: OpenFile) throws -> Bool {
    var byte: UInt8 = 0
    return try withUnsafeMutableBytes(of: &byte) { try file.fill($0) } == 0
  }
}
