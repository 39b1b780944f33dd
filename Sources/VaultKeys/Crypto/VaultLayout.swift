/// The paths of the parts of a vault.
public struct VaultLayout: Sendable, Hashable {
  /// The folder of the vault.
  public let folder: String

  /// Creates the layout of a vault at a path, without a trailing slash. Does not access the disk.
  public init(folder: String) {
    self.folder = folder.count > 1 && folder.hasSuffix("/") ? String(folder.dropLast()) : folder
  }

  /// The keyring: format, key slots, current generation.
  public var keyring: String { folder + "/keyring.json" }
  /// The temporary name of a keyring that is being written.
  package var unfinishedKeyring: String { folder + "/.keyring.json.tmp" }
  /// The lock that is held while the vault is open, exclusively while its key is rotated.
  public var lock: String { folder + "/lock" }
  /// The lock of the one sync worker.
  public var syncLock: String { folder + "/sync.lock" }
  /// The folder of the generations.
  public var databases: String { folder + "/db" }
  /// The folder of the encrypted attachments.
  public var attachments: String { folder + "/attachments" }

  /// Returns the folder of a generation, such as `db/0001`.
  public func generation(_ number: Int) -> String {
    let digits = String(number)
    return databases + "/" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
  }

  /// Returns the database file of a generation.
  public func database(generation number: Int) -> String { generation(number) + "/vault.db" }

  /// Returns the number of a generation by the name of its folder; `nil` for any other name.
  package static func generationNumber(of name: String) -> Int? {
    guard name.utf8.count >= 4, name.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(name)
  }
}
