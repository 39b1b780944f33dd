/// Where the parts of a vault stand in its folder.
public struct VaultLayout: Sendable, Hashable {
  /// The folder of the vault.
  public let folder: String

  /// The layout of a vault at a path, of which a slash at the end is dropped. Nothing on the disk is looked at.
  public init(folder: String) {
    self.folder = folder.count > 1 && folder.hasSuffix("/") ? String(folder.dropLast()) : folder
  }

  /// The manifest: format, key slots, which generation is current.
  public var keyring: String { folder + "/keyring.json" }
  /// What a keyring that is being written is called until it is whole.
  var unfinishedKeyring: String { folder + "/.keyring.json.tmp" }
  /// Held while the vault is open; exclusively while its key is rotated.
  public var lock: String { folder + "/lock" }
  /// Held by the one worker that syncs the vault.
  public var syncLock: String { folder + "/sync.lock" }
  /// The folder of the generations.
  public var databases: String { folder + "/db" }
  /// The folder of the encrypted photos and files.
  public var attachments: String { folder + "/attachments" }

  /// The folder of one generation, such as `db/0001`.
  public func generation(_ number: Int) -> String {
    let digits = String(number)
    return databases + "/" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
  }

  /// The database of one generation.
  public func database(generation number: Int) -> String { generation(number) + "/vault.db" }

  /// The folder in which something stands.
  package static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// The number of a generation by the name of its folder; nil for any other name.
  static func generationNumber(of name: String) -> Int? {
    guard name.utf8.count >= 4, name.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(name)
  }
}
