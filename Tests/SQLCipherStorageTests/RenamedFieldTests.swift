import CipherSQL
import SchemaModel
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SQLCipherStorage
@testable import ServerStorage

/// A schema file that renames a column with which records were changed.
@Suite struct RenamedFieldTests {
  private let folder: TemporaryFolder
  private let account = AccountName(name: "one", folder: "00000000000000000000000000000001")

  init() throws { folder = try TemporaryFolder() }

  private static func table(_ name: String) -> String {
    """
    CREATE TABLE OfflineThing (
      id INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE, \(name) TEXT UNIQUE, weight REAL,
      createdAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z', updatedAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z',
      lastSyncedAt TEXT, syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
      isDirty INTEGER NOT NULL DEFAULT 1, isDeleted INTEGER NOT NULL DEFAULT 0,
      userEditedFields TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(userEditedFields))
    ) STRICT;
    """
  }

  private static let first = MigrationFile(
    version: 1, name: "things",
    sql: table("colour") + """
      INSERT INTO SyncedEntity (entityType, tableName, schemaName, defaultPriority)
        VALUES ('Thing', 'OfflineThing', 'things', 2);
      """)

  /// The ways in which a file renames a column.
  private static let renames = [
    "ALTER TABLE offlinething RENAME COLUMN colour TO color;",
    """
    ALTER TABLE OfflineThing RENAME TO OldThing;
    \(table("color"))
    INSERT INTO OfflineThing SELECT * FROM OldThing;
    DROP TABLE OldThing;
    INSERT INTO SyncedColumnRename (entityType, oldName, newName) VALUES ('Thing', 'colour', 'color');
    """,
  ]

  private static func keys(of name: RecordName, _ data: any RecordReading) throws -> RecordKeys {
    let reader = try #require(data as? AccountReader)
    return try #require(try reader.rows.records([name]).first).keys
  }

  private func storage(_ files: [MigrationFile]) throws -> EmbeddedStorage {
    try EmbeddedStorage(
      in: try serverFolder(folder.path + "/data", accounts: [account.folder]),
      schemas: [Schema(name: "things", migrations: files)], accounts: [])
  }

  // Found by the simulation, seed 658: a concurrent edit replaced the value of another device without a merge.
  @Test("The facts about a field follow its new name", arguments: renames)
  func facts(rename: String) async throws {
    let (thing, other) = (RecordName("Thing", newUuid()), RecordName("Thing", newUuid()))
    let older = try storage([Self.first])
    try await older.write(account) { data in
      func state(_ colour: SyncValue, _ time: Int64) -> RecordState {
        RecordState(
          fields: ["colour": colour, "weight": 1], updatedAt: time, editTimes: ["weight": 1],
          userEditedFields: ["colour", "weight"])
      }
      let made = try data.store(
        thing, over: nil, state("red", 1), createdAt: 1, formerId: nil, computing: [], serviceFields: ["colour"], at: 1)
      let changed = try data.store(
        thing, over: made, state("blue", 2), createdAt: 1, formerId: nil, computing: [], serviceFields: nil, at: 2)
      var gone = changed.state
      gone.isDeleted = true
      gone.updatedAt = 3
      _ = try data.store(
        thing, over: changed, gone, createdAt: 1, formerId: nil, computing: [], serviceFields: nil, at: 3)
      // Takes the UNIQUE value of the deleted record. A field that is NULL is not stored.
      var values = state("blue", 4)
      values.fields["weight"] = .null
      _ = try data.store(other, over: nil, values, createdAt: 1, at: 4)
    }
    let before = try await older.read(account) { try $0.record(thing) }
    let released = try await older.read(account) { try Self.keys(of: thing, $0).released }
    #expect(released == ["\"colour\""])
    older.close()
    let newer = try storage([Self.first, MigrationFile(version: 2, name: "rename", sql: rename)])
    defer { newer.close() }
    let after = try await newer.read(account) { try $0.record(thing) }
    let record = try #require(after)
    #expect(before?.fieldVersions["colour"] == 2 && before?.serviceFields == ["colour"])
    #expect(record.fieldVersions["color"] == 2 && record.fieldVersions["colour"] == nil)
    #expect(record.serviceFields == ["color"])
    #expect(record.state.fields["color"] == "blue")
    #expect(try await newer.read(account) { try Self.keys(of: thing, $0).released } == ["\"color\""])
    #expect(record.state.userEditedFields == ["color", "weight"])
    #expect(try await newer.read(account) { try $0.record(other) }?.state.fields == ["color": "blue", "weight": .null])
    #expect(record.hasChanged("color", after: 1) && !record.hasChanged("color", after: 2))
  }
}
