import CipherSQL
import Foundation
import RestorationModel
import StoreSupport
import SyncModel
import TestSupport
import Testing

@testable import Outbox
@testable import VaultStore

/// The operations that the triggers queue for writes in plain SQL.
@Suite struct OutboxTests {
  private let database: Database
  private let entities: Entities

  init() throws {
    (database, entities) = try restorationDatabase()
    try database.write { db in
      let project = try db.insert(Project(title: "House"))
      let location = try db.insert(Location(projectId: project.projectId, title: "ground floor"))
      let room = try db.insert(Room(projectId: project.projectId, locationId: location.locationId, title: "Kitchen"))
      for degrees in [70.1, 71.25] {
        try db.insert(
          AtmosphericLog(
            projectId: project.projectId, roomId: room.roomId, date: .nowInMilliseconds(), relativeHumidity: 50,
            temperature: degrees))
      }
    }
  }

  /// `operationType entityType entityId status` of the unfinished operations, in order.
  private func queue() throws -> [String] {
    try database.read { db in
      try db.fetch(
        """
        SELECT operationType || ' ' || entityType || ' ' || entityId || CASE status WHEN 'pending' THEN '' ELSE ' ' || status END
        FROM OfflineSyncQueue WHERE completedAt IS NULL ORDER BY queueNumber
        """, as: String.self)
    }
  }

  private func run(_ sql: SQL) throws { try database.write { _ = try $0.execute(sql) } }

  private func value<Value: SQLValue>(_ sql: SQL, as type: Value.Type = Value.self) throws -> Value? {
    try database.read { try $0.fetchOne(sql, as: type) }
  }

  private func synchronise() throws {
    try database.write { db in
      for type in ["Project", "Location", "Room", "AtmosphericLog"] { try markAsSynced(type, in: db, entities) }
    }
  }

  private func freeze(_ type: String) throws {
    try run("UPDATE OfflineSyncQueue SET payload = '{}', status = 'processing' WHERE entityType = \(type)")
  }

  /// As sync does for the rooms.
  private func setStatus(_ status: String) throws {
    try database.write { db in
      try WriteMode.sync(on: db) { _ = try db.execute("UPDATE OfflineRoom SET syncStatus = \(status)") }
    }
  }

  /// Operations have names of version 7, each its own, and times as strftime writes them.
  @Test("Operations have unique version 7 ids and valid times") func operationsHaveNamesAndTimes() throws {
    try run(
      """
      INSERT INTO OfflineRoom (projectId, title)
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT 1, 'room ' || i FROM n
      """)
    #expect(try value("SELECT count(DISTINCT operationId) FROM OfflineSyncQueue", as: Int.self) == 2005)
    #expect(
      try value(
        """
        SELECT count(*) FROM OfflineSyncQueue
        WHERE operationId GLOB '????????-????-7???-[89ab]???-????????????' AND length(unhex(operationId, '-')) IS 16
          AND operationId = lower(operationId) AND createdAt IS strftime('%Y-%m-%dT%H:%M:%fZ', createdAt)
          AND substr(operationId, 1, 8) BETWEEN printf('%08x', (unixepoch() - 60) * 1000 / 65536)
            AND printf('%08x', (unixepoch() + 60) * 1000 / 65536)
        """, as: Int.self) == 2005)
    // No random digit stays the same.
    for place in [16, 17, 18, 21, 22, 23] + Array(25...36) {
      #expect(
        try value("SELECT count(DISTINCT substr(operationId, \(place), 1)) FROM OfflineSyncQueue", as: Int.self) == 16)
    }
  }

  @Test("Created records are queued in order of creation") func whatIsMadeIsQueuedInTheOrderInWhichItWasMade() throws {
    #expect(
      try queue() == [
        "create Project 1", "create Location 1", "create Room 1", "create AtmosphericLog 1", "create AtmosphericLog 2",
      ])
    #expect(try value("SELECT priority FROM OfflineSyncQueue WHERE entityType = 'AtmosphericLog'", as: Int.self) == 2)
    #expect(try value("SELECT count(DISTINCT operationId) FROM OfflineSyncQueue", as: Int.self) == 5)
  }

  @Test("Edits of an unsent record coalesce into its create") func aCreateThatIsChangedIsStillOneCreate() throws {
    try run("UPDATE OfflineRoom SET title = 'Attic'")
    try run("UPDATE OfflineRoom SET title = 'Cellar'")
    #expect(try queue().filter { $0.contains("Room") } == ["create Room 1"])
    #expect(try value("SELECT count(*) FROM SyncBase", as: Int.self) == 0)
  }

  @Test("An edit of a synced record is an update with its base") func anEditOfASyncedRecordIsAnUpdateWithItsBase()
    throws
  {
    try synchronise()
    try run("UPDATE OfflineAtmosphericLog SET temperature = 80, isExternal = 1 WHERE logId = 2")
    try run("UPDATE OfflineAtmosphericLog SET temperature = 81 WHERE logId = 2")
    #expect(try queue() == ["update AtmosphericLog 2"])
    let base = try SyncValue(parsing: try #require(try value("SELECT fields FROM SyncBase", as: String.self)))
    let table = try #require(RecordTable(try entities.entity("AtmosphericLog"), in: entities))
    let record = try #require(try database.read { try table.find(key: 2, in: $0) })
    guard case .object(var expected) = SyncValue.object(record.state.fields) else { return }
    expected["temperature"] = SyncValue(real: 71.25)
    expected["isExternal"] = false
    #expect(base == .object(expected))
    #expect(expected["roomId"] != nil && expected["photoLocalPath"] == nil)
  }

  @Test("A record that is edited back to its base leaves the outbox") func aRecordThatIsChangedBackLeavesTheQueue()
    throws
  {
    try synchronise()
    let before: String? = try value("SELECT updatedAt FROM OfflineRoom")
    try run("UPDATE OfflineRoom SET title = 'Attic', squareFootage = 0.1")
    try run("UPDATE OfflineRoom SET squareFootage = 0.0")
    #expect(try queue() == ["update Room 1"])
    try run("UPDATE OfflineRoom SET title = 'Kitchen'")
    #expect(try queue().isEmpty)
    #expect(try value("SELECT isDirty FROM OfflineRoom", as: Bool.self) == false)
    #expect(try value("SELECT syncStatus FROM OfflineRoom", as: String.self) == "synced")
    #expect(try value("SELECT updatedAt FROM OfflineRoom", as: String.self) == before)
    #expect(try value("SELECT count(*) FROM SyncBase", as: Int.self) == 0)
  }

  @Test("Writing equal values is no change") func writingTheSameValueIsNoChange() throws {
    try synchronise()
    try run("UPDATE OfflineRoom SET title = title, updatedAt = updatedAt")
    #expect(try queue().isEmpty)
  }

  @Test("Deleting an unsent record removes its operations") func whatWasNeverSentNeedsNoDeletion() throws {
    try run("DELETE FROM OfflineRoom")
    #expect(try queue() == ["create Project 1", "create Location 1"])
    #expect(try value("SELECT sum(isDirty) FROM OfflineAtmosphericLog", as: Int.self) == 0)
    #expect(try value("SELECT sum(isDeleted) FROM OfflineAtmosphericLog", as: Int.self) == 2)
  }

  @Test("Deleting a parent queues one deletion for its unchanged dependents") func theServerIsToldTheOneDeletion()
    throws
  {
    try synchronise()
    try run("UPDATE OfflineAtmosphericLog SET temperature = 80 WHERE logId = 2")
    try run("DELETE FROM OfflineProject")
    // The reading with an edit of its own says so itself, because its edit waited already.
    #expect(try queue() == ["delete AtmosphericLog 2", "delete Project 1"])
    #expect(try value("SELECT count(*) FROM SyncCascade WHERE rootType = 'Project'", as: Int.self) == 4)
    #expect(try value("SELECT count(*) FROM SyncCascade WHERE isUnderWay = 1", as: Int.self) == 0)
  }

  @Test("Restoring a parent restores the dependents of that deletion") func whatADeletionTookComesBackWithIt() throws {
    try synchronise()
    try run("UPDATE OfflineAtmosphericLog SET temperature = 80 WHERE logId = 2")
    try database.write { db in
      try db.insert(Room(projectId: 1, title: "Unsent"))
      try db.execute("DELETE FROM OfflineAtmosphericLog WHERE logId = 1")
    }
    try run("DELETE FROM OfflineProject")
    #expect(try queue() == ["delete AtmosphericLog 2", "delete AtmosphericLog 1", "delete Project 1"])
    try run("UPDATE OfflineProject SET isDeleted = 0")
    // The reading that had been deleted before stays so.
    #expect(try queue() == ["update AtmosphericLog 2", "delete AtmosphericLog 1", "create Room 2"])
    #expect(try value("SELECT count(*) FROM OfflineRoom WHERE isDeleted = 0", as: Int.self) == 2)
    #expect(try value("SELECT isDeleted FROM OfflineAtmosphericLog WHERE logId = 1", as: Bool.self) == true)
    #expect(try value("SELECT count(*) FROM SyncCascade", as: Int.self) == 0)
    #expect(try value("SELECT isDirty FROM OfflineProject", as: Bool.self) == false)
  }

  @Test("Edits of a record in flight form the next operation") func editsQueueBehindWhatMayHaveBeenSent() throws {
    try freeze("Room")
    try run("UPDATE OfflineRoom SET title = 'Attic'")
    try run("UPDATE OfflineRoom SET title = 'Cellar'")
    #expect(try queue().filter { $0.contains("Room") } == ["create Room 1 processing", "update Room 1"])
    try run("DELETE FROM OfflineRoom")
    #expect(
      try queue() == [
        "create Project 1", "create Location 1", "create Room 1 processing", "delete Room 1",
      ])
  }

  @Test("Editing a failed record queues its operation again under the same id") func editingAFailedRecordQueuesItAgain()
    throws
  {
    try run(
      "UPDATE OfflineSyncQueue SET status = 'failed', errorStatus = 422, retryCount = 1 WHERE entityType = 'Room'")
    let id: String? = try value("SELECT operationId FROM OfflineSyncQueue WHERE entityType = 'Room'")
    try run("UPDATE OfflineRoom SET title = 'Attic'")
    #expect(try queue().filter { $0.contains("Room") } == ["create Room 1"])
    // The server's response belongs to the old payload's key, so the operation keeps its id.
    #expect(try value("SELECT operationId FROM OfflineSyncQueue WHERE entityType = 'Room'", as: String.self) == id)
  }

  @Test("Writing an unchanged record back queues no operation")
  func aProgramThatWritesAWholeRecordBackChangesNothingOfSync() throws {
    var stale = try #require(try database.read { try $0.find(Room.self, 1) })
    try database.write { db in
      try markAsSynced("Room", in: db, entities)
      try WriteMode.sync(on: db) { _ = try db.execute("UPDATE OfflineRoom SET serverId = 17") }
    }
    stale.title = "Attic"
    try database.write { [stale] db in try db.update(stale) }
    let room = try #require(try database.read { try $0.find(Room.self, 1) })
    #expect(room.serverId == 17 && room.syncVersion == 1 && room.isDirty && room.title == "Attic")
    #expect(try queue().contains("update Room 1"))
    stale.title = "Kitchen"
    stale.isDirty = true
    try database.write { [stale] db in try db.update(stale) }
    #expect(try value("SELECT isDirty FROM OfflineRoom", as: Bool.self) == false)
  }

  /// Nor does it queue anything when it edits nothing, or twice when it does.
  @Test("Writing a whole record back queues only the edited fields")
  func aWholeRecordThatIsWrittenBackIsQueuedForWhatIsEdited() throws {
    try synchronise()
    try run("UPDATE OfflineRoom SET title = 'Attic'")
    try freeze("Room")
    try setStatus("syncing")
    var room = try #require(try database.read { try $0.find(Room.self, 1) })
    try database.write { [room] db in try db.update(room) }
    #expect(try queue() == ["update Room 1 processing"])
    room.title = "Cellar"
    try database.write { [room] db in try db.update(room) }
    try database.write { [room] db in try db.update(room) }
    #expect(try queue() == ["update Room 1 processing", "update Room 1"])
    try run("UPDATE OfflineSyncQueue SET status = 'failed', retryCount = 1 WHERE payload IS NULL")
    try setStatus("failed")
    room = try #require(try database.read { try $0.find(Room.self, 1) })
    try database.write { [room] db in try db.update(room) }
    #expect(try queue() == ["update Room 1 processing", "update Room 1 failed"])
    try run("DELETE FROM OfflineSyncQueue WHERE payload IS NOT NULL")
    room.title = "Kitchen"
    try database.write { [room] db in try db.update(room) }
    #expect(try queue() == [])
    #expect(try value("SELECT isDirty FROM OfflineRoom", as: Bool.self) == false)
  }

  @Test("Sync columns cannot be changed by SQL") func aRecordCannotBeMadeCleanByHand() throws {
    try run("UPDATE OfflineRoom SET isDirty = 0, syncStatus = 'synced', serverId = 5")
    #expect(try value("SELECT isDirty FROM OfflineRoom", as: Bool.self) == true)
    #expect(try value("SELECT syncStatus FROM OfflineRoom", as: String.self) == "pending")
    #expect(try value("SELECT serverId FROM OfflineRoom", as: Optional<Int64>.self) == .some(nil))
    #expect(throws: SQLError.self) { try run("UPDATE OfflineRoom SET roomId = 9") }
  }

  @Test("A move to another parent remembers the old parent until the move is undone") func aMoveRemembersTheOldParent()
    throws
  {
    try database.write { _ = try $0.insert(Location(projectId: 1, title: "first floor")) }
    try synchronise()
    try run("UPDATE OfflineRoom SET locationId = 2")
    #expect(try value("SELECT parentType || parentId FROM SyncMoved", as: String.self) == "Location1")
    try run("UPDATE OfflineRoom SET locationId = 1")
    #expect(try queue().isEmpty)
    #expect(try value("SELECT count(*) FROM SyncMoved", as: Int.self) == 0)
  }

  @Test("Rows that a migration inserts are queued") func whatAMigrationWroteIsQueued() throws {
    try database.write { db in
      try DerivedTriggers.drop(in: db)
      try db.execute("INSERT INTO OfflineRoom (projectId, title) VALUES (1, 'made by a migration')")
      try VaultTriggers.create(in: db)
    }
    #expect(try queue().last == "create Room 2")
    #expect(try queue().count == 6)
  }

  /// For any sequence of a user's writes: a record is dirty if and only if it has an operation, and at most one is
  /// pending.
  @Test(
    "After random writes a record is dirty if and only if it has an operation",
    arguments: [1, 7, 20_261_121, UInt64.random(in: 1...UInt64.max)])
  func aRecordIsDirtyExactlyWhenItHasAnOperation(seed: UInt64) throws {
    var random = Seeded(seed)
    let tables = [("OfflineProject", "projectId"), ("OfflineLocation", "locationId"), ("OfflineRoom", "roomId")]
    for step in 0..<120 {
      let (table, key) = tables.randomElement(using: &random) ?? tables[0]
      let id = Int.random(in: 1...3, using: &random)
      let sql: SQL =
        switch Int.random(in: 0..<11, using: &random) {
        case 0:
          "INSERT INTO OfflineRoom (projectId, locationId, title) SELECT projectId, locationId, 'x' FROM OfflineLocation LIMIT 1"
        case 1: "DELETE FROM \(identifier: table) WHERE \(identifier: key) = \(id)"
        case 2: "UPDATE \(identifier: table) SET isDeleted = 0 WHERE \(identifier: key) = \(id)"
        case 3:
          "UPDATE OfflineSyncQueue SET payload = '{}', status = 'processing' WHERE status = 'pending' AND entityId = \(id)"
        case 4: "UPDATE OfflineSyncQueue SET status = 'failed' WHERE status <> 'completed' AND entityId = \(id)"
        case 5: "UPDATE OfflineRoom SET isDirty = \(step % 2), syncVersion = 9 WHERE roomId = \(id)"
        case 6, 7:
          """
          UPDATE \(identifier: table) SET isDirty = \(Int.random(in: 0...1, using: &random)), createdAt = createdAt,
            syncStatus = \(["pending", "synced", "failed"].randomElement(using: &random) ?? ""), lastSyncedAt = lastSyncedAt,
            title = CASE \(step % 3) WHEN 0 THEN title WHEN 1 THEN 'a' ELSE 'b' END
          WHERE \(identifier: key) = \(id)
          """
        default: "UPDATE \(identifier: table) SET title = \(["a", "b"][step % 2]) WHERE \(identifier: key) = \(id)"
        }
      if step == 40 || step == 80 { try synchronise() }
      let title: SQL = """
        SELECT title FROM \(identifier: table) WHERE \(identifier: key) = \(id) AND isDeleted = 0
        """
      let before: String? = try value(title)
      try run(sql)
      if let before, let after: String = try value(title), after != before {
        let lacks = try value(
          """
          SELECT count(*) > 0 AND count(*) = count(payload) FROM OfflineSyncQueue
          WHERE entityType = \(String(table.dropFirst(7))) AND entityId = \(id) AND completedAt IS NULL
          """, as: Bool.self)
        #expect(lacks == false, "an edit behind what is sent is not queued: seed \(seed), step \(step), \(sql.text)")
      }
      for (table, key) in tables {
        let type = String(table.dropFirst(7))
        let wrong = try value(
          """
          SELECT count(*) FROM \(identifier: table) AS record WHERE isDirty <> EXISTS (SELECT 1 FROM OfflineSyncQueue
            WHERE entityType = \(type) AND entityId = record.\(identifier: key) AND completedAt IS NULL)
          """, as: Int.self)
        #expect(wrong == 0, "seed \(seed), step \(step), \(sql.text)")
      }
      #expect(try value("SELECT count(*) FROM SyncCascade WHERE isUnderWay = 1", as: Int.self) == 0)
    }
  }
}
