import CipherSQL
import Foundation
import VaultStore
import RangeModel
import Testing

/// A session that is recorded with no signal: what is queued, what is there after the app was closed, what goes along with
/// a deletion.
@Suite struct RecordingTests {
  private let bench: RangeBench
  private let recorded: RangeBench.Recorded

  init() throws {
    bench = try RangeBench()
    recorded = try bench.record()
  }

  @Test("Records are queued in the order of their creation")
  func everyRecordIsQueuedInTheOrderInWhichItWasMade() throws {
    try measure()
    #expect(
      try bench.queue() == [
        "create Session 1", "create DopeEntry 1", "create DopeEntry 2", "create ChronoSession 1",
        "create VelocityReading 1", "create VelocityReading 2", "create VelocityReading 3", "create VelocityReading 4",
        "create VelocityReading 5", "create GroupEntry 1", "create GroupMeasurement 1", "create HolePosition 1",
        "create HolePosition 2", "create HolePosition 3",
      ])
    #expect(
      try bench.value("SELECT priority FROM OfflineSyncQueue WHERE entityType = 'Session'", as: Int.self) == 1)
    // What the server owns is not sent again because a session points to it.
    #expect(try bench.value("SELECT count(*) FROM OfflineRifleSetup WHERE isDirty = 1", as: Int.self) == 0)
  }

  @Test("Edits before the first sync stay one create")
  func correctionsBeforeTheFirstSyncAreStillOneCreate() throws {
    let before = try bench.queue()
    try bench.run("UPDATE OfflineSession SET notes = 'calm' WHERE sessionId = 1")
    try bench.run("UPDATE OfflineSession SET temperature = 44 WHERE sessionId = 1")
    try bench.run("UPDATE OfflineVelocityReading SET isExcluded = 1 WHERE shotNumber = 2")
    #expect(try bench.queue() == before)
    #expect(try bench.value("SELECT count(*) FROM SyncBase", as: Int.self) == 0)
    // A shot that was recorded by mistake leaves nothing to send.
    try bench.run("DELETE FROM OfflineVelocityReading WHERE shotNumber = 5")
    #expect(try bench.queue() == before.filter { $0 != "create VelocityReading 5" })
  }

  @Test("An entry that is added to a session of the server is queued alone")
  func whatIsAddedToASessionOfTheServerIsQueuedAlone() throws {
    try bench.settleAll()
    #expect(try bench.queue().isEmpty)
    let hold = try bench.database.write { db in
      try db.insert(DopeEntry(sessionId: recorded.session.sessionId, distance: 800, elevationMil: 6.1))
    }
    #expect(try bench.queue() == ["create DopeEntry \(hold.dopeEntryId)"])
    try bench.run("UPDATE OfflineSession SET notes = 'later' WHERE sessionId = 1")
    try bench.run("UPDATE OfflineSession SET notes = 'still later' WHERE sessionId = 1")
    #expect(try bench.queue() == ["create DopeEntry \(hold.dopeEntryId)", "update Session 1"])
    #expect(try bench.value("SELECT count(*) FROM SyncBase", as: Int.self) == 1)
  }

  @Test("Recorded data and the outbox survive closing the app") func allOfItIsThereWhenTheAppWasClosed() throws {
    try measure()
    let before = try bench.queue()
    try bench.reopen()
    #expect(try bench.queue() == before)
    let (session, holds, readings) = try bench.database.read { db in
      (
        try #require(try Session.all.fetchFirst(db)), try DopeEntry.all.order { $0.distance.ascending }.fetch(db),
        try RangeQueries.velocityReadings(db, chronoSessionId: recorded.chrono.chronoSessionId)
      )
    }
    #expect(session.uuid == recorded.session.uuid)
    #expect(session.temperature == 41.5 && session.humidity == 62 && session.pressure == 29.92)
    #expect(session.windSpeed == 6 && session.windDirection == 270 && session.altitude == 350)
    #expect(session.notes == "gusty after noon" && session.rifleSetupId == bench.rifle.rifleSetupId)
    #expect(abs(session.sessionDate.timeIntervalSince(recorded.session.sessionDate)) < 0.001)
    #expect(holds.map(\.distance) == [300, 600] && holds.map(\.elevationMoa) == [4.25, 13.5])
    #expect(readings.map(\.shotNumber) == [1, 2, 3, 4, 5])
    #expect(readings.map(\.isExcluded) == [false, false, false, false, true])
    #expect(try bench.database.read { try HolePosition.all.count($0) } == 3)
  }

  /// A session that never left the device leaves nothing behind; one of the server is one deletion.
  @Test("Deleting a session deletes its dependents as one operation, and restoring it restores them")
  func aDeletedSessionTakesAlongAllThatHangsOnIt() throws {
    try measure()
    let file = bench.folder.path + "/target.bin"
    try Data((0..<3000).map { UInt8(truncatingIfNeeded: $0 * 31) }).write(to: URL(filePath: file))
    let vault = bench.vault
    _ = try vault.attach([file], to: try vault.entities.entity("GroupMeasurement"), try measurement().uuid)
    let tables = [
      "OfflineSession", "OfflineDopeEntry", "OfflineChronoSession", "OfflineVelocityReading", "OfflineGroupEntry",
      "OfflineGroupMeasurement", "OfflineHolePosition", "OfflineGroupImage",
    ]
    func living() throws -> [Int] {
      try tables.map {
        try bench.value("SELECT count(*) FROM \(identifier: $0) WHERE isDeleted = 0", as: Int.self) ?? -1
      }
    }
    #expect(try living() == [1, 2, 1, 5, 1, 1, 3, 1])
    try bench.settleAll()
    #expect(try vault.delete(try vault.entities.entity("Session"), [recorded.session.uuid]) == 15)
    #expect(try living() == [0, 0, 0, 0, 0, 0, 0, 0])
    #expect(try bench.queue() == ["delete Session 1"])
    // Brought back, all of it is there again.
    try bench.run("UPDATE OfflineSession SET isDeleted = 0")
    #expect(try living() == [1, 2, 1, 5, 1, 1, 3, 1])
    // The rifle and the place are no part of it.
    #expect(try bench.value("SELECT count(*) FROM OfflineRifleSetup WHERE isDeleted = 0", as: Int.self) == 1)
  }

  @Test("Deleting a session that was never sent empties the outbox") func aSessionThatNeverLeftLeavesNothing() throws {
    try bench.run("DELETE FROM OfflineSession")
    #expect(try bench.queue().isEmpty)
  }

  @Test("Ammunition and place can be deleted; a rifle stays while a session references it")
  func ammunitionAndPlaceMayGoAndTheRifleStaysWhileASessionPointsToIt() throws {
    try bench.database.write { db in
      try WriteMode.purge(on: db) {
        try db.execute("DELETE FROM OfflineSavedLocation")
        try db.execute("DELETE FROM OfflineAmmunition")
      }
    }
    #expect(try bench.value("SELECT count(*) FROM OfflineSession WHERE locationId IS NULL", as: Int.self) == 1)
    #expect(try bench.value("SELECT count(*) FROM OfflineChronoSession WHERE ammoLotId IS NULL", as: Int.self) == 1)
    #expect(try bench.value("SELECT count(*) FROM OfflineDopeEntry WHERE ammunitionId IS NULL", as: Int.self) == 2)
    #expect(throws: SQLError.self) {
      try bench.database.write { db in
        try WriteMode.purge(on: db) {
          try db.execute("DELETE FROM OfflineRifleSetup")
        }
      }
    }
    #expect(try bench.value("SELECT count(*) FROM OfflineRifleSetup", as: Int.self) == 1)
  }

  @Test("Pictures are attached to a group or to its measurement")
  func picturesAreAttachedToAGroupOrToItsMeasurement() throws {
    try measure()
    let vault = bench.vault
    let paths = try ["one", "two"].enumerated().map { index, name in
      let path = bench.folder.path + "/\(name).bin"
      try Data((0..<3000).map { UInt8(truncatingIfNeeded: $0 * 7 + index) }).write(to: URL(filePath: path))
      return path
    }
    let plain = try vault.attach([paths[0]], to: try vault.entities.entity("GroupEntry"), recorded.group.uuid)[0]
    let prepared = try vault.prepareAttachment(from: paths[1])
    let annotated = try bench.database.write { db in
      try prepared.attach(
        to: "GroupMeasurement", try measurement(db).uuid, fields: [("kind", .text("annotated"))], in: db)
    }
    let images = try bench.database.read { try GroupImage.all.order { $0.groupImageId.ascending }.fetch($0) }
    #expect(images.map(\.uuid) == [plain, annotated] && images.map(\.kind) == [.other, .annotated])
    #expect(images.allSatisfy { $0.groupEntryId == recorded.group.groupEntryId && $0.contentKey?.count == 32 })
    #expect(images.map(\.groupMeasurementId) == [nil, try measurement().groupMeasurementId])
    #expect(images.map(\.fileName) == ["one.bin", "two.bin"] && images.map(\.fileSize) == [3000, 3000])
    #expect(images.allSatisfy { $0.uploadStatus == .pending })
    let waiting = try bench.database.read { try UnsentWork.read($0) }
    #expect(waiting.images == 2 && waiting.imageBytes == 6000)
    // The measurement goes, the picture stays.
    try bench.database.write { _ = try GroupMeasurement.all.delete($0) }
    #expect(try bench.value("SELECT count(*) FROM OfflineGroupImage WHERE isDeleted = 0", as: Int.self) == 2)
  }

  private func measure() throws {
    try bench.database.write { db in
      try recorded.group.saveMeasurement(
        [TargetPoint(x: 0.1, y: 0.2), TargetPoint(x: -0.3, y: 0.4), TargetPoint(x: 0.2, y: -0.1)],
        bulletDiameter: 0.264, in: db)
    }
  }

  private func measurement() throws -> GroupMeasurement { try bench.database.read { try measurement($0) } }

  private func measurement(_ db: Connection) throws -> GroupMeasurement {
    try #require(try GroupMeasurement.all.fetchFirst(db))
  }
}
