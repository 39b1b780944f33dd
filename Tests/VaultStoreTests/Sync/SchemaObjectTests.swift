import DrawnSchema
import Foundation
import RestorationModel
import TestSupport
import Testing

@testable import CipherSQL
@testable import VaultStore

/// The names of schema objects, and the tables of the registry.
@Suite struct SchemaObjectTests {
  /// The objects of a database besides its schemas: SQLite's own, derived triggers, and the tables of a full-text
  /// index.
  private func objects(of database: Database) throws -> Set<String> {
    let names = try database.read { db in
      try db.fetch(
        """
        SELECT lower(name) FROM sqlite_schema
        WHERE name NOT GLOB 'sqlite_*' AND name NOT GLOB 'fieldvault_*'
          AND name NOT IN (SELECT name FROM pragma_table_list WHERE type = 'shadow')
        """, as: String.self)
    }
    return Set(names)
  }

  @Test("Every table, view, index and trigger that schema files make is known by its name")
  func namesAreComplete() throws {
    for name in ["restoration", "range", "receipts"] {
      let schema = try Schema.load(folder: packagePath("Schema/\(name)"))
      let database = try Database.inMemory()
      try Vault.migrator(for: [schema]).apply(to: database, isDraft: true)
      let known = try database.read { try SchemaObjects.names(in: $0) }
      #expect(try known == objects(of: database), "\(name)")
      #expect(known.count > 50)
    }
  }

  @Test(
    "A vault whose triggers are created once is equal to one whose triggers are created after each file",
    arguments: ["restoration", "range", "receipts", "drawn 1", "drawn 2", "drawn 3"])
  func draft(_ name: String) throws {
    let seed = UInt64(name.suffix(1))
    let schema =
      try seed.map { DrawnSchema(seed: $0, Seeded($0)).schema } ?? Schema.load(folder: packagePath("Schema/\(name)"))
    let (draft, stepwise) = (try Database.inMemory(), try Database.inMemory())
    let migrator = Vault.migrator(for: [schema])
    try migrator.apply(to: draft, isDraft: true)
    try migrator.apply(to: stepwise)
    #expect(try migrator.verify(draft).isEmpty && migrator.verify(stepwise).isEmpty)
    #expect(try Self.content(of: draft) == Self.content(of: stepwise))
  }

  /// The rows of each table, without times and drawn values.
  private static func content(of database: Database) throws -> [String: Set<String>] {
    try database.read { db in
      let tables = try db.fetch(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT GLOB 'sqlite_*'",
        as: String.self)
      var content: [String: Set<String>] = [:]
      for table in tables {
        let columns = try db.fetch("SELECT name FROM pragma_table_info(\(table))", as: String.self).filter {
          let name = $0.lowercased()
          return !["id", "at", "ms", "milliseconds", "operation"].contains { name.hasSuffix($0) }
        }
        let list = columns.map(SQL.quoted).joined(separator: ", ")
        guard !columns.isEmpty else { continue }
        let rows = try db.fetch(
          SQL(raw: "SELECT json_array(\(list)) FROM (SELECT \(list) FROM \(SQL.quoted(table)))"), as: String.self)
        content[table] = Set(rows)
      }
      return content
    }
  }

  @Test("The tables that SQL may not write exist", arguments: ["SyncedEntity", "SyncTakenValue", "SyncRoute"])
  func registryIsNotWritten(_ table: String) throws {
    let database = try Database.inMemory()
    try Vault.migrator(for: [RestorationSchema.schema]).apply(to: database, isDraft: true)
    #expect(try database.read { try SchemaObjects.names(in: $0) }.contains(table.lowercased()))
    for sql in ["DELETE FROM \(table)", "INSERT INTO \(table) SELECT * FROM \(table)"] {
      let error = #expect(throws: SQLError.self) { try database.write { try $0.execute(SQL(raw: sql)) } }
      #expect(error?.message.contains("must not write to the table \(table)") == true, "\(error?.message ?? "")")
    }
  }

  @Test("Derived triggers stay", arguments: ["fieldvault_delete_OfflineRoom", "fieldvault_write_context_update"])
  func derivedTriggersStay(_ name: String) throws {
    let database = try Database.inMemory()
    try Vault.migrator(for: [RestorationSchema.schema]).apply(to: database, isDraft: true)
    let error = #expect(throws: SQLError.self) {
      try database.write { try $0.execute("DROP TRIGGER \(identifier: name)") }
    }
    #expect(
      error?.message.contains("the trigger \(name) is reserved for FieldVault") == true, "\(error?.message ?? "")")
  }
}
