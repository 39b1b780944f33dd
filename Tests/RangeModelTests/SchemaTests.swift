import CipherSQL
import Foundation
import RangeModel
import RestorationModel
import Testing

@testable import VaultStore

/// The tables of the range: columns, references, and a vault with a second schema.
@Suite struct SchemaTests {
  private static let hangingOnASession = [
    "DopeEntry", "ChronoSession", "VelocityReading", "GroupEntry", "GroupMeasurement", "HolePosition", "GroupImage",
  ]

  @Test("Each synced table is STRICT and has the common fields with defaults")
  func everyEntityHasTheCommonFieldsWithDefaults() throws {
    let bench = try RangeBench()
    let common = [
      "serverId", "uuid", "createdAt", "updatedAt", "lastSyncedAt", "syncStatus", "syncVersion", "isDirty", "isDeleted",
    ]
    let catalog = try bench.database.read { try Catalog.read(from: $0) }
    let tables = try bench.database.read { try SyncedEntity.all.fetch($0) }
    #expect(tables.count == 13)
    for entity in tables {
      let table = try #require(catalog.table(entity.tableName))
      #expect(table.isStrict && table.columns.first?.isRowID == true)
      for name in common {
        let column = try #require(table.column(name), "\(table.name).\(name)")
        #expect(!column.isNotNull || column.defaultSQL != nil, "\(table.name).\(name)")
      }
      #expect(table.column("uuid")?.type == .uuid)
    }
  }

  @Test("Each foreign key has an index") func everyReferenceIsIndexed() throws {
    let bench = try RangeBench()
    let catalog = try bench.database.read { try Catalog.read(from: $0) }
    for table in catalog.tables where table.kind == .table {
      let leading = try bench.database.read { db in
        try db.fetch(
          """
          SELECT DISTINCT info.name FROM pragma_index_list(\(table.name)) AS list, pragma_index_info(list.name) AS info
          WHERE info.seqno = 0
          """, as: String?.self)
      }.compactMap { $0 }
      for key in table.foreignKeys {
        let column = try #require(key.columns.first?.from)
        #expect(leading.contains(column), "\(table.name).\(column)")
      }
    }
  }

  @Test("The registry holds the priorities and conflict policies of the entities")
  func prioritiesAndPoliciesAreInTheRegistry() throws {
    let bench = try RangeBench()
    let entities = try bench.database.read { try SyncedEntity.all.fetch($0) }
    let priority = Dictionary(uniqueKeysWithValues: entities.map { ($0.entityType, $0.defaultPriority) })
    for entity in Self.hangingOnASession {
      #expect(try #require(priority[entity]) > #require(priority["Session"]), "\(entity)")
    }
    #expect(priority["GroupImage"] == 3)
    let policies = Set(entities.filter { $0.conflictPolicy == .serverWins }.map(\.entityType))
    #expect(policies == ["RifleSetup", "Ammunition", "AmmoLot", "SavedLocation", "AnalyticsSummary"])
    #expect(entities.allSatisfy { $0.conflictPolicy == .serverWins || $0.conflictPolicy == .lastWriteWins })
  }

  @Test("A logout removes server-owned records except those that a session references")
  func whatTheServerOwnsIsClearedAtALogoutButForWhatASessionPointsTo() throws {
    let bench = try RangeBench()
    let catalog = bench.vault.syncCatalog
    #expect(
      catalog.tables.keys.filter(catalog.isReferenceData).sorted()
        == ["AmmoLot", "Ammunition", "AnalyticsSummary", "RifleSetup", "SavedLocation"])
    try bench.run(
      "INSERT INTO OfflineRifleSetup (name, isDirty, syncStatus, syncVersion) VALUES ('Rimfire', 0, 'synced', 1)")
    try bench.run("INSERT INTO OfflineAnalyticsSummary (totalSessions) VALUES (12)")
    try bench.settle("OfflineAnalyticsSummary", "OfflineRifleSetup")
    try bench.record()
    #expect(try bench.vault.logout() == 2)
    #expect(try bench.value("SELECT group_concat(name) FROM OfflineRifleSetup", as: String.self) == "Tikka T3x")
    #expect(try bench.value("SELECT count(*) FROM OfflineAmmoLot", as: Int.self) == 1)
    #expect(try bench.value("SELECT count(*) FROM OfflineAnalyticsSummary", as: Int.self) == 0)
    #expect(try bench.value("SELECT count(*) FROM OfflineSession", as: Int.self) == 1)
  }

  @Test("Local columns of an image are device-only") func whereAFileStandsIsNotSent() throws {
    let bench = try RangeBench()
    let images = try bench.vault.entities.entity("GroupImage")
    #expect(Set(images.localColumns) == ["localPath", "uploadStatus", "tusUploadId"])
    #expect(AttachmentEntity(images) != nil)
    #expect(bench.vault.entities.attachments.map(\.entity.type) == ["GroupImage"])
  }

  @Test("One vault holds the restoration and the range schema") func aVaultHoldsRestorationAndRange() throws {
    let bench = try RangeBench(with: [("restoration", RestorationSchema.schema)])
    let recorded = try bench.record()
    try bench.database.write { db in
      let project = try db.insert(Project(title: "House"))
      try db.insert(RestorationModel.Location(projectId: project.projectId, title: "ground floor"))
    }
    #expect(try bench.database.read { try SyncedEntity.all.count($0) } == 29)
    #expect(try bench.database.read { try RangeQueries.recentSessions($0, limit: 5).map(\.rifle) } == ["Tikka T3x"])
    #expect(try bench.value("SELECT title FROM projects", as: String.self) == "House")
    #expect(try bench.queue().filter { $0.hasSuffix(" Session 1") || $0.hasSuffix(" Project 1") }.count == 2)
    // A picture goes to the kind of record that refers to its owner.
    let file = bench.folder.path + "/target.bin"
    try Data((0..<3000).map { UInt8(truncatingIfNeeded: $0 * 31) }).write(to: URL(filePath: file))
    let vault = bench.vault
    let image = try vault.attach([file], to: try vault.entities.entity("GroupEntry"), recorded.group.uuid)[0]
    #expect(try bench.value("SELECT count(*) FROM OfflineGroupImage WHERE uuid = \(image)", as: Int.self) == 1)
    try bench.reopen()
    #expect(try bench.database.read { try Session.all.count($0) } == 1)
  }
}

extension RangeBench {
  /// As if the server had told of all records of these tables.
  fileprivate func settle(_ tables: String...) throws {
    try database.write { db in
      try WriteMode.sync(on: db) {
        for table in tables {
          let type = String(table.dropFirst("Offline".count))
          try db.execute("DELETE FROM OfflineSyncQueue WHERE entityType = \(type)")
          try db.execute("UPDATE \(identifier: table) SET isDirty = 0, syncStatus = 'synced', syncVersion = 1")
        }
      }
    }
  }
}
