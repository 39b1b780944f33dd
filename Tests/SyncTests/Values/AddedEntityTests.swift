import CipherSQL
import Foundation
import SyncModel
import TestSupport
import Testing

@testable import SQLCipherStorage
@testable import SyncEngine
@testable import SyncServer
@testable import VaultStore

/// Entities that a schema file adds, between a server and a device that gets the file later.
@Suite struct AddedEntityTests {
  private static func file(_ version: Int, _ name: String) -> MigrationFile {
    MigrationFile(
      version: version, name: name.lowercased(),
      sql: """
        CREATE TABLE Offline\(name) (
          id INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE, title TEXT,
          createdAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z', updatedAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z',
          lastSyncedAt TEXT, syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
          isDirty INTEGER NOT NULL DEFAULT 1, isDeleted INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('\(name)', 'Offline\(name)', 'garden');
        """)
  }

  private static let older = Schema(name: "garden", migrations: [file(1, "Bed")])
  private static let newer = Schema(name: "garden", migrations: [file(1, "Bed"), file(2, "Pot")])

  // Found by the simulation, seed 4407: the records were missing until the next comparison.
  @Test("A device that learns of an entity after a new epoch gets the records of the entity")
  func newEpoch() async throws {
    let server = try LocalServer(schemas: [Self.newer])
    let old = try await Device("ada", at: server, schema: Self.older)
    let other = try await Device("ben", at: server, schema: Self.newer)
    let uuid = UUID.version7().uuidString.lowercased()
    try await other.write { try $0.execute("INSERT INTO OfflinePot (uuid, title) VALUES (\(uuid), 'clay')") }
    try await other.sync()
    try await old.sync()
    #expect(try await old.values("SELECT reason FROM SyncInbox") == ["unknown_entity"])
    try await server.restart(while: {
      let folder = try ServerFolder(server.folder.path + "/data", isCreating: false)
      let directory = try ServerDirectory(in: folder)
      let accounts = try directory.accounts()
      directory.close()
      let storage = try EmbeddedStorage(in: folder, schemas: server.schemas, accounts: [])
      for account in accounts { try await storage.startEpoch(account) }
      storage.close()
    })
    try await old.sync()
    old.vault.close()
    let upgraded = try Device(opening: old.folder, url: server.server.url, token: old.token, schema: Self.newer)
    try await upgraded.sync()
    #expect(try await upgraded.values("SELECT title FROM OfflinePot") == ["clay"])
    await server.server.stop()
  }
}
