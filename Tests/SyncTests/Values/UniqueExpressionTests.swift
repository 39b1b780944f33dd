import CipherSQL
import Foundation
import TestSupport
import Testing

@testable import SyncEngine
@testable import VaultStore

/// UNIQUE indexes over expressions.
@Suite struct UniqueExpressionTests {
  private static func schema(_ index: String) -> Schema {
    let sql = """
      CREATE TABLE "Offline.Thing" (
        thingId INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE, lower TEXT, "it's" TEXT, name TEXT,
        "a.b" TEXT UNIQUE, na TEXT, createdAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
        updatedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')), lastSyncedAt TEXT,
        syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
        isDirty INTEGER NOT NULL DEFAULT 1, isDeleted INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      \(index)
      INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('Thing', 'Offline.Thing', 'things');
      """
    return Schema(name: "things", migrations: [MigrationFile(version: 1, name: "things", sql: sql)])
  }

  private static let lower = "CREATE UNIQUE INDEX \"one, of them\" ON \"Offline.Thing\" (lower(name));"

  private static func uuid(_ number: Int) -> String { String(format: "00000000-0000-7000-8000-%012d", number) }

  @Test(
    "A conflict over an expression names the columns that it uses, and a value for one of them resolves it",
    arguments: [
      (lower, ["name"]),
      (
        "CREATE UNIQUE INDEX both ON \"Offline.Thing\" (trim(\"it's\"), lower(name) COLLATE NOCASE);", ["it's", "name"]
      ),
      ("CREATE UNIQUE INDEX live ON \"Offline.Thing\" (lower(name)) WHERE isDeleted = 0;", ["name"]),
    ])
  func conflict(_ index: String, _ columns: [String]) async throws {
    let schema = Self.schema(index)
    let server = try LocalServer(schemas: [schema])
    let one = try await Device("ada", at: server, schema: schema)
    let two = try await Device("ben", at: server, schema: schema)
    try await one.write { db in
      _ = try db.execute("INSERT INTO \"Offline.Thing\" (uuid, name, \"it's\") VALUES (\(Self.uuid(1)), 'Hall', 'x')")
    }
    try await two.write { db in
      _ = try db.execute("INSERT INTO \"Offline.Thing\" (uuid, name, \"it's\") VALUES (\(Self.uuid(2)), 'hall', 'x')")
    }
    try await one.sync()
    try await two.sync()
    let conflict = try #require(try two.conflicts().first)
    #expect(conflict.conflictType == "not_unique")
    #expect(Set(conflict.fields) == Set(columns))
    try two.resolve(conflict.conflictId, takesLocal: true, choices: ["name": .value("attic")])
    try await Device.expectAgreement(one, two)
    #expect(try await one.values("SELECT name FROM \"Offline.Thing\" ORDER BY uuid") == ["Hall", "attic"])
    #expect(try await two.values("SELECT name FROM \"Offline.Thing\" ORDER BY uuid") == ["Hall", "attic"])
  }

  @Test("A conflict over a column whose name has a dot names the column")
  func dottedColumn() async throws {
    let schema = Self.schema("")
    let server = try LocalServer(schemas: [schema])
    let one = try await Device("ada", at: server, schema: schema)
    let two = try await Device("ben", at: server, schema: schema)
    for (number, device) in [one, two].enumerated() {
      try await device.write { db in
        _ = try db.execute("INSERT INTO \"Offline.Thing\" (uuid, \"a.b\") VALUES (\(Self.uuid(number)), 'x')")
      }
    }
    try await one.sync()
    try await two.sync()
    #expect(try two.conflicts().map(\.fields) == [["a.b"]])
  }

  @Test("Values that are equal under an expression move between records, and reach another device")
  func moves() async throws {
    let schema = Self.schema(Self.lower)
    let server = try LocalServer(schemas: [schema])
    let one = try await Device("ada", at: server, schema: schema)
    let two = try await Device("ben", at: server, schema: schema)
    try await one.write { db in
      for (number, name) in ["A", "B", "C"].enumerated() {
        _ = try db.execute("INSERT INTO \"Offline.Thing\" (uuid, name) VALUES (\(Self.uuid(number)), \(name))")
      }
    }
    try await Device.expectAgreement(one, two)
    try await one.write { db in
      _ = try db.execute("UPDATE \"Offline.Thing\" SET name = NULL")
      for (number, name) in ["C", "A", "B"].enumerated() {
        _ = try db.execute("UPDATE \"Offline.Thing\" SET name = \(name) WHERE uuid = \(Self.uuid(number))")
      }
    }
    try await Device.expectAgreement(one, two)
    #expect(try await two.values("SELECT name FROM \"Offline.Thing\" ORDER BY uuid") == ["C", "A", "B"])
  }

  @Test("The deleted holder of a value gives it up on the server")
  func deletedHolder() async throws {
    let schema = Self.schema(Self.lower)
    let server = try LocalServer(schemas: [schema])
    let one = try await Device("ada", at: server, schema: schema)
    let two = try await Device("ben", at: server, schema: schema)
    try await one.write { db in
      _ = try db.execute("INSERT INTO \"Offline.Thing\" (uuid, name) VALUES (\(Self.uuid(1)), 'Hall')")
    }
    try await Device.expectAgreement(one, two)
    try await one.write { _ = try $0.execute("DELETE FROM \"Offline.Thing\"") }
    try await one.sync()
    try await one.write { db in
      _ = try db.execute("INSERT INTO \"Offline.Thing\" (uuid, name) VALUES (\(Self.uuid(2)), 'HALL')")
    }
    try await Device.expectAgreement(one, two)
    #expect(try await two.values("SELECT name FROM \"Offline.Thing\" WHERE isDeleted = 0") == ["HALL"])
  }
}
