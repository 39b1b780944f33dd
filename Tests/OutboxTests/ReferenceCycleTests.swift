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
  /// The common fields of a table.
  static let shared = """
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
            leadId INTEGER REFERENCES OfflineVisit (visitId),
            code TEXT NOT NULL UNIQUE DEFAULT (hex(randomblob(8))), \(shared)) STRICT;
          CREATE TABLE OfflineVisit (
            visitId INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE,
            siteId INTEGER NOT NULL REFERENCES OfflineSite (siteId),
            previousId INTEGER REFERENCES OfflineVisit (visitId), placeId INTEGER REFERENCES OfflineSite (siteId),
            \(shared)) STRICT;
          INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES
            ('Site', 'OfflineSite', 'sites'), ('Visit', 'OfflineVisit', 'sites');
          """)
    ])

  private static func database() throws -> Database {
    let database = try Database.inMemory()
    try Vault.migrator(for: [schema]).apply(to: database, isDraft: true)
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

  /// What a server has after some operations.
  private struct Server {
    /// The references by record and column.
    var references: [String: [String: String]] = [:]
    /// The operations that reference a record before its creation.
    var early: [String] = []

    mutating func store(_ batches: [[PushOperation]]) {
      for operation in batches.joined() {
        if operation.kind == .delete {
          let referring = references.filter { $0.value.values.contains(operation.entityUuid) }.keys.sorted()
          early += referring.map { "deletion of \(operation.entityUuid) before \($0) has left it" }
        }
        for column in ["leadId", "siteId", "previousId", "placeId"] {
          switch operation.patch.fields[column] {
          case .text(let uuid)?:
            if uuid != operation.entityUuid, references[uuid] == nil {
              early.append("\(operation.entityType) \(operation.entityUuid) before \(uuid)")
            }
            references[operation.entityUuid, default: [:]][column] = uuid
          case .null?: references[operation.entityUuid, default: [:]][column] = nil
          default: break
          }
        }
        references[operation.entityUuid, default: [:]]["known"] = ""
      }
    }
  }

  /// The references of all rows, in the form of ``Server``.
  private static func references(in database: Database) throws -> [String: [String: String]] {
    var found: [String: [String: String]] = [:]
    try database.read { db in
      for (uuid, lead) in try db.fetchRows(
        "SELECT uuid, (SELECT uuid FROM OfflineVisit WHERE visitId = leadId) FROM OfflineSite", as: String.self,
        String?.self)
      {
        found[uuid] = ["known": "", "leadId": lead].compactMapValues { $0 }
      }
      for (uuid, site, previous) in try db.fetchRows(
        """
        SELECT uuid, (SELECT uuid FROM OfflineSite AS site WHERE site.siteId = visit.siteId),
          (SELECT uuid FROM OfflineVisit AS other WHERE other.visitId = visit.previousId)
        FROM OfflineVisit AS visit
        """, as: String.self, String.self, String?.self)
      {
        found[uuid] = ["known": "", "siteId": site, "previousId": previous].compactMapValues { $0 }
      }
    }
    return found
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
    var server = Server()
    server.store(batches)
    #expect(server.early == [])
    #expect(batches.joined().map { "\($0.kind) \($0.entityUuid)" } == ["create site", "create visit", "update site"])
  }

  /// A creation needs a UNIQUE value of a record that is deleted, and the deletion waits for a record that moves to the
  /// new one.
  @Test("A move in a cycle with a deletion empties the reference first, and arrives") func moveFromDeletedRecord()
    throws
  {
    let database = try Self.database()
    var server = Server()
    try database.write { db in
      try db.execute("INSERT INTO OfflineSite (siteId, uuid, code) VALUES (1, 'old', 'x'), (2, 'site', 'y')")
      try db.execute("INSERT INTO OfflineVisit (visitId, uuid, siteId, placeId) VALUES (1, 'visit', 2, 1)")
    }
    server.store(try Self.batches(of: database))
    #expect(server.references["visit"]?["placeId"] == "old")
    try database.write { db in
      try db.execute("UPDATE OfflineSite SET code = 'free' WHERE siteId = 1")
      try db.execute("INSERT INTO OfflineSite (siteId, uuid, code) VALUES (3, 'new', 'x')")
      try db.execute("UPDATE OfflineVisit SET placeId = 3")
      try db.execute("DELETE FROM OfflineSite WHERE siteId = 1")
    }
    server.store(try Self.batches(of: database))
    #expect(server.early == [])
    #expect(server.references["visit"]?["placeId"] == "new")
  }

  @Test("No operation is sent before the records that it references, in any graph, and all references arrive")
  func anyGraph() throws {
    let first = freshSeed()
    for seed in first..<first + 60 {
      var random = Seeded(seed)
      let database = try Self.database()
      var server = Server()
      var (sites, visits) = (0, 0)
      // In the later turns, records that the server has move to new ones.
      for turn in 0..<3 {
        let (lastSite, lastVisit) = (sites + random.number(1..<5), visits + random.number(1..<6))
        try database.write { db in
          for site in sites + 1...lastSite {
            try db.execute("INSERT INTO OfflineSite (siteId, uuid) VALUES (\(site), \("s\(site)"))")
          }
          for visit in visits + 1...lastVisit {
            let site = random.number(1..<lastSite + 1)
            try db.execute(
              "INSERT INTO OfflineVisit (visitId, uuid, siteId) VALUES (\(visit), \("v\(visit)"), \(site))")
          }
          for _ in 0..<random.number(0..<20) {
            let (site, visit) = (random.number(1..<lastSite + 1), random.number(1..<lastVisit + 1))
            let other = random.number(1..<lastVisit + 1)
            switch random.number(0..<3) {
            case 0: try db.execute("UPDATE OfflineSite SET leadId = \(visit) WHERE siteId = \(site)")
            case 1: try db.execute("UPDATE OfflineVisit SET previousId = \(visit) WHERE visitId = \(other)")
            default: try db.execute("UPDATE OfflineVisit SET siteId = \(site) WHERE visitId = \(visit)")
            }
          }
        }
        (sites, visits) = (lastSite, lastVisit)
        server.store(try Self.batches(of: database))
        #expect(server.early == [], "seed \(seed), turn \(turn)")
        #expect(server.references == (try Self.references(in: database)), "seed \(seed), turn \(turn)")
        let unsent = try database.read {
          try $0.fetch("SELECT entityUuid FROM OfflineSyncQueue WHERE completedAt IS NULL", as: String.self)
        }
        #expect(unsent == [], "seed \(seed), turn \(turn)")
      }
    }
  }
}
