import CipherSQL
import Foundation
import SyncModel
import TestSupport
import Testing

@testable import VaultStore
@testable import SyncEngine

/// Operations whose fields a schema file renames between two requests.
@Suite struct RenamedFieldSyncTests {
  private static func schema(_ version: Int) -> Schema {
    let first = """
      CREATE TABLE OfflineBed (
        bedId INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE, title TEXT NOT NULL, note TEXT,
        createdAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) CHECK (createdAt IS strftime('%Y-%m-%dT%H:%M:%fZ', createdAt)),
        updatedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) CHECK (updatedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', updatedAt)),
        lastSyncedAt TEXT, syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
        isDirty INTEGER NOT NULL DEFAULT 1 CHECK (isDirty IN (0, 1)), isDeleted INTEGER NOT NULL DEFAULT 0 CHECK (isDeleted IN (0, 1))
      ) STRICT;
      INSERT INTO SyncedEntity (entityType, tableName, schemaName, conflictPolicy)
      VALUES ('Bed', 'OfflineBed', 'garden', 'client_wins');
      """
    let second = "ALTER TABLE OfflineBed RENAME COLUMN title TO name;"
    return Schema(
      name: "garden",
      migrations: [
        MigrationFile(version: 1, name: "beds", sql: first), MigrationFile(version: 2, name: "names", sql: second),
      ].filter { $0.version <= version })
  }

  /// Two devices with one bed, whose server has executed an operation of the first device without telling it.
  private struct Garden {
    let server: LocalServer
    let one: Device
    let two: Device
    let request: PushRequest
  }

  private func garden(_ changes: (Device) async throws -> Void = { _ in }) async throws -> Garden {
    let server = try LocalServer(schemas: [Self.schema(1)])
    let one = try await Device("ada", at: server, schema: Self.schema(1))
    let two = try await Device("ben", at: server, schema: Self.schema(1))
    let uuid = UUID.version7().uuidString.lowercased()
    try await one.write { db in
      try db.execute("INSERT INTO OfflineBed (uuid, title, note) VALUES (\(uuid), 'old', 'dry')")
    }
    try await one.sync()
    try await two.sync()
    try await changes(two)
    try await one.write { try $0.execute("UPDATE OfflineBed SET title = 'mine'") }
    let request = try await one.vault.sync { transaction in
      let operations = try transaction.nextBatch(limit: 25).operations
      return PushRequest(
        deviceId: try transaction.deviceId(), deviceCounter: try transaction.nextDeviceCounter(), cursor: nil,
        operations: operations)
    }
    #expect(request.operations.count == 1)
    return Garden(server: server, one: one, two: two, request: request)
  }

  /// Applies the file that renames the field to the server and to both devices.
  private func upgraded(_ garden: Garden) async throws -> (server: LocalServer, one: Device, two: Device) {
    await garden.server.server.stop()
    let server = try LocalServer(in: garden.server.folder, schemas: [Self.schema(2)])
    func device(_ old: Device) throws -> Device {
      old.vault.close()
      return try Device(opening: old.folder, url: server.server.url, token: old.token, schema: Self.schema(2))
    }
    return (server, try device(garden.one), try device(garden.two))
  }

  // Found by the simulation, seed 2533.
  @Test("An operation whose response was lost takes effect once although its field has another name")
  func lostResponse() async throws {
    let garden = try await garden()
    _ = try await garden.one.worker.remote.push(garden.request)
    let (server, one, two) = try await upgraded(garden)
    try await two.sync()
    try await two.write { try $0.execute("UPDATE OfflineBed SET name = 'later'") }
    try await two.sync()
    // The same operation arrives late under its former name, and again under the new one.
    let late = try await one.worker.remote.push(garden.request).results
    #expect(late.map { if case .accepted(let version, _, _) = $0.outcome { Int(version) } else { -1 } } == [2])
    try await Device.expectAgreement(one, two)
    #expect(try await one.values("SELECT name FROM OfflineBed") == ["later"])
    #expect(try await one.value("SELECT syncVersion FROM OfflineBed", as: Int.self) == 3)
    await server.server.stop()
  }

  @Test("A merged record whose response was lost arrives with the new names")
  func lostMerge() async throws {
    let garden = try await garden { two in
      try await two.write { try $0.execute("UPDATE OfflineBed SET note = 'wet', title = 'theirs'") }
      try await two.sync()
    }
    _ = try await garden.one.worker.remote.push(garden.request)
    let (server, one, two) = try await upgraded(garden)
    try await Device.expectAgreement(one, two)
    #expect(try await one.values("SELECT name || note FROM OfflineBed") == ["minewet"])
    #expect(try await one.value("SELECT syncVersion FROM OfflineBed", as: Int.self) == 3)
    await server.server.stop()
  }

  @Test("An operation that the server refused for its former name is sent under another key")
  func refusedName() async throws {
    let garden = try await garden()
    await garden.server.server.stop()
    let server = try LocalServer(in: garden.server.folder, schemas: [Self.schema(2)])
    let worker = try Device.worker(garden.one.vault, url: server.server.url, token: garden.one.token)
    let refused = try await worker.remote.push(garden.request).results
    #expect(refused.map { if case .rejected(let problem) = $0.outcome { problem.status } else { 0 } } == [422])
    await server.server.stop()
    let (newer, one, two) = try await upgraded(garden)
    try await Device.expectAgreement(one, two)
    #expect(try await two.values("SELECT name FROM OfflineBed") == ["mine"])
    await newer.server.stop()
  }

  // Found by the simulation, seed 5129: the server took the edit for one of the value that the device did not show.
  @Test("An edit of a field whose renamed value the device did not show is a conflict after the upgrade")
  func unseenValue() async throws {
    func schema(_ version: Int) -> Schema {
      let beds = Self.schema(1).migrations[0]
      let manual = beds.sql.replacing("'client_wins'", with: "'manual'")
      return Schema(
        name: "garden",
        migrations: [
          MigrationFile(version: 1, name: beds.name, sql: manual),
          MigrationFile(version: 2, name: "remarks", sql: "ALTER TABLE OfflineBed RENAME COLUMN note TO remark;"),
        ].filter { $0.version <= version })
    }
    let server = try LocalServer(schemas: [schema(2)])
    let newer = try await Device("ben", at: server, schema: schema(2))
    let older = try await Device("ada", at: server, schema: schema(1))
    let uuid = UUID.version7().uuidString.lowercased()
    try await newer.write { db in
      try db.execute("INSERT INTO OfflineBed (uuid, title, remark) VALUES (\(uuid), 'old', 'theirs')")
    }
    try await newer.sync()
    try await older.sync()
    try await older.write { try $0.execute("UPDATE OfflineBed SET note = 'mine'") }
    try await older.vault.sync { transaction in
      try transaction.release(try transaction.nextBatch(limit: 25).operations.map(\.operationId))
    }
    older.vault.close()
    let upgraded = try Device(opening: older.folder, url: server.server.url, token: older.token, schema: schema(2))
    try await upgraded.sync()
    try await newer.sync()
    #expect(try await newer.values("SELECT remark FROM OfflineBed") == ["theirs"])
    #expect(
      try await upgraded.values("SELECT conflictType || ' ' || fields FROM OfflineConflictResolution")
        == [#"concurrent_edit ["remark"]"#])
    await server.server.stop()
  }
}
