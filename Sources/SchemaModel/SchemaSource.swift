import CipherSQL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A schema of a vault and its origin. The vault stores them, so that a program without the schema can work with it.
public struct SchemaSource: Codable, Hashable, Sendable {
  /// The name of the schema.
  public let name: String
  /// The absolute path of the folder with its files; `nil` for a schema of the program.
  public let folder: String?

  /// Creates the origin of a schema. Does not access the folder.
  /// - Parameters:
  ///   - name: the name of the schema.
  ///   - folder: the absolute path of its files; `nil` for a schema of the program.
  public init(name: String, folder: String?) { (self.name, self.folder) = (name, folder) }

  private static let setting = "schemas"

  package static func read(from connection: Connection) throws -> [SchemaSource] {
    guard let text = try SettingRow.value(setting, in: connection) else { return [] }
    return try JSONText(text).decoded()
  }

  package static func write(_ sources: [SchemaSource], to connection: WriteConnection) throws {
    try SettingRow.set(setting, try JSONText(encoding: sources).text, in: connection)
  }
}

extension Schema {
  /// Reads a schema from a folder.
  /// - Throws: ``SQLError`` for files that are not a schema; ``VaultError`` with `refused` for the name of
  ///   FieldVault's own schema.
  public static func loadOwn(folder: String) throws -> Schema {
    let schema = try load(folder: folder)
    guard schema.name != CoreSchema.schema.name else {
      throw VaultError(
        .refused, "the schema name '\(schema.name)' is reserved for FieldVault's own tables",
        hint: "rename the folder \(folder)")
    }
    return schema
  }
}
