import VaultKeys

/// The constants and parts of a backup file. `BackupFormat.md` specifies the format for other implementations.
enum BackupFormat {
  /// The first bytes of every backup.
  static let magic = Array("fieldvault-backup 1\n".utf8)
  /// The maximum number of bytes attached to one message.
  static let chunkBytes = 1 << 20
  /// The maximum length of a message in bytes.
  static let longestMessage = 512
  /// The maximum size of an accepted keyring in bytes.
  static let longestKeyring = 1 << 20
  /// The name of the database in a backup.
  static let databaseName = "vault.db"
  /// The prefix of the names of encrypted attachment files.

  /// The type of a message, stored in its first byte.
  enum Message: UInt8 {
    /// Starts a file: its size as 8 bytes in little-endian order, then its name in UTF-8.
    case file = 1
    /// The next bytes of the file, attached to the message. They are already encrypted, so the message only has to
    /// authenticate their position.
    case content = 2
    /// Ends the backup: the number of files as 8 bytes in little-endian order.
    case end = 3
  }

  static func bytes(_ number: Int) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }

  static func number(_ bytes: some Collection<UInt8>) -> Int? {
    guard bytes.count == 8, let last = bytes.reversed().first, last < 0x80 else { return nil }
    return bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  /// Returns whether a backup may contain a file of this name: the database, or `attachments/` followed by two
  /// plain names, the second optionally with the suffix `.thumbnail`.
  static func isAcceptable(_ name: String) -> Bool {
    if name == databaseName { return true }
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3, name.hasPrefix(StoredFile.folder) else { return false }
    var names = Array(parts.dropFirst())
    if names[1].hasSuffix(VaultLayout.thumbnailSuffix) {
      names[1] = names[1].dropLast(VaultLayout.thumbnailSuffix.count)
    }
    return names.allSatisfy { part in
      !part.isEmpty && part.utf8.count <= 100
        && part.utf8.allSatisfy { byte in
          (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte) || byte == UInt8(ascii: "-")
        }
    }
  }
}
