import CipherSQL
import Foundation
import SyncModel
import TestSupport
import Testing

@testable import VaultStore
@testable import SyncEngine

/// Effects of a deletion on one device: on the records that reference the deleted record, and on its UNIQUE values.
@Suite struct DeletionTests {
  private let server: LocalServer
  let one: Device
  let two: Device

  init() async throws {
    server = try LocalServer(schemas: [Storeroom.schema])
    one = try await Device("ada", at: server, schema: Storeroom.schema)
    two = try await Device("ben", at: server, schema: Storeroom.schema)
    try await one.write { db in
      for number in 1...3 {
        _ = try db.execute(
          "INSERT INTO OfflineShelf (uuid, code) VALUES (\(Storeroom.uuid(1, number)), \("s\(number)"))")
      }
      for number in 1...3 {
        _ = try db.execute(
          """
          INSERT INTO OfflineThing (uuid, code, row, place, shelfId, shelfCode)
          VALUES (\(Storeroom.uuid(2, number)), \("t\(number)"), 1, \(number), \(number), \("s\(number)"))
          """)
        _ = try db.execute(
          "INSERT INTO OfflineSeat (uuid, number) VALUES (\(Storeroom.uuid(3, number)), \(number))")
      }
    }
    try await one.sync()
    try await two.sync()
  }

  func expectAgreement(_ note: Comment? = nil, _ place: SourceLocation = #_sourceLocation) async throws {
    try await Device.expectAgreement(one, two, note, place)
  }

  // MARK: References

  @Test("A sealed reference to a record that was deleted before it could be sent causes no conflict")
  func sealedReferenceToWhatNeverWas() async throws {
    try await one.write { db in
      _ = try db.execute("INSERT INTO OfflineShelf (uuid, code) VALUES (\(Storeroom.uuid(1, 9)), 's9')")
      _ = try db.execute("UPDATE OfflineThing SET shelfId = 4, shelfCode = 's9', title = 'lamp' WHERE thingId = 1")
    }
    let batch = try await one.vault.sync { try $0.nextBatch(limit: 25).operations }
    #expect(batch.map(\.kind) == [.create, .update])
    // The server stores neither operation.
    try await one.vault.sync { transaction in
      var counts = PushCounts()
      try transaction.acknowledge(
        .rejected(ServerProblem(title: "", status: 422, detail: "no")), of: batch[0], jitter: 0, counts: &counts)
      try transaction.release([batch[1].operationId])
    }
    try await one.write { db in _ = try db.execute("DELETE FROM OfflineShelf WHERE shelfId = 4") }
    #expect(try await one.sync().conflicts == 0)
    try await expectAgreement()
    #expect(try await two.values("SELECT title FROM OfflineThing WHERE shelfId IS NULL") == ["lamp"])
  }

  @Test("A sealed reference that waits for a retry is sent before the deletion of its target")
  func delayedReference() async throws {
    try await one.write { db in
      _ = try db.execute("UPDATE OfflineThing SET shelfId = 2, partOf = 2, title = 'lamp' WHERE thingId = 1")
    }
    let batch = try await one.vault.sync { try $0.nextBatch(limit: 25).operations }
    try await one.vault.sync { transaction in
      var counts = PushCounts()
      try transaction.acknowledge(
        .rejected(ServerProblem(title: "", status: 500, detail: "no")), of: batch[0], jitter: 0, counts: &counts)
    }
    try await one.write { db in
      _ = try db.execute("DELETE FROM OfflineShelf WHERE shelfId = 2")
      _ = try db.execute("DELETE FROM OfflineThing WHERE thingId = 2")
    }
    #expect(try await one.sync().conflicts == 0)
    try await one.write { db in
      _ = try db.execute(
        "UPDATE OfflineSyncQueue SET scheduledAt = '2020-01-01T00:00:00.000Z' WHERE scheduledAt IS NOT NULL")
    }
    #expect(try await one.sync().conflicts == 0)
    try await expectAgreement()
    #expect(try await two.values("SELECT title FROM OfflineThing WHERE shelfId IS NULL AND partOf IS NULL") == ["lamp"])
  }

  @Test(
    "A deletion that empties references causes no conflict, whichever requests fail or responses are lost",
    arguments: (1...20).map { UInt64($0) } + [UInt64.random(in: 1000...UInt64.max)])
  func randomDeletions(seed: UInt64) async throws {
    var random = Seeded(seed)
    let faulty = FaultyRemote(await one.worker.remote)
    let worker = SyncWorker(
      vault: one.vault, remote: faulty, monitor: NetworkMonitor(fixed: .online))
    var next = 10
    var log: [String] = []
    for _ in 0..<25 {
      let number = Int.random(in: 1...5, using: &random)
      let other = Int.random(in: 1...5, using: &random)
      next += 1
      let uuid = { Storeroom.uuid($0, next) }
      let statement: String
      switch Int.random(in: 0..<12, using: &random) {
      case 0: statement = "INSERT INTO OfflineShelf (uuid, code) VALUES ('\(uuid(1))', 's\(next)')"
      case 1:
        statement =
          "INSERT INTO OfflineThing (uuid, code, shelfId) SELECT '\(uuid(2))', 't\(next)', max(shelfId) FROM OfflineShelf WHERE isDeleted = 0"
      case 2:
        statement =
          "INSERT INTO OfflineLabel (uuid, thingId, shelfId) SELECT '\(uuid(4))', max(thingId), NULL FROM OfflineThing WHERE isDeleted = 0 HAVING max(thingId) IS NOT NULL"
      case 3, 4:
        statement =
          "UPDATE OfflineThing SET shelfId = (SELECT shelfId FROM OfflineShelf WHERE shelfId = \(other) AND isDeleted = 0), title = 'x\(next)' WHERE thingId = \(number) AND isDeleted = 0"
      case 5:
        statement =
          "UPDATE OfflineThing SET shelfCode = (SELECT code FROM OfflineShelf WHERE shelfId = \(other) AND isDeleted = 0) WHERE thingId = \(number) AND isDeleted = 0"
      case 6, 7:
        statement =
          "UPDATE OfflineThing SET partOf = (SELECT thingId FROM OfflineThing WHERE thingId = \(other) AND isDeleted = 0) WHERE thingId = \(number) AND isDeleted = 0"
      case 8: statement = "DELETE FROM OfflineShelf WHERE shelfId = \(number)"
      case 9: statement = "DELETE FROM OfflineThing WHERE thingId = \(number)"
      default:
        faulty.plan(Int.random(in: 0..<5, using: &random))
        let report = try await worker.sync(RoundRequest())
        log.append("sync \(report.outcome) \(faulty.fault)")
        #expect(report.conflicts == 0, "seed \(seed): \(log.joined(separator: "\n"))")
        try await one.write { db in
          _ = try db.execute(
            "UPDATE OfflineSyncQueue SET scheduledAt = '2020-01-01T00:00:00.000Z' WHERE scheduledAt IS NOT NULL")
        }
        continue
      }
      log.append(statement)
      try await one.write { db in _ = try db.execute(SQL(raw: statement)) }
    }
    faulty.plan(0)
    try one.retryAll()
    for _ in 0..<3 {
      try await one.write { db in
        _ = try db.execute(
          "UPDATE OfflineSyncQueue SET scheduledAt = '2020-01-01T00:00:00.000Z' WHERE scheduledAt IS NOT NULL")
      }
      #expect(try await one.sync().conflicts == 0, "seed \(seed): \(log.joined(separator: "\n"))")
    }
    let conflicts = try await one.values("SELECT entityType || conflictType || fields FROM OfflineConflictResolution")
    #expect(conflicts == [], "seed \(seed): \(log.joined(separator: "\n"))")
    try await expectAgreement("seed \(seed)")
  }

  // MARK: UNIQUE values

  @Test("The UNIQUE value of a deleted record can be reused by the same device in a later sync")
  func valueInTwoSyncs() async throws {
    try await one.write { db in _ = try db.execute("DELETE FROM OfflineThing WHERE code = 't1'") }
    try await one.sync()
    try await one.write { db in
      _ = try db.execute("UPDATE OfflineThing SET code = 't1', place = 1 WHERE thingId = 2")
    }
    #expect(try await one.sync().conflicts == 0)
    try await expectAgreement()
    #expect(try await two.values("SELECT uuid FROM OfflineThing WHERE code = 't1'") == [Storeroom.uuid(2, 2)])
  }

  @Test("The UNIQUE value of a deleted record can be reused by another device that has pulled the deletion")
  func valueOnAnotherDevice() async throws {
    try await one.write { db in _ = try db.execute("DELETE FROM OfflineThing WHERE code = 't1'") }
    try await one.sync()
    try await two.sync()
    try await two.write { db in
      _ = try db.execute(
        "INSERT INTO OfflineThing (uuid, code, row, place) VALUES (\(Storeroom.uuid(2, 9)), 't1', 1, 1)")
    }
    #expect(try await two.sync().conflicts == 0)
    try await expectAgreement()
    #expect(try await one.values("SELECT uuid FROM OfflineThing WHERE code = 't1'") == [Storeroom.uuid(2, 9)])
  }

  @Test(
    "A UNIQUE value that a record releases before its deletion moves to another record in one sync",
    arguments: [false, true])
  func valueInOneSync(isDeletedFirst: Bool) async throws {
    try await one.write { db in
      _ = try db.execute("UPDATE OfflineThing SET code = 'gone', place = NULL WHERE thingId = 1")
      if isDeletedFirst { _ = try db.execute("DELETE FROM OfflineThing WHERE thingId = 1") }
      _ = try db.execute("UPDATE OfflineThing SET code = 't1', place = 1 WHERE thingId = 2")
      if !isDeletedFirst { _ = try db.execute("DELETE FROM OfflineThing WHERE thingId = 1") }
    }
    #expect(try await one.sync().conflicts == 0)
    try await expectAgreement()
  }

  @Test("A value that is unique among live records moves to another record in the same sync")
  func valueOfAPartialIndex() async throws {
    try await one.write { db in
      _ = try db.execute("DELETE FROM OfflineSeat WHERE number = 1")
      _ = try db.execute("UPDATE OfflineSeat SET number = 1 WHERE number = 3")
      _ = try db.execute("INSERT INTO OfflineSeat (uuid, number) VALUES (\(Storeroom.uuid(3, 9)), 3)")
    }
    #expect(try await one.sync().conflicts == 0)
    try await expectAgreement()
  }

  @Test("Restoring a record whose UNIQUE value is taken creates a conflict that names the other record")
  func restoredWithoutItsValue() async throws {
    try await one.write { db in _ = try db.execute("DELETE FROM OfflineThing WHERE code = 't1'") }
    try await one.syncKeepingDeleted()
    try await two.sync()
    try await two.write { db in
      _ = try db.execute("UPDATE OfflineThing SET code = 't1' WHERE thingId = 2")
    }
    #expect(try await two.sync().conflicts == 0)
    try await one.write { db in _ = try db.execute("UPDATE OfflineThing SET isDeleted = 0 WHERE thingId = 1") }
    let report = try await one.sync(RoundRequest(pulls: false))
    #expect(report.conflicts == 1)
    let conflict = try #require(try one.conflicts().first)
    #expect(conflict.conflictType == "not_unique" && conflict.fields == ["code"])
    #expect(conflict.other == RecordReference(entityType: "Thing", entityUuid: Storeroom.uuid(2, 2)))
  }

  // MARK: Restoration

  @Test(
    "A record restored on another device returns with exactly the dependents its deletion cascaded to",
    arguments: [false, true])
  func restoredElsewhere(isReopened: Bool) async throws {
    try await one.write { db in
      for number in 1...3 {
        _ = try db.execute(
          "INSERT INTO OfflineLabel (uuid, thingId, text) VALUES (\(Storeroom.uuid(4, number)), 1, \("l\(number)"))")
      }
    }
    try await one.sync()
    try await two.sync()
    try await one.write { db in _ = try db.execute("DELETE FROM OfflineLabel WHERE labelId = 2") }
    try await one.sync()
    try await one.write { db in _ = try db.execute("DELETE FROM OfflineThing WHERE thingId = 1") }
    try await one.sync()
    try await two.pullKeepingDeleted()
    #expect(try await two.value("SELECT count(*) FROM OfflineLabel WHERE isDeleted = 1", as: Int.self) == 3)
    let restored = isReopened ? try Device(reopening: two, at: server) : two
    try await restored.write { db in _ = try db.execute("UPDATE OfflineThing SET isDeleted = 0 WHERE thingId = 1") }
    try await restored.sync()
    for device in [one, restored] {
      try await device.sync()
      #expect(
        try await device.values("SELECT text FROM OfflineLabel JOIN OfflineThing USING (thingId) ORDER BY labelId")
          == ["l1", "l3"])
    }
    try await expectAgreement()
  }

  // MARK: Blocked operations

  @Test("Operations blocked by resolved conflicts are sent in the next sync; the rest stay blocked")
  func dependentsOfResolvedConflicts() async throws {
    func shelves(_ first: Int) -> @Sendable (WriteConnection) throws -> Void {
      { db in
        for (index, code) in ["a", "b", "c", "d"].enumerated() {
          _ = try db.execute(
            "INSERT INTO OfflineShelf (uuid, code) VALUES (\(Storeroom.uuid(1, first + index)), \(code))")
        }
      }
    }
    try await two.write(shelves(20))
    try await two.sync()
    try await one.write(shelves(30))
    try await one.write { db in
      // The first thing references two shelves; each of the other things references one.
      for (index, code) in ["a", "b", "d"].enumerated() {
        _ = try db.execute(
          """
          INSERT INTO OfflineThing (uuid, code, shelfId, shelfCode) SELECT \(Storeroom.uuid(2, 30 + index)), \("new\(code)"),
            shelfId, CASE code WHEN 'a' THEN 'c' END FROM OfflineShelf WHERE code = \(code)
          """)
        _ = try db.execute(
          """
          INSERT INTO OfflineLabel (uuid, thingId) SELECT \(Storeroom.uuid(4, 30 + index)), thingId FROM OfflineThing
          WHERE uuid = \(Storeroom.uuid(2, 30 + index))
          """)
      }
    }
    #expect(try await one.sync().conflicts == 4)
    for conflict in try one.conflicts() where !conflict.localVersion.contains(#""code":"c""#) {
      try one.resolve(
        conflict.conflictId, takesLocal: true, choices: ["code": .value(conflict.conflictId)])
    }
    try await one.sync()
    #expect(
      try await one.values(
        "SELECT entityType || substr(entityUuid, -2) FROM OfflineSyncQueue WHERE completedAt IS NULL ORDER BY queueNumber"
      )
        == ["Shelf32", "Thing30", "Label30"])
    try one.resolve(try #require(try one.conflicts().first).conflictId, takesLocal: false)
    try await one.sync()
    #expect(try await one.values("SELECT entityType FROM OfflineSyncQueue WHERE completedAt IS NULL") == [])
    try await expectAgreement()
  }
}

extension Device {
  /// Pushes the pending operations without the end of the round, which would purge the rows of deleted records.
  fileprivate func syncKeepingDeleted() async throws {
    let vault = vault
    let request = try await vault.sync { transaction in
      PushRequest(
        deviceId: try transaction.deviceId(), deviceCounter: try transaction.nextDeviceCounter(), cursor: nil,
        operations: try transaction.nextBatch(limit: 25).operations)
    }
    let response = try await worker.remote.push(request)
    try await vault.sync { transaction in
      var counts = PushCounts()
      for (sent, result) in zip(request.operations, response.results) {
        try transaction.acknowledge(result.outcome, of: sent, jitter: 0, counts: &counts)
      }
    }
  }

  /// Applies the server's changes without the end of the round.
  fileprivate func pullKeepingDeleted() async throws {
    let cursor = try await vault.database.read { try SyncSettings.value(.cursor, in: $0) }
    let page = try await worker.remote.changes(cursor: cursor, limit: 500, projects: [])
    try await vault.sync { transaction in
      var counts = ApplyCounts()
      try transaction.changes.apply(page.changes, counts: &counts)
      try SyncSettings.set(.cursor, page.cursor, in: transaction.connection)
      try transaction.changes.endPull(counts: &counts)
    }
  }

  /// Opens the vault of a device a second time.
  fileprivate convenience init(reopening device: Device, at server: LocalServer) throws {
    try self.init(opening: device.folder, url: server.server.url, token: device.token, schema: Storeroom.schema)
  }

  fileprivate func retryAll() throws { _ = try vault.retryAll() }
}
