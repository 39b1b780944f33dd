import CipherSQL
import SchemaModel
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SQLCipherStorage
@testable import ServerStorage

/// Schema files that change unique indexes over records that were stored before.
@Suite struct UniqueIndexFileTests {
  private let folder: TemporaryFolder
  private let account = AccountName(name: "one", folder: "00000000000000000000000000000001")
  private let thing = RecordName("Thing", newUuid())
  private let other = RecordName("Thing", newUuid())

  init() throws { folder = try TemporaryFolder() }

  /// A schema file, and one that changes its index.
  struct Change: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let index: String
    let file: String
    var column = "colour"
  }

  private static let changes = [
    Change(
      testDescription: "a renamed column of an expression",
      index: "CREATE UNIQUE INDEX thing_colour ON OfflineThing (lower(colour));",
      file: "ALTER TABLE OfflineThing RENAME COLUMN colour TO color;", column: "color"),
    Change(
      testDescription: "an expression in place of a column",
      index: "CREATE UNIQUE INDEX thing_colour ON OfflineThing (colour);",
      file: "DROP INDEX thing_colour; CREATE UNIQUE INDEX thing_colour ON OfflineThing (lower(colour));"),
    Change(
      testDescription: "another collation",
      index: "CREATE UNIQUE INDEX thing_colour ON OfflineThing (colour);",
      file: "DROP INDEX thing_colour; CREATE UNIQUE INDEX thing_colour ON OfflineThing (colour COLLATE NOCASE);"),
    Change(
      testDescription: "a new index", index: "", file: "CREATE UNIQUE INDEX thing_colour ON OfflineThing (colour);"),
    Change(
      testDescription: "a condition",
      index: "CREATE UNIQUE INDEX thing_colour ON OfflineThing (colour);",
      file: "DROP INDEX thing_colour; CREATE UNIQUE INDEX thing_colour ON OfflineThing (colour) WHERE colour <> '';"),
  ]

  private func storage(_ index: String, _ file: String? = nil) throws -> EmbeddedStorage {
    let first = """
      CREATE TABLE OfflineThing (
        id INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE, colour TEXT,
        createdAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z', updatedAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z',
        lastSyncedAt TEXT, syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
        isDirty INTEGER NOT NULL DEFAULT 1, isDeleted INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      \(index)
      INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('Thing', 'OfflineThing', 'things');
      """
    let files =
      [MigrationFile(version: 1, name: "things", sql: first)]
      + (file.map { [MigrationFile(version: 2, name: "index", sql: $0)] } ?? [])
    return try EmbeddedStorage(
      in: try serverFolder(folder.path + "/data", accounts: [account.folder]),
      schemas: [Schema(name: "things", migrations: files)], accounts: [])
  }

  private func store(
    _ name: RecordName, _ fields: SyncObject, isDeleted: Bool = false, in storage: EmbeddedStorage
  ) async throws {
    try await storage.write(account) { data in
      let previous = try data.record(name)
      let state = RecordState(
        fields: fields, isDeleted: isDeleted, syncVersion: previous?.version ?? 0, updatedAt: 1)
      _ = try data.store(name, over: previous, state, createdAt: 1, at: 1)
    }
  }

  @Test("A deleted record does not take a value back that another record has", arguments: changes)
  func releasedValue(change: Change) async throws {
    let older = try storage(change.index)
    try await store(thing, ["colour": "blue"], in: older)
    try await store(thing, ["colour": "blue"], isDeleted: true, in: older)
    try await store(other, ["colour": "blue"], in: older)
    older.close()
    let newer = try storage(change.index, change.file)
    defer { newer.close() }
    let records = try await newer.read(account) { data in try [thing, other].map { try data.record($0)?.state } }
    #expect(records.map { $0?.fields[change.column] } == ["blue", "blue"])
    // The value is free for the deleted record again once the other one has another value.
    let refusal = await #expect(throws: StorageRefusal.self) {
      try await store(thing, [change.column: "blue"], in: newer)
    }
    #expect(refusal == .notUnique(columns: [change.column], holder: other))
    try await store(other, [change.column: "red"], in: newer)
    try await store(thing, [change.column: "blue"], in: newer)
  }

  @Test("A unique index over equal values of two records is refused, and the account stays as it was")
  func equalValues() async throws {
    let older = try storage("")
    try await store(thing, ["colour": "blue"], in: older)
    try await store(other, ["colour": "blue"], in: older)
    older.close()
    let newer = try storage("", "CREATE UNIQUE INDEX thing_colour ON OfflineThing (colour);")
    await #expect(throws: SQLError.self) { try await newer.read(account) { try $0.record(thing) } }
    newer.close()
    let again = try storage("")
    defer { again.close() }
    #expect(try await again.read(account) { try $0.record(other) }?.state.fields == ["colour": "blue"])
  }
}
