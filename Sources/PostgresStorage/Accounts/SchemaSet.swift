import CipherSQL
import ServerStorage
import SyncModel

/// The files of all schemas, by which a node sees whether the records of an account have the values that its schemas give
/// them. The database keeps each set, so that a newer node knows the former files of an account.
struct SchemaSet {
  /// The schemas in the order in which they are applied, FieldVault's own included.
  let schemas: [Schema]
  /// SHA-256 of the set.
  let digest: String

  init(_ schemas: [Schema]) {
    self.schemas = schemas
    digest = MigrationFile(version: 1, name: "", sql: Self.json(schemas)).checksum
  }

  private static func json(_ schemas: [Schema]) -> String {
    SyncValue.array(
      schemas.map { .object(["schema": .text($0.name), "files": json($0.migrations)]) }
    ).json
  }

  private init(parsing json: String, digest: String) throws {
    guard case .array(let elements) = try SyncValue(parsing: json) else {
      throw ServerError(.damaged, "a row of fieldvault.schema_set is no list")
    }
    self.digest = digest
    schemas = elements.compactMap { element in
      guard case .object(let schema) = element, let files = schema["files"] else { return nil }
      return Schema(name: schema.text("schema") ?? "", migrations: Self.files(files))
    }
  }

  /// Returns the files of a schema as JSON.
  static func json(_ files: [MigrationFile]) -> SyncValue {
    .array(
      files.map { file in
        .object(["version": .integer(Int64(file.version)), "name": .text(file.name), "sql": .text(file.sql)])
      })
  }

  /// Reads the files of a schema; none from an empty text.
  static func files(parsing json: String) throws -> [MigrationFile] {
    json.isEmpty ? [] : files(try SyncValue(parsing: json))
  }

  private static func files(_ json: SyncValue) -> [MigrationFile] {
    guard case .array(let files) = json else { return [] }
    return files.compactMap { file in
      guard case .object(let file) = file, case .integer(let version)? = file["version"] else { return nil }
      return MigrationFile(version: Int(version), name: file.text("name") ?? "", sql: file.text("sql") ?? "")
    }
  }

  private static let insert = Statement(
    "INSERT INTO fieldvault.schema_set (digest, files) VALUES ($1::text, $2::text) ON CONFLICT (digest) DO NOTHING")
  private static let select = Statement("SELECT files FROM fieldvault.schema_set WHERE digest = $1::text")

  /// Adds the set to the database.
  func save(to connection: PostgresConnection) throws {
    _ = try connection.run(Self.insert(.text(digest), .text(Self.json(schemas))))
  }

  /// Reads the set of an account.
  static func read(_ digest: String, from connection: PostgresConnection) throws -> SchemaSet {
    guard let json = try connection.run(select(.text(digest))).first({ $0.text(0) }) else {
      throw ServerError(.damaged, "fieldvault.schema_set lacks the schemas of an account")
    }
    return try SchemaSet(parsing: json, digest: digest)
  }

  private var files: [MigrationRecord] {
    schemas.flatMap { schema in schema.migrations.map { MigrationRecord(of: schema.name, $0) } }
  }

  /// Returns the rows of an upgrade about files that a former set lacks.
  func new(_ rows: [MigrationRecord], after former: SchemaSet) throws -> [MigrationRecord] {
    let pending = try Migrator(schemas: schemas).pending(after: former.files)
    return rows.filter { row in pending.contains { $0.schema == row.schema && $0.file.version == row.version } }
  }

  /// Returns whether this set has files that the other lacks.
  /// - Throws: ``ServerError`` with `busy` if this set lacks files of the other, as a node does that is older than another, or
  ///   has changed one.
  func continues(_ other: SchemaSet) throws -> Bool {
    do {
      return try !Migrator(schemas: schemas).pending(after: other.files).isEmpty
    } catch let error as SQLError where error.code == .migration {
      throw ServerError(.busy, "another node has given an account other schema files: \(error)")
    }
  }
}
