import CipherSQL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Which schemas a vault is made of and where each came from; recorded in the vault, so that a program that was
/// not compiled with a schema can work with it.
public struct SchemaSource: Codable, Hashable, Sendable {
  /// The name of the schema.
  public let name: String
  /// The folder of its files as an absolute path; nil when it is one that the program carries.
  public let folder: String?

  /// Where a schema came from; the folder is not looked at.
  /// - Parameters:
  ///   - name: the name of the schema.
  ///   - folder: the absolute path of its files; nil for a schema that the program carries.
  public init(name: String, folder: String?) { (self.name, self.folder) = (name, folder) }

  private static let setting = "schemas"

  static func read(from connection: Connection) throws -> [SchemaSource] {
    guard
      let text = try connection.fetchOne(
        "SELECT value FROM Setting WHERE name = \(setting)", as: Optional<String>.self) ?? nil
    else { return [] }
    return try JSONText(text).decoded()
  }

  static func write(_ sources: [SchemaSource], to connection: WriteConnection) throws {
    let text = try JSONText(encoding: sources)
    try connection.execute(
      """
      INSERT INTO Setting (name, value) VALUES (\(setting), \(text))
      ON CONFLICT (name) DO UPDATE SET value = excluded.value
      """)
  }
}

extension Schema {
  /// Reads the schema in a folder of the user's.
  /// - Throws: ``SQLError`` for files that cannot be a schema; ``VaultError`` with `refused` for the name of FieldVault's own
  ///   tables.
  public static func loadOwn(folder: String) throws -> Schema {
    let schema = try load(folder: folder)
    guard schema.name != CoreSchema.schema.name else {
      throw VaultError(
        .refused, "a schema cannot have the name '\(schema.name)', which FieldVault's own tables have",
        hint: "rename the folder \(folder)")
    }
    return schema
  }
}
