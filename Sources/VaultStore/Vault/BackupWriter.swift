import Platform
import VaultKeys

/// Writes a backup file sequentially. Memory use does not grow with the file.
final class BackupWriter {
  private let file: OpenFile
  private let stream: SealingStream
  private let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: BackupFormat.chunkBytes, alignment: 64)
  private var beginning: [UInt8]
  private var files = 0
  /// The number of bytes written.
  private(set) var byteCount = 0

  /// Writes the unencrypted header: the magic bytes and the keyring, which the first message authenticates.
  init(_ file: OpenFile, keyring: [UInt8], key: SecureBytes) throws {
    self.file = file
    stream = try SealingStream(key: key)
    beginning = BackupFormat.magic + BackupFormat.bytes(keyring.count) + keyring
    try write(beginning + stream.header)
  }

  deinit { chunk.deallocate() }

  /// Adds the first `size` bytes of a file.
  /// - Throws: ``VaultError`` with `unreadable` when the file is shorter.
  func add(_ name: String, _ source: OpenFile, size: Int, _ progress: (Int) throws -> Void) throws {
    try put(.file, BackupFormat.bytes(size) + Array(name.utf8))
    files += 1
    var left = size
    while left > 0 {
      let part = UnsafeMutableRawBufferPointer(rebasing: chunk[..<min(left, chunk.count)])
      let count = try source.fill(part)
      guard count == part.count else {
        throw VaultError(.unreadable, "cannot read \(source.path): it was truncated", hint: "try again")
      }
      try put(.content, attached: UnsafeRawBufferPointer(part))
      left -= count
      try progress(count)
    }
  }

  /// Writes the final message and flushes the backup to disk.
  func finish() throws {
    try put(.end, BackupFormat.bytes(files), isFinal: true)
    try file.synchronize()
  }

  /// Writes a message: its encrypted length, the length of the attached bytes, the encrypted message and the
  /// attached bytes.
  private func put(
    _ message: BackupFormat.Message, _ content: [UInt8] = [], attached: UnsafeRawBufferPointer? = nil,
    isFinal: Bool = false
  ) throws {
    let plain = [message.rawValue] + content
    var sealed = [UInt8](repeating: 0, count: plain.count + SealingStream.overhead)
    // The first message has no attached bytes; it authenticates the unencrypted header.
    beginning.withUnsafeBytes { beginning in
      plain.withUnsafeBytes { plain in
        sealed.withUnsafeMutableBytes {
          stream.seal(plain, into: $0, associated: attached ?? beginning, isFinal: isFinal)
        }
      }
    }
    beginning = []
    try write(BackupFormat.bytes(sealed.count) + BackupFormat.bytes(attached?.count ?? 0) + sealed)
    guard let attached else { return }
    try file.write(attached)
    byteCount += attached.count
  }

  private func write(_ bytes: [UInt8]) throws {
    try file.write(bytes)
    byteCount += bytes.count
  }
}
