import CipherSQL
import RestorationModel
import SyncModel
import Testing

@testable import OfflineStore
@testable import SyncEngine

/// Versions of the server that cannot be stored when they come.
@Suite struct KeptVersionTests {
  private let server: LocalServer
  private let one: Device
  private let two: Device

  init() async throws {
    server = try LocalServer()
    one = try await Device("ada", at: server)
    two = try await Device("ben", at: server)
    try await one.write { db in
      let project = try db.insert(Project(title: "House"))
      for _ in 0..<3 {
        try db.insert(
          AtmosphericLog(
            projectId: project.projectId, date: .nowInMilliseconds(), relativeHumidity: 50, temperature: 70))
      }
      try db.insert(Location(projectId: project.projectId, title: "ground"))
    }
    try await one.sync()
    try await two.sync()
  }

  /// An inlet has one outlet: the outlet that was chosen here and not sent collides with the one that another device
  /// chose.
  @Test func aVersionThatBreaksARuleHereIsKeptAndTheRestFlows() async throws {
    try await one.write { _ = try $0.execute("UPDATE OfflineAtmosphericLog SET inletId = 1 WHERE logId = 2") }
    try await one.sync()
    try await two.write { db in
      _ = try db.execute("UPDATE OfflineAtmosphericLog SET inletId = 1 WHERE logId = 3")
      _ = try db.execute("UPDATE OfflineAtmosphericLog SET temperature = 55 WHERE logId = 2")
    }
    let report = try await two.sync()
    #expect(report.conflicts == 1)
    let conflict = try #require(try two.conflicts().first)
    #expect(conflict.conflictType == "not_unique")
    // A version in the inbox is not reported again in each round.
    let again = try await two.sync()
    #expect(again.pulled == 0 && again.outcome == .done)
    try two.resolve(conflict.conflictId, takesLocal: false)
    for device in [two, one, two] { try await device.sync() }
    #expect(try await one.digests() == two.digests())
    #expect(
      try await one.value("SELECT temperature FROM OfflineAtmosphericLog WHERE inletId = 1", as: Double.self) == 55)
    #expect(try await two.values("SELECT reason FROM SyncInbox") == [])
  }

  /// A record that is deleted after a version of it was kept is not inserted from that version.
  @Test func aKeptVersionDoesNotOutliveItsRecord() async throws {
    try await one.write { _ = try $0.execute("UPDATE OfflineAtmosphericLog SET inletId = 1 WHERE logId = 2") }
    try await one.sync()
    try await two.write { _ = try $0.execute("UPDATE OfflineAtmosphericLog SET inletId = 1 WHERE logId = 3") }
    #expect(try await two.sync().conflicts == 1)
    #expect(try await two.values("SELECT reason FROM SyncInbox") == ["refused"])
    try await one.write { _ = try $0.execute("DELETE FROM OfflineAtmosphericLog WHERE logId = 2") }
    try await one.sync()
    try await two.sync()
    try two.resolve(try #require(try two.conflicts().first).conflictId, takesLocal: false)
    for _ in 0..<2 { try await two.sync() }
    #expect(try await one.digests() == two.digests())
    #expect(try await two.values("SELECT reason FROM SyncInbox") == [])
  }

  /// A record that another device deleted is not restored with a record that had cascaded to it here.
  @Test func whatIsGoneForAllDoesNotComeBackWithItsParent() async throws {
    try await one.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'Mill'") }
    try await one.sync()
    try await two.write { _ = try $0.execute("DELETE FROM OfflineProject") }
    #expect(try await two.sync().conflicts == 1)
    try await one.write { _ = try $0.execute("DELETE FROM OfflineLocation") }
    try await one.sync()
    try await two.sync()
    let conflict = try #require(try two.conflicts().first)
    try two.resolve(conflict.conflictId, takesLocal: false)
    for device in [two, one, two] { try await device.sync() }
    #expect(try await two.values("SELECT title FROM OfflineProject WHERE isDeleted = 0") == ["Mill"])
    #expect(try await two.values("SELECT title FROM OfflineLocation WHERE isDeleted = 0") == [])
    #expect(try await one.digests() == two.digests())
  }

  /// A record with a change of its own tells the server itself that it went with its parent.
  @Test func whatToldItsDeletionItselfDoesNotComeBackWithItsParent() async throws {
    try await one.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'Mill'") }
    try await one.sync()
    try await two.write { db in
      _ = try db.execute("UPDATE OfflineLocation SET title = 'cellar'")
      _ = try db.execute("DELETE FROM OfflineProject")
    }
    try await two.sync()
    let conflict = try #require(try two.conflicts().first { $0.entityType == "Project" })
    try two.resolve(conflict.conflictId, takesLocal: false)
    for device in [two, one, two] { try await device.sync() }
    #expect(try await one.digests() == two.digests())
    for device in [one, two] {
      #expect(
        try await device.value("SELECT count(*) FROM OfflineLocation WHERE isDeleted = 0", as: Int.self)
          == one.value("SELECT count(*) FROM OfflineLocation WHERE isDeleted = 0", as: Int.self))
    }
  }

  @Test func recordsThatReferToEachOtherInACircleCome() async throws {
    try await one.write { db in
      _ = try db.execute("UPDATE OfflineAtmosphericLog SET inletId = logId % 3 + 1")
      try db.insert(Location(projectId: 1, title: "first"))
      try db.insert(Location(projectId: 1, parentLocationId: 2, title: "second"))
      _ = try db.execute("UPDATE OfflineLocation SET parentLocationId = 3 WHERE locationId = 2")
    }
    for _ in 0..<2 { try await one.sync() }
    let three = try await Device("cleo", at: server)
    for device in [two, three] {
      try await device.sync()
      #expect(try await device.digests() == one.digests())
      #expect(try await device.values("SELECT reason FROM SyncInbox") == [])
    }
  }

  /// The user returns to the server's version, not to the older common version.
  @Test func whoDiscardsAContestedChangeHasWhatTheServerHas() async throws {
    try await one.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'Mill', projectNumber = '7'") }
    try await one.sync()
    try await two.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'Barn'") }
    #expect(try await two.sync().conflicts == 1)
    try two.discardAll()
    try await two.sync()
    #expect(try await one.digests() == two.digests())
    #expect(try await two.value("SELECT title || projectNumber FROM OfflineProject", as: String.self) == "Mill7")
  }

  /// The records that a conflict's remote version references stay, even if they are deleted.
  @Test func whatAContestedVersionRefersToIsNotPurged() async throws {
    try await one.write { _ = try $0.execute("UPDATE OfflineAtmosphericLog SET inletId = 1 WHERE logId = 2") }
    try await one.sync()
    try await two.sync()
    try await one.write { db in _ = try db.execute("DELETE FROM OfflineAtmosphericLog WHERE logId = 3") }
    try await one.sync()
    try await two.write { _ = try $0.execute("UPDATE OfflineAtmosphericLog SET inletId = 3 WHERE logId = 2") }
    #expect(try await two.sync().conflicts == 1)
    try await two.sync()
    let conflict = try #require(try two.conflicts().first)
    #expect(conflict.conflictType == "deleted_remotely")
    #expect(try await two.value("SELECT inletId FROM OfflineAtmosphericLog WHERE logId = 2", as: Int.self) == 3)
    try two.resolve(conflict.conflictId, takesLocal: false)
    try await two.sync()
    #expect(try await one.digests() == two.digests())
    #expect(try await two.value("SELECT inletId FROM OfflineAtmosphericLog WHERE logId = 2", as: Int.self) == 1)
  }

  @Test("A reference that the policy lets lose to ON DELETE SET NULL is in the conflict table")
  func referenceThatLostIsRecorded() async throws {
    try await one.write { _ = try $0.execute("UPDATE OfflineAtmosphericLog SET inletId = 1 WHERE logId = 2") }
    try await one.sync()
    try await two.sync()
    let third = try await two.values("SELECT uuid FROM OfflineAtmosphericLog WHERE logId = 3")[0]
    try await one.write { db in _ = try db.execute("DELETE FROM OfflineAtmosphericLog WHERE logId IN (1, 3)") }
    try await one.sync()
    try await two.write { _ = try $0.execute("UPDATE OfflineAtmosphericLog SET inletId = 3 WHERE logId = 2") }
    // The server wins with atmospheric logs, and there the first device has emptied the reference.
    #expect(try await two.sync().outcome == .done)
    #expect(
      try await two.values(
        """
        SELECT resolution || ' ' || json_extract(fields, '$[0]') || ' ' || json_extract(localVersion, '$.inletId')
        FROM OfflineConflictResolution
        """) == ["remote_wins inletId \(third)"])
    #expect(try await two.values("SELECT logId FROM OfflineAtmosphericLog WHERE inletId IS NOT NULL") == [])
    #expect(try await one.digests() == two.digests())
  }

  @Test("A conflicted operation keeps its id and drops its idempotency key, so that it is sealed anew")
  func conflictedOperationIsSealedAnew() async throws {
    try await two.write { db in
      _ = try db.execute("UPDATE OfflineAtmosphericLog SET temperature = 55 WHERE logId = 2")
    }
    let batch = try await two.vault.sync { try $0.nextBatch(limit: 25).operations }
    try await two.vault.sync { transaction in
      var counts = PushCounts()
      try transaction.acknowledge(
        .conflict(.notUnique, fields: ["inletId"], record: nil), of: batch[0], jitter: 0, counts: &counts)
    }
    let conflicted = try await two.values(
      "SELECT operationId FROM OfflineSyncQueue WHERE status = 'conflict' AND idempotencyKey IS NULL")
    #expect(conflicted == [batch[0].operationId] && batch[0].idempotencyKey != nil)
  }
}
