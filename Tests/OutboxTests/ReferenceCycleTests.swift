import CipherSQL
import Foundation
import StoreSupport
import SyncModel
import TestSupport
import Testing
import VaultStore

@testable import Outbox

/// Unsent records that reference each other in cycles, with references that may be empty and references that may not.
@Suite struct ReferenceCycleTests {
  private static let shared = """
    createdAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z', updatedAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z',
    lastSyncedAt TEXT, syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
    isDirty INTEGER NOT NULL DEFAULT 1, isDeleted INTEGER NOT NULL DEFAULT 0
    """

  private static let schema = Schema(
    name: "sites",
    migrations: [
      MigrationFile(
        version: 1, name: "sites",
        sql: """
          CREATE TABLE OfflineSite (
            siteId INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE,
            leadId INTEGER REFERENCES OfflineVisit (visitId), \(shared)) STRICT;
          CREATE TABLE OfflineVisit (
            visitId INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE,
            siteId INTEGER NOT NULL REFERENCES OfflineSite (siteId),
            previousId INTEGER REFERENCES OfflineVisit (visitId), \(shared)) STRICT;
          INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES
            ('Site', 'OfflineSite', 'sites'), ('Visit', 'OfflineVisit', 'sites');
          """)
    ])

  private static func database() throws -> Database {
    let database = try Database.inMemory()
    try Vault.migrator(for: [schema]).apply(to: database)
    return database
  }

  /// The batches that the outbox sends if the server stores each of them.
  private static func batches(of database: Database) throws -> [[PushOperation]] {
    let catalog = SyncCatalog(try database.read { try Entities.read(from: $0) })
    var batches: [[PushOperation]] = []
    while true {
      let batch = try database.write { db in
        try SyncTransaction.run(on: db, catalog, now: 1) { transaction in
          let batch = try transaction.nextBatch(limit: 5).operations
          var counts = PushCounts()
          for operation in batch {
            try transaction.acknowledge(
              .accepted(version: operation.baseVersion + 1, serverId: .integer(1)), of: operation, jitter: 0,
              counts: &counts)
          }
          return batch
        }
      }
      if batch.isEmpty { return batches }
      batches.append(batch)
    }
  }

  /// - Returns: the operations that reference a record before its creation.
  private static func early(_ batches: [[PushOperation]]) -> [String] {
    var known: Set<String> = []
    var early: [String] = []
    for operation in batches.joined() {
      for column in ["leadId", "siteId", "previousId"] {
        guard case .text(let uuid)? = operation.patch.fields[column], uuid != operation.entityUuid,
          !known.contains(uuid)
        else { continue }
        early.append("\(operation.entityType) \(operation.entityUuid) before \(uuid)")
      }
      known.insert(operation.entityUuid)
    }
    return early
  }

  @Test("A record whose reference may be empty is sent before a record that needs it, in a cycle that begins with it")
  func cycleFromNullableSide() throws {
    let database = try Self.database()
    try database.write { db in
      try db.execute("INSERT INTO OfflineSite (siteId, uuid) VALUES (1, 'site')")
      try db.execute("INSERT INTO OfflineVisit (visitId, uuid, siteId) VALUES (1, 'visit', 1)")
      try db.execute("UPDATE OfflineSite SET leadId = 1")
    }
    let batches = try Self.batches(of: database)
    #expect(Self.early(batches) == [])
    #expect(batches.joined().map { "\($0.kind) \($0.entityUuid)" } == ["create site", "create visit", "update site"])
  }

  @Test("No operation is sent before the records that it references, in any graph") func anyGraph() throws {
    let first = freshSeed()
    for seed in first..<first + 60 {
      var random = Seeded(seed)
      let database = try Self.database()
      let (sites, visits) = (random.number(1..<8), random.number(1..<12))
      try database.write { db in
        for site in 1...sites {
          try db.execute("INSERT INTO OfflineSite (siteId, uuid) VALUES (\(site), \("s\(site)"))")
        }
        for visit in 1...visits {
          let site = random.number(1..<sites + 1)
          try db.execute("INSERT INTO OfflineVisit (visitId, uuid, siteId) VALUES (\(visit), \("v\(visit)"), \(site))")
        }
        for _ in 0..<random.number(0..<20) {
          let visit = random.number(1..<visits + 1)
          if random.chance(0.5) {
            try db.execute("UPDATE OfflineSite SET leadId = \(visit) WHERE siteId = \(random.number(1..<sites + 1))")
          } else {
            try db.execute(
              "UPDATE OfflineVisit SET previousId = \(visit) WHERE visitId = \(random.number(1..<visits + 1))")
          }
        }
      }
      let batches = try Self.batches(of: database)
      #expect(Self.early(batches) == [], "seed \(seed)")
      let unsent = try database.read {
        try $0.fetch("SELECT entityUuid FROM OfflineSyncQueue WHERE completedAt IS NULL", as: String.self)
      }
      #expect(unsent == [], "seed \(seed)")
    }
  }
}
