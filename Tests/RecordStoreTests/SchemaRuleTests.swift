import CipherSQL
import Foundation
import RestorationModel
import SchemaModel
import TestSupport
import Testing

@testable import RecordStore
@testable import VaultStore

/// Schemas that would not work are refused with file and line when a device or a server loads them.
@Suite struct SchemaRuleTests {
  /// Returns a synced table whose first column is on line 2.
  private static func table(
    _ name: String, key: String = "id INTEGER PRIMARY KEY", _ columns: String = "title TEXT",
    fields: [String: String] = [:],
    end: String = " STRICT", registered: (type: String, table: String)? = nil
  ) -> String {
    let common = [
      ("serverId", "INTEGER"), ("uuid", "TEXT NOT NULL UNIQUE"),
      ("createdAt", "TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z'"),
      ("updatedAt", "TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z'"), ("lastSyncedAt", "TEXT"),
      ("syncStatus", "TEXT NOT NULL DEFAULT 'pending'"), ("syncVersion", "INTEGER NOT NULL DEFAULT 0"),
      ("isDirty", "INTEGER NOT NULL DEFAULT 1"), ("isDeleted", "INTEGER NOT NULL DEFAULT 0"),
    ].map { "\(fields[$0.0] ?? $0.0) \($0.1)" }.joined(separator: ",\n  ")
    let type = registered?.type ?? name
    let lines = key.isEmpty ? columns : "\(key),\n  \(columns)"
    // Constraints of the table follow its columns.
    let parts = lines.components(separatedBy: ", FOREIGN")
    let constraints = parts.count > 1 ? ", FOREIGN" + parts[1] : ""
    return """
      CREATE TABLE \(SQL.quoted(name)) (
        \(parts[0]),
        \(common)\(constraints)
      )\(end);
      INSERT INTO SyncedEntity (entityType, tableName, schemaName)
      VALUES ('\(type)', '\(registered?.table ?? name)', 'own');

      """
  }

  private static func schema(_ files: String...) -> Schema {
    Schema(
      name: "own",
      migrations: files.enumerated().map { MigrationFile(version: $0 + 1, name: "file\($0 + 1)", sql: $1) })
  }

  /// Returns the message with which device and server refuse a schema; `nil` if both accept it.
  private static func refusal(_ schema: Schema) throws -> String? {
    func message(_ migrator: Migrator) throws -> String? {
      do {
        try migrator.apply(to: try Database.inMemory())
        return nil
      } catch let error as SQLError where error.code == .migration {
        return error.message
      }
    }
    let device = try message(Vault.migrator(for: [schema]))
    #expect(try message(Migrator.records(of: [schema])) == device)
    return device
  }

  // MARK: Cycles

  @Test(
    "A cycle of references without one that accepts NULL is refused",
    arguments: [
      ("aId INTEGER NOT NULL REFERENCES A (id)", "title TEXT"),
      ("aId INTEGER NOT NULL REFERENCES A (id) DEFERRABLE INITIALLY DEFERRED", "title TEXT"),
      ("aId TEXT NOT NULL DEFAULT 'x' REFERENCES a (uuid) ON DELETE SET DEFAULT", "title TEXT"),
      ("bId INTEGER NOT NULL REFERENCES B (id)", "aId INTEGER NOT NULL REFERENCES A (id)"),
      (
        "x TEXT NOT NULL, y TEXT NOT NULL, UNIQUE (x, y), FOREIGN KEY (x, y) REFERENCES A (x, y)".replacing(
          "UNIQUE (x, y), ", with: ""), "title TEXT"
      ),
    ])
  func requiredCycle(_ a: String, _ b: String) throws {
    let index = a.contains("FOREIGN") ? "CREATE UNIQUE INDEX A_xy ON A (x, y);\n" : ""
    let message = try #require(
      try Self.refusal(Self.schema(Self.table("A", a) + index + Self.table("B", b))), "\(a), \(b)")
    #expect(message.hasPrefix("own/0001_file1.sql:3: "), "\(message)")
    #expect(message.contains("cycle") && message.contains("A.") && message.contains("remove NOT NULL"), "\(message)")
  }

  @Test(
    "A cycle of references with one that accepts NULL is accepted",
    arguments: [
      ("aId INTEGER REFERENCES A (id)", "title TEXT"),
      ("bId INTEGER NOT NULL REFERENCES B (id)", "aId INTEGER REFERENCES A (id)"),
      ("bId INTEGER NOT NULL REFERENCES B (id)", "title TEXT"),
      ("x TEXT NOT NULL, y TEXT, FOREIGN KEY (x, y) REFERENCES A (x, y)", "title TEXT"),
    ])
  func optionalCycle(_ a: String, _ b: String) throws {
    let index = a.contains("FOREIGN") ? "CREATE UNIQUE INDEX A_xy ON A (x, y);\n" : ""
    #expect(try Self.refusal(Self.schema(Self.table("A", a) + index + Self.table("B", b))) == nil)
  }

  @Test("A cycle that a later file of the schema ends is accepted")
  func cycleThatEnds() throws {
    let first = Self.table("A", "aId INTEGER NOT NULL REFERENCES A (id)")
    let second =
      "DROP TABLE A;\nDELETE FROM SyncedEntity WHERE entityType = 'A';\n"
      + Self.table("A", "aId INTEGER REFERENCES A (id)")
    #expect(try Self.refusal(Self.schema(first, second)) == nil)
    #expect(try Self.refusal(Self.schema(first, "SELECT 1;"))?.hasPrefix("own/0001_file1.sql:3: ") == true)
  }

  // MARK: Membership

  @Test(
    "A membership entity references a user and belongs to a project",
    arguments: [
      ("'Crew', 'userId'", nil),
      ("'Club', 'userId'", "1 rows of SyncedMembership would refer to rows of SyncedEntity that do not exist"),
      ("'Crew', 'person'", "'person' of Crew in SyncedMembership references no record of a user"),
      ("'Crew', 'projectId'", "'projectId' of Crew in SyncedMembership references no record of a user"),
      ("'Person', 'bossId'", "the records of Person in SyncedMembership belong to no project"),
    ])
  func membership(_ row: String, _ expected: String?) throws {
    let sql =
      Self.table("Project") + Self.table("Person", "bossId INTEGER REFERENCES Person (id)")
      + Self.table(
        "Crew",
        "projectId INTEGER NOT NULL REFERENCES Project (id), userId INTEGER NOT NULL REFERENCES Person (id), person TEXT"
      )
    let message = try Self.refusal(
      Self.schema(sql + "INSERT INTO SyncedMembership (entityType, userColumn) VALUES (\(row));"))
    guard let expected else { return #expect(message == nil) }
    #expect(message?.contains(expected) == true, "\(message ?? "accepted")")
  }

  // MARK: Local ids

  @Test(
    "A synced table without an INTEGER PRIMARY KEY is refused",
    arguments: [
      ("id TEXT PRIMARY KEY", " STRICT"), ("id INT PRIMARY KEY", " STRICT"), ("id BIGINT PRIMARY KEY", ""),
      ("id INTEGER PRIMARY KEY DESC", ""), ("id INTEGER PRIMARY KEY", " STRICT, WITHOUT ROWID"), ("", " STRICT"),
    ])
  func localId(_ key: String, _ end: String) throws {
    let message = try #require(try Self.refusal(Self.schema("\n" + Self.table("Thing", key: key, end: end))))
    #expect(message.hasPrefix("own/0001_file1.sql:2: "), "\(message)")
    #expect(message.contains("Thing") && message.contains("INTEGER PRIMARY KEY"), "\(message)")
  }

  @Test("A synced table with a primary key of two columns is refused")
  func compositeKey() throws {
    let sql = Self.table("Thing", key: "a INTEGER NOT NULL, b INTEGER NOT NULL").replacing(
      "\n) STRICT", with: ",\n  PRIMARY KEY (a, b)\n) STRICT")
    #expect(try Self.refusal(Self.schema(sql))?.contains("INTEGER PRIMARY KEY") == true)
  }

  // MARK: Names

  @Test("A common field in another case is refused", arguments: ["syncstatus", "UUID", "isdeleted", "ServerID"])
  func caseOfCommonFields(_ name: String) throws {
    let usual = ["syncStatus", "uuid", "isDeleted", "serverId"].first { $0.lowercased() == name.lowercased() } ?? ""
    let message = try #require(try Self.refusal(Self.schema(Self.table("Thing", fields: [usual: name]))))
    #expect(message.hasPrefix("own/0001_file1.sql:") && !message.hasPrefix("own/0001_file1.sql:1:"), "\(message)")
    #expect(message.contains("'\(name)'") && message.contains("'\(usual)'"), "\(message)")
  }

  // Found by the simulation, seed 10662: a conflict of one entity was decided with the fields of the other.
  @Test("An entity with the name of another entity's table is found by its own name")
  func entityNamedLikeATable() throws {
    let database = try Database.inMemory()
    let sql = Self.table("other", registered: ("Thing", "other")) + Self.table("own", registered: ("other", "own"))
    try Vault.migrator(for: [Self.schema(sql)]).apply(to: database)
    let entities = try database.read { try Entities.read(from: $0) }
    #expect(try entities.entity("other").table.name == "own")
    #expect(try entities.entity("own").type == "other" && entities.entity("Thing").table.name == "other")
  }

  @Test("A registry row that names the table or a column in another case is refused")
  func caseInRegistry() throws {
    let message = try #require(
      try Self.refusal(Self.schema(Self.table("OfflineThing", registered: ("Thing", "offlinething")))))
    #expect(message.contains("'offlinething'") && message.contains("'OfflineThing'"), "\(message)")
    let column =
      Self.table("Thing")
      + "INSERT INTO SyncedColumn (entityType, columnName, isLocalOnly) VALUES ('Thing', 'Title', 1);"
    let second = try #require(try Self.refusal(Self.schema(column)))
    #expect(second.contains("'Title'") && second.contains("'title'"), "\(second)")
  }

  @Test(
    "Names that differ only in case or Unicode normalisation are refused",
    arguments: [
      table("Thing", "\"caf\u{e9}\" TEXT,\n  \"cafe\u{301}\" TEXT"), table("Thing", "\"É\" TEXT,\n  \"é\" TEXT"),
      table("caf\u{e9}") + table("cafe\u{301}", registered: ("Other", "cafe\u{301}")),
      table("One", registered: ("caf\u{e9}", "One")) + table("Two", registered: ("cafe\u{301}", "Two")),
      table("One", registered: ("room", "One")) + table("Two", registered: ("Room", "Two")),
    ])
  func equalNames(_ sql: String) throws {
    let message = try #require(try Self.refusal(Self.schema(sql)))
    #expect(message.hasPrefix("own/0001_file1.sql:"), "\(message)")
    #expect(message.contains("rename one"), "\(message)")
  }

  @Test("An entity name that no request can carry is refused", arguments: ["a/b", "back\\slash", "..", ".", "a\tb"])
  func unsendableEntity(_ name: String) throws {
    let message = try #require(try Self.refusal(Self.schema(Self.table("Thing", registered: (name, "Thing")))))
    #expect(message.hasPrefix("own/0001_file1.sql:15: ") && message.contains("entity name"), "\(message)")
    #expect(try Self.refusal(Self.schema(Self.table("a/b\\c", registered: ("Thing", "a/b\\c")))) == nil)
  }

  // MARK: Other schemas

  @Test("The schemas of the repository load")
  func repositorySchemas() throws {
    for folder in ["restoration", "range", "receipts"].map({ "Schema/\($0)" })
      + ["places", "references", "scans", "values"].map({ "Tests/Simulation/Schemas/\($0)" })
    {
      #expect(try Self.refusal(try Schema.load(folder: packagePath(folder))) == nil, "\(folder)")
    }
  }

  @Test("A vault whose schema was accepted by an earlier version still takes files of FieldVault's own schema")
  func earlierVault() throws {
    let schema = Self.schema(Self.table("A", "aId INTEGER NOT NULL REFERENCES A (id)"))
    let database = try Database.inMemory()
    // Without the rules, as an earlier version applied it.
    let migrator = Vault.migrator(for: [schema])
    let older = Schema(name: CoreSchema.schema.name, migrations: Array(CoreSchema.schema.migrations.prefix(9)))
    try Migrator(schemas: [older, schema]).apply(to: database)
    try migrator.apply(to: database)
    #expect(try migrator.verify(database).isEmpty)
  }
}
