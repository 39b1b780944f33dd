/// The parts of a backup file. `BackupFormat.md` describes them for other programs.
enum BackupFormat {
  /// The first bytes of every backup.
  static let magic = Array("fieldvault-backup 1\n".utf8)
  /// The most bytes that are attached to one message.
  static let chunkBytes = 1 << 20
  /// The longest message, in bytes.
  static let longestMessage = 512
  /// The largest keyring that is accepted, in bytes.
  static let longestKeyring = 1 << 20
  /// The name of the database in a backup.
  static let databaseName = "vault.db"
  /// How the names of encrypted files begin.
  static let attachmentFolder = "attachments/"

  /// What the first byte of a message says.
  enum Message: UInt8 {
    /// A file follows: its size, 8 bytes with the lowest first, and its name in UTF-8.
    case file = 1
    /// The next bytes of the file, which are attached to the message. They are encrypted already, each in its own
    /// way, so that it is enough to bind them to their place.
    case content = 2
    /// The end: how many files there were, 8 bytes with the lowest first.
    case end = 3
  }

  static func bytes(_ number: Int) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }

  static func number(_ bytes: some Collection<UInt8>) -> Int? {
    guard bytes.count == 8, let last = bytes.reversed().first, last < 0x80 else { return nil }
    return bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  /// Whether a name of a backup is one that a vault has: the database, or `attachments/` with two plain names behind, the last
  /// of which may end in `.thumbnail`.
  static func isAcceptable(_ name: String) -> Bool {
    if name == databaseName { return true }
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3, name.hasPrefix(attachmentFolder) else { return false }
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
