import CipherSQL
import Foundation
import VaultStore
import Testing

@testable import RestorationModel

/// The constraints of the tables and the results of the named queries.
@Suite struct SchemaTests {
  private let database: Database

  init() throws {
    database = try Database.inMemory()
    try Migrator(schemas: [CoreSchema.schema, RestorationSchema.schema]).apply(to: database)
  }

  @Test("Each synced table is STRICT and has the common fields with defaults")
  func everyEntityHasTheCommonFieldsWithDefaults() throws {
    let common = [
      "serverId", "uuid", "createdAt", "updatedAt", "lastSyncedAt", "syncStatus", "syncVersion", "isDirty", "isDeleted",
    ]
    let catalog = try database.read { try Catalog.read(from: $0) }
    let tables = try database.read { try SyncedEntity.all.fetch($0) }
    #expect(tables.count == 16)
    for entity in tables {
      let table = try #require(catalog.table(entity.tableName))
      #expect(table.isStrict)
      for name in common {
        let column = try #require(table.column(name), "\(table.name).\(name)")
        #expect(!column.isNotNull || column.defaultSQL != nil, "\(table.name).\(name)")
      }
      #expect(table.columns.first?.isRowID == true)
      #expect(table.column("uuid")?.type == .uuid)
      #expect(table.column("isDeleted")?.type == .bool)
    }
  }

  @Test("Each foreign key has an index") func everyReferenceIsIndexed() throws {
    let catalog = try database.read { try Catalog.read(from: $0) }
    for table in catalog.tables where table.kind == .table {
      let leading = try database.read { db in
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

  @Test("UUIDs that the database generates are unique, ascending and of version 7") func uuidsOfTheDatabaseAreVersion7()
    throws
  {
    let uuids = try database.write { db in
      for number in 0..<500 { _ = try db.execute("INSERT INTO OfflineCompany (name) VALUES (\("c\(number)"))") }
      return try Company.all.order { $0.companyId.ascending }.fetch(db).map(\.uuid.sqlText)
    }
    #expect(Set(uuids).count == 500)
    for text in uuids {
      #expect(Array(text)[14] == "7")
      #expect("89ab".contains(Array(text)[19]))
    }
    let times = uuids.map { $0.prefix(13) }
    #expect(times == times.sorted())
  }

  @Test(
    "The schema refuses an invalid UUID",
    arguments: [
      "ffffffff-ffff-ffff-ffff-fffffffffff", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
      "gggggggg-ffff-ffff-ffff-ffffffffffff", "fffffff--ffff-ffff-ffff-ffffffffffff", "", "x",
    ])
  func whatIsNoUUIDIsRefused(_ text: String) throws {
    #expect(throws: SQLError.self) {
      try database.write { _ = try $0.execute("INSERT INTO OfflineCompany (name, uuid) VALUES ('c', \(text))") }
    }
  }

  @Test("The named queries return the inserted readings, materials and equipment") func namedQueries() throws {
    let start = Date(timeIntervalSince1970: 1_357_020_000)
    try database.write { db in
      let project = try db.insert(Project(title: "House"))
      let room = try db.insert(Room(projectId: project.projectId, title: "attic"))
      let wood = try db.insert(Material(name: "oak", dryStandard: 12))
      for hour in 0..<48 {
        try db.insert(
          AtmosphericLog(
            projectId: project.projectId, roomId: room.roomId, date: start.addingTimeInterval(Double(hour) * 3600),
            relativeHumidity: Double(hour), temperature: 60))
      }
      try db.insert(
        MoistureLog(
          projectId: project.projectId, roomId: room.roomId, materialId: wood.materialId, date: start,
          moistureContent: 30))
      try db.insert(
        Equipment(
          projectId: project.projectId, type: .dehumidifier, startDate: start, endDate: start.addingTimeInterval(86_400)
        ))
    }
    try database.read { db in
      #expect(
        try RestorationQueries.readingsBetween(db, projectId: 1, from: start, until: start.addingTimeInterval(7200))
          .count == 2)
      #expect(try RestorationQueries.latestReadingByRoom(db, projectId: 1).map(\.relativeHumidity) == [47])
      #expect(try RestorationQueries.mostHumid(db, projectId: 1, limit: 2).map(\.relativeHumidity) == [47, 46])
      let months = try RestorationQueries.averageHumidityByRoomAndMonth(db, projectId: 1)
      #expect(months.map(\.month) == ["2013-01"])
      #expect(months.map(\.averageHumidity) == [23.5])
      #expect(try RestorationQueries.wettestMaterials(db, projectId: 1).map(\.material) == ["oak"])
      #expect(try RestorationQueries.equipmentInUse(db, projectId: 1, moment: start.addingTimeInterval(60)).count == 1)
      #expect(try RestorationQueries.equipmentInUse(db, projectId: 1, moment: start.addingTimeInterval(90_000)).isEmpty)
    }
  }

  @Test("A second outlet of one inlet is refused") func anInletHasOneOutlet() throws {
    #expect(throws: SQLError.self) {
      try database.write { db in
        try db.insert(Project(title: "House"))
        func log(_ inlet: Int64?) -> AtmosphericLog {
          AtmosphericLog(
            projectId: 1, date: .nowInMilliseconds(), relativeHumidity: 50, temperature: 70, isInlet: inlet == nil,
            inletId: inlet)
        }
        let inlet = try db.insert(log(nil))
        try db.insert(log(inlet.logId))
        try db.insert(log(inlet.logId))
      }
    }
  }
}
