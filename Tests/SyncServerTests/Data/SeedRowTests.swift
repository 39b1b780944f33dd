import CipherSQL
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SQLCipherStorage
@testable import ServerStorage
@testable import SyncServer

/// Rows that a schema itself makes, which every device has without having pulled them.
@Suite struct SeedRowTests {
  private let schema = Schema(
    name: "seeded",
    migrations: [
      MigrationFile(
        version: 1, name: "categories",
        sql: """
          CREATE TABLE OfflineCategory (
            categoryId INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE, name TEXT NOT NULL UNIQUE,
            userEditedFields TEXT NOT NULL DEFAULT '[]',
            createdAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z',
            updatedAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z', lastSyncedAt TEXT,
            syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
            isDirty INTEGER NOT NULL DEFAULT 1, isDeleted INTEGER NOT NULL DEFAULT 0
          ) STRICT;
          INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('Category', 'OfflineCategory', 'seeded');
          INSERT INTO OfflineCategory (uuid, name) VALUES ('00000000-0000-7000-8000-000000000001', 'Fuel');
          """)
    ])

  @Test("Seed rows are records of version 1 from the beginning") func areRecordsFromTheBeginning() async throws {
    let folder = try TemporaryFolder()
    let data = try ServerFolder(folder.path + "/data", isCreating: true)
    let server = try FieldVaultServer(.init(folder: data, listen: "127.0.0.1:0", schemas: [schema]))
    let directory = try ServerDirectory(in: data)
    let client = TestClient(url: server.url, token: try directory.addUser("ada", account: nil).token)
    directory.close()
    let seed = "00000000-0000-7000-8000-000000000001"
    let (changes, _) = try await client.pull()
    #expect(changes.count == 1 && changes[0]["version"] == 1 && changes[0]["fields"]?["name"] == "Fuel")
    #expect(changes[0]["userEditedFields"] == [])
    // A device that never pulled the row changes its own.
    let words = try await client.results([
      Operation.update("Category", seed, ["name": "Petrol"], base: ["name": "Fuel"], version: 0),
      Operation.create("Category", newUuid(), ["name": "Petrol"]),
    ])
    #expect(words == ["merged", "conflict not_unique name"])
    let later = try await client.pull().changes
    #expect(later.count == 1 && later[0]["version"] == 2 && later[0]["fields"]?["name"] == "Petrol")
    // A device that counts the record as new sends all of it, with the values of the seed row: it has changed
    // nothing.
    let stale = Operation.create("Category", seed, ["name": "Fuel"], base: ["name": "Fuel"])
    #expect(try await client.results([stale]) == ["merged"])
    #expect(try await client.pull().changes[0]["fields"]?["name"] == "Petrol")
    await server.stop()
  }

  /// A device that begins has the row from its schema, and has to hear that it is deleted, however long ago that was.
  @Test("The deletion of a seed row is announced to devices that start later") func areDeletedForDevicesThatComeLater()
    async throws
  {
    let folder = try TemporaryFolder()
    let data = try serverFolder(folder.path + "/data", accounts: ["home"])
    let storage = try EmbeddedStorage(in: data, schemas: [schema], accounts: [])
    let account = AccountName(name: "home", folder: "home")
    try await storage.write(account) { data in
      let name = RecordName("Category", "00000000-0000-7000-8000-000000000001")
      let record = try #require(try data.record(name))
      var state = record.state
      state.isDeleted = true
      _ = try data.store(name, over: record, state, createdAt: 0, at: 1_000)
    }
    try await storage.forget(account, before: 2_000)
    let page = try await storage.read(account) { try $0.changes(after: nil, limit: 10, projects: nil) }
    #expect(page.records.map(\.content.record.state.isDeleted) == [true])
    #expect(try await storage.read(account) { try $0.horizon } == 0)
    storage.close()
  }
}
