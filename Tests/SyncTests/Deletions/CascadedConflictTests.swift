import CipherSQL
import Foundation
import SyncModel
import Testing

@testable import VaultStore
@testable import SyncEngine

/// Records with an open conflict whose parent is deleted and restored.
@Suite struct CascadedConflictTests {
  private static let schema: Schema = {
    func table(_ type: String, _ columns: String) -> String {
      """
      CREATE TABLE Offline\(type) (
        \(type.lowercased())Id INTEGER PRIMARY KEY, serverId INTEGER,
        uuid TEXT NOT NULL UNIQUE CHECK (uuid GLOB '????????-????-????-????-????????????'), \(columns),
        createdAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) CHECK (createdAt IS strftime('%Y-%m-%dT%H:%M:%fZ', createdAt)),
        updatedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) CHECK (updatedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', updatedAt)),
        lastSyncedAt TEXT CHECK (lastSyncedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', lastSyncedAt)),
        syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
        isDirty INTEGER NOT NULL DEFAULT 1 CHECK (isDirty IN (0, 1)), isDeleted INTEGER NOT NULL DEFAULT 0 CHECK (isDeleted IN (0, 1))
      ) STRICT;
      INSERT INTO SyncedEntity (entityType, tableName, schemaName, conflictPolicy)
        VALUES ('\(type)', 'Offline\(type)', 'boxes', 'last_write_wins');

      """
    }
    let sql =
      table("Box", "title TEXT")
      + table(
        "Thing",
        """
        code TEXT UNIQUE, boxId INTEGER NOT NULL REFERENCES OfflineBox (boxId) ON DELETE CASCADE,
        besideId INTEGER REFERENCES OfflineThing (thingId)
        """)
    return Schema(name: "boxes", migrations: [MigrationFile(version: 1, name: "boxes", sql: sql)])
  }()

  private static func uuid() -> String { UUID.version7().uuidString.lowercased() }

  private static func uuid(_ number: Int) -> String { String(format: "00000000-0000-7000-8000-%012d", number) }

  // Seed 11271 of the simulation.
  @Test("A record in conflict that is deleted and restored with its parent is still in conflict")
  func restoredWithParent() async throws {
    let server = try LocalServer(schemas: [Self.schema])
    let one = try await Device("ada", at: server, schema: Self.schema)
    let two = try await Device("ben", at: server, schema: Self.schema)
    func insert(_ code: String, on device: Device) async throws {
      try await device.write {
        _ = try $0.execute("INSERT INTO OfflineThing (uuid, code, boxId) VALUES (\(Self.uuid()), \(code), 1)")
      }
    }
    try await one.write {
      _ = try $0.execute("INSERT INTO OfflineBox (uuid, title) VALUES (\(Self.uuid()), 'a')")
    }
    for device in [one, two] { try await device.sync() }
    // The first device creates a record with a UNIQUE value that the second device has already used.
    try await insert("k", on: two)
    try await two.sync()
    try await insert("k", on: one)
    try await one.sync(RoundRequest(pulls: false))
    #expect(try one.conflicts().map(\.conflictType) == ["not_unique"])
    // The first device deletes the parent. The later edit of the second device restores the parent at the server.
    try await one.write { _ = try $0.execute("DELETE FROM OfflineBox") }
    try await one.sync(RoundRequest(pulls: false))
    try await Task.sleep(for: .milliseconds(20))
    try await two.write { _ = try $0.execute("UPDATE OfflineBox SET title = 'b'") }
    try await two.sync()
    try await one.sync()
    #expect(try await one.values("SELECT title || isDeleted FROM OfflineBox") == ["b0"])
    #expect(try one.conflicts().map(\.conflictType) == ["not_unique"])
    let state: SQL = """
      SELECT record.syncStatus || record.isDirty || record.isDeleted || operation.status
      FROM OfflineThing AS record JOIN OfflineSyncQueue AS operation
        ON operation.entityUuid = record.uuid AND operation.completedAt IS NULL
      """
    #expect(try await one.values(state) == ["conflict10conflict"])
    let conflict = try #require(try one.conflicts().first)
    try one.resolve(conflict.conflictId, takesLocal: true, choices: ["code": .value("l")])
    for device in [one, two, one] { try await device.sync() }
    #expect(try await two.values("SELECT code FROM OfflineThing WHERE isDeleted = 0 ORDER BY code") == ["k", "l"])
    #expect(try await one.digests() == two.digests())
  }

  // Found by the simulation, seed 7532: the conflict came back after each decision.
  @Test("The decision for the server's side ends a refused restoration")
  func keptDeletion() async throws {
    let server = try LocalServer(schemas: [Self.schema])
    let one = try await Device("ada", at: server, schema: Self.schema)
    let two = try await Device("ben", at: server, schema: Self.schema)
    // The server restores the thing 1 first. It references the thing 2, which cannot return: another one has its code.
    try await one.write { db in
      _ = try db.execute("INSERT INTO OfflineBox (uuid, title) VALUES (\(Self.uuid()), 'a'), (\(Self.uuid()), 'b')")
      _ = try db.execute("INSERT INTO OfflineThing (uuid, code, boxId) VALUES (\(Self.uuid(2)), 'b', 1)")
      _ = try db.execute("INSERT INTO OfflineThing (uuid, code, boxId, besideId) VALUES (\(Self.uuid(1)), 'a', 1, 1)")
    }
    for device in [one, two] { try await device.sync() }
    try await one.write { _ = try $0.execute("DELETE FROM OfflineBox WHERE title = 'a'") }
    try await one.sync()
    try await one.write { db in
      _ = try db.execute("INSERT INTO OfflineThing (uuid, code, boxId) VALUES (\(Self.uuid(3)), 'b', 2)")
    }
    try await one.sync()
    // The user of the second device keeps a new thing by restoring its box.
    try await two.write { db in
      _ = try db.execute("INSERT INTO OfflineThing (uuid, code, boxId) VALUES (\(Self.uuid(4)), 'c', 1)")
    }
    try await two.sync()
    let orphan = try #require(try two.conflicts().first)
    #expect(orphan.conflictType == "deleted_remotely" && orphan.fields == ["boxId"])
    try two.resolve(orphan.conflictId, takesLocal: true)
    try await two.sync()
    let refused = try #require(try two.conflicts().first { $0.entityType == "Box" })
    #expect(refused.conflictType == "deleted_remotely" && refused.fields == [] && refused.other != nil)
    for conflict in try two.conflicts() { try two.resolve(conflict.conflictId, takesLocal: false) }
    try await two.sync()
    for conflict in try two.conflicts() { try two.resolve(conflict.conflictId, takesLocal: false) }
    try await Device.expectAgreement(one, two)
    #expect(try await two.values("SELECT code FROM OfflineThing WHERE isDeleted = 0") == ["b"])
  }
}
