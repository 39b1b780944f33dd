import CipherSQL
import SchemaModel

/// The schemas that a server serves, as its directory keeps them.
package struct ServedSchemas {
  /// A schema with its source.
  package struct Row: Equatable, Sendable {
    /// The name of the schema.
    package let name: String
    /// The folder of the files; `nil` for a schema of the program.
    package var folder: String?
    /// The files of a schema from a folder, as they were read last. They serve when the folder is missing.
    package var files: [MigrationFile]

    /// Creates a row.
    package init(name: String, folder: String?, files: [MigrationFile]) {
      (self.name, self.folder, self.files) = (name, folder, files)
    }
  }

  /// The rows after the change, in the order in which the schemas were added.
  package private(set) var rows: [Row]
  /// The schemas of ``rows``.
  package private(set) var schemas: [Schema] = []

  /// Adds schemas to the served ones; see ``AccountDirectory/schemas(adding:shipped:)``.
  package init(
    _ rows: [Row], adding new: [(source: SchemaSource, schema: Schema)], shipped: [Schema]
  ) throws {
    self.rows = rows
    let usual = shipped.map { SchemaSource(name: $0.name, folder: nil) }
    for source in rows.isEmpty && new.isEmpty ? usual : new.map(\.source)
    where !self.rows.contains(where: { $0.name == source.name }) {
      self.rows.append(Row(name: source.name, folder: source.folder, files: []))
    }
    for place in self.rows.indices {
      let row = self.rows[place]
      let schema: Schema
      if let named = new.first(where: { $0.source.name == row.name }) {
        (schema, self.rows[place].folder) = (try Self.take(named, over: row), named.source.folder)
      } else if let folder = row.folder {
        schema = try Self.load(row, from: folder)
      } else {
        guard let known = shipped.first(where: { $0.name == row.name }) else {
          throw ServerError(
            .schemas, "this program does not contain the schema \(row.name)", hint: "use a newer program")
        }
        schema = known
      }
      if self.rows[place].folder != nil { self.rows[place].files = schema.migrations }
      schemas.append(schema)
    }
  }

  /// Serves a schema from the source that the operator named.
  private static func take(_ named: (source: SchemaSource, schema: Schema), over row: Row) throws -> Schema {
    let (source, schema) = named
    guard source.folder != row.folder else { return schema }
    guard source.folder != nil, row.folder != nil, !row.files.isEmpty else {
      throw ServerError(
        .schemas, "the schema \(source.name) is served from \(row.folder ?? "the program itself")",
        hint: "omit it, or rename the new schema")
    }
    if let file = row.files.first(where: { !schema.continues($0) }) {
      throw ServerError(
        .schemas,
        "\(source.folder ?? "") has other statements in \(file.fileName) than the served schema \(source.name)",
        hint: "name the folder of the served schema, or rename the new schema")
    }
    return schema
  }

  /// Reads a schema from its folder, or from the directory if the folder is missing.
  private static func load(_ row: Row, from folder: String) throws -> Schema {
    if !row.files.isEmpty, !Files.isFolder(folder) { return Schema(name: row.name, migrations: row.files) }
    return try Schema.load(folder: folder, name: row.name)
  }
}

extension Schema {
  /// Returns whether the schema has a file with the same statements.
  fileprivate func continues(_ file: MigrationFile) -> Bool {
    migrations.contains { $0.version == file.version && $0.name == file.name && $0.firstChange(since: file.sql) == nil }
  }
}

/// The migration of one account, or of the tables that all accounts share.
public struct DataMigration: Sendable {
  /// The account; `nil` for the directory of a folder, or the tables of a database.
  public let account: AccountName?
  /// The applied files.
  public let files: [MigrationRecord]
  /// The reason why the files of the account could not be applied, which leaves the account unchanged; `nil` without a problem.
  public let problem: String?

  /// Creates a result.
  package init(account: AccountName?, files: [MigrationRecord], problem: String?) {
    (self.account, self.files, self.problem) = (account, files, problem)
  }
}
