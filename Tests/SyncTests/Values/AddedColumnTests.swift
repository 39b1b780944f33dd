import CipherSQL
import Foundation
import SyncModel
import TestSupport
import Testing

@testable import VaultStore
@testable import SyncEngine

/// Full comparisons between a device and a server with different schema versions.
@Suite struct AddedColumnTests {
  private static func schema(_ version: Int) -> Schema {
    let first = """
      CREATE TABLE OfflineBed (
        bedId INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE, title TEXT NOT NULL, area REAL, plants INTEGER,
        createdAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) CHECK (createdAt IS strftime('%Y-%m-%dT%H:%M:%fZ', createdAt)),
        updatedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) CHECK (updatedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', updatedAt)),
        lastSyncedAt TEXT, syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
        isDirty INTEGER NOT NULL DEFAULT 1 CHECK (isDirty IN (0, 1)), isDeleted INTEGER NOT NULL DEFAULT 0 CHECK (isDeleted IN (0, 1))
      ) STRICT;
      INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('Bed', 'OfflineBed', 'garden');
      """
    let second = """
      ALTER TABLE OfflineBed ADD COLUMN isRaised INTEGER NOT NULL DEFAULT 1 CHECK (isRaised IN (0, 1));
      ALTER TABLE OfflineBed ADD COLUMN note TEXT;
      ALTER TABLE OfflineBed ADD COLUMN depth REAL DEFAULT 2;
      ALTER TABLE OfflineBed ADD COLUMN sum INTEGER;
      INSERT INTO SyncedColumn (entityType, columnName, computedAs, isAlwaysComputed) VALUES ('Bed', 'sum', 'plants + 1', 1);
      """
    return Schema(
      name: "garden",
      migrations: [
        MigrationFile(version: 1, name: "beds", sql: first), MigrationFile(version: 2, name: "more", sql: second),
      ].filter { $0.version <= version })
  }

  private func fill(_ device: Device) async throws {
    try await device.write { db in
      for (area, plants) in [
        (0.1, 1), (1e21, 1 << 53), (-0.0, (1 << 53) + 1), (Double.leastNonzeroMagnitude, Int.max), (1.0, Int.min),
        (123_456.789, 0),
      ] {
        let uuid = UUID.version7().uuidString.lowercased()
        try db.execute("INSERT INTO OfflineBed (uuid, title, area, plants) VALUES (\(uuid), 'Bed', \(area), \(plants))")
      }
    }
    try await device.sync()
  }

  private func findsNothing(_ device: Device, _ place: SourceLocation = #_sourceLocation) async throws {
    #expect(try await device.sync(RoundRequest(isFull: true)).repaired == 0, sourceLocation: place)
  }

  @Test("A full comparison repairs nothing when only the server has a column, at its default or another value")
  func addedAtTheServerFirst() async throws {
    let old = try LocalServer(schemas: [Self.schema(1)])
    let token = try old.token("ada")
    let one = try await Device("ben", at: old, schema: Self.schema(1))
    try await fill(one)
    try await findsNothing(one)
    await old.server.stop()
    let new = try LocalServer(in: old.folder, schemas: [Self.schema(2)])
    let worker = try Device.worker(one.vault, url: new.server.url, token: token)
    let report = try await worker.sync(RoundRequest(isFull: true))
    #expect(report.outcome == .done && report.repaired == 0)
    let two = try await Device("cy", at: new, schema: Self.schema(2))
    try await two.sync()
    try await findsNothing(two)
    try await two.write { try $0.execute("UPDATE OfflineBed SET note = 'deep', isRaised = 0 WHERE bedId = 2") }
    try await two.sync()
    #expect(try await worker.sync(RoundRequest()).outcome == .done)
    for _ in 0..<2 {
      let report = try await worker.sync(RoundRequest(isFull: true))
      #expect(report.outcome == .done && report.repaired == 0)
    }
    try await findsNothing(two)
    await new.server.stop()
  }

  @Test("A comparison drops an extra member that the server's record lacks, and repairs nothing")
  func memberThatTheServerLacks() async throws {
    let server = try LocalServer(schemas: [Self.schema(1)])
    let device = try await Device("ada", at: server, schema: Self.schema(1))
    try await fill(device)
    try await device.write { db in
      _ = try db.execute(
        """
        INSERT INTO SyncExtraFields (entityType, entityUuid, fields)
        SELECT 'Bed', uuid, '{"later":5}' FROM OfflineBed WHERE bedId = 2
        """)
    }
    try await findsNothing(device)
    #expect(try await device.value("SELECT count(*) FROM SyncExtraFields", as: Int.self) == 0)
  }

  @Test("A device whose schema is newer than the server's pauses, and later finds nothing to repair")
  func addedAtTheDeviceFirst() async throws {
    let server = try LocalServer(schemas: [Self.schema(1)])
    let device = try await Device("ben", at: server, schema: Self.schema(1))
    try await fill(device)
    let token = try server.token("ada")
    device.vault.close()
    let vault = try Vault.open(
      at: device.folder.path + "/job.vault", with: keyFileSecret(1), schemas: [Self.schema(2)])
    let worker = try Device.worker(vault, url: server.server.url, token: token)
    #expect(try await worker.sync(RoundRequest(isFull: true)).outcome == .paused, "it waits for the server")
    await server.server.stop()
    let new = try LocalServer(in: server.folder, schemas: [Self.schema(2)])
    let report = try await Device.worker(vault, url: new.server.url, token: token).sync(RoundRequest(isFull: true))
    #expect(report.outcome == .done && report.repaired == 0)
    await new.server.stop()
  }
}
