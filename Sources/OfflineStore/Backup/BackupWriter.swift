import VaultKeys

/// Writes a backup file from front to back, in memory that does not grow with it.
final class BackupWriter {
  private let file: OpenFile
  private let stream: SealingStream
  private let plain = UnsafeMutableRawBufferPointer.allocate(byteCount: BackupFormat.chunkBytes + 1, alignment: 1)
  private let sealed = UnsafeMutableRawBufferPointer.allocate(
    byteCount: BackupFormat.chunkBytes + 1 + SealingStream.overhead, alignment: 1)
  private var associated: [UInt8]
  private var files = 0
  /// How many bytes the file has.
  private(set) var byteCount = 0

  /// Begins with what is not encrypted: the mark and the keyring, to which the first message is bound.
  init(_ file: OpenFile, keyring: [UInt8], key: SecureBytes) throws {
    self.file = file
    stream = try SealingStream(key: key)
    associated = BackupFormat.magic + BackupFormat.bytes(keyring.count) + keyring
    try write(associated + stream.header)
  }

  deinit {
    plain.deallocate()
    sealed.deallocate()
  }

  /// Adds a file by its first `size` bytes.
  /// - Throws: ``VaultError`` with `unreadable` when there are fewer.
  func add(_ name: String, _ source: OpenFile, size: Int, _ progress: (Int) throws -> Void) throws {
    try put(.file, BackupFormat.bytes(size) + Array(name.utf8))
    files += 1
    var left = size
    while left > 0 {
      let part = min(left, BackupFormat.chunkBytes)
      let count = try source.fill(UnsafeMutableRawBufferPointer(rebasing: plain[1..<(1 + part)]))
      guard count == part else {
        throw VaultError(.unreadable, "cannot read \(source.path): it has become shorter", hint: "try again")
      }
      try send(.content, count, isFinal: false)
      left -= count
      try progress(count)
    }
  }

  /// Ends the backup and brings it to the disk.
  func finish() throws {
    try put(.end, BackupFormat.bytes(files), isFinal: true)
    try file.synchronize()
  }

  private func put(_ message: BackupFormat.Message, _ content: [UInt8], isFinal: Bool = false) throws {
    UnsafeMutableRawBufferPointer(rebasing: plain[1...]).copyBytes(from: content)
    try send(message, content.count, isFinal: isFinal)
  }

  /// Seals the message whose content is in the buffer already.
  private func send(_ message: BackupFormat.Message, _ count: Int, isFinal: Bool) throws {
    plain[0] = message.rawValue
    let length = count + 1 + SealingStream.overhead
    let target = UnsafeMutableRawBufferPointer(rebasing: sealed[..<length])
    stream.seal(
      UnsafeRawBufferPointer(rebasing: plain[..<(count + 1)]), into: target, associated: associated, isFinal: isFinal)
    associated = []
    try write(BackupFormat.bytes(length))
    try file.write(UnsafeRawBufferPointer(target))
    byteCount += length
  }

  private func write(_ bytes: [UInt8]) throws {
    try file.write(bytes)
    byteCount += bytes.count
  }
}
