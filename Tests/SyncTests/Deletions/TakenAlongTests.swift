import CipherSQL
import RestorationModel
import Testing

@testable import VaultStore
@testable import SyncEngine

/// Cascaded deletions on one device while another device changes the same records.
@Suite struct TakenAlongTests {
  private let server: LocalServer
  private let one: Device
  private let two: Device

  init() async throws {
    server = try LocalServer()
    one = try await Device("ada", at: server)
    two = try await Device("ben", at: server)
    try await one.write { db in
      let project = try db.insert(Project(title: "House"))
      let ground = try db.insert(Location(projectId: project.projectId, title: "ground"))
      _ = try db.insert(Location(projectId: project.projectId, title: "first floor"))
      let room = try db.insert(
        Room(projectId: project.projectId, locationId: ground.locationId, title: "Kitchen"))
      try db.insert(
        AtmosphericLog(
          projectId: project.projectId, roomId: room.roomId, date: .nowInMilliseconds(), relativeHumidity: 50,
          temperature: 70))
    }
    try await one.sync()
    try await two.sync()
  }

  private func syncAll() async throws {
    for device in [one, two, one, two, one] { try await device.sync() }
  }

  private func expectAgreement() async throws {
    #expect(try await one.digests() == two.digests())
    for device in [one, two] {
      #expect(try await device.sync(RoundRequest(isFull: true)).repaired == 0)
      #expect(try await device.value("SELECT count(*) FROM SyncCascade", as: Int.self) == 0)
    }
  }

  private let live: SQL =
    "SELECT title FROM OfflineRoom JOIN OfflineAtmosphericLog USING (roomId) WHERE OfflineRoom.isDeleted + OfflineAtmosphericLog.isDeleted = 0"

  /// The deletion reaches the server after a reparenting that this device has not seen.
  @Test("A record reparented before a cascaded deletion is restored")
  func whatWasMovedAwayBeforeADeletionComesBack() async throws {
    try await one.write { _ = try $0.execute("UPDATE OfflineRoom SET locationId = 2") }
    try await two.write { _ = try $0.execute("DELETE FROM OfflineLocation WHERE locationId = 1") }
    try await one.sync()
    #expect(try await two.values(live) == [])
    try await two.sync(RoundRequest(pulls: false))
    try await syncAll()
    #expect(try await two.values(live).count == 1)
    try await expectAgreement()
  }

  /// The record moves under a record that is also deleted here. Then a user restores the new parent.
  @Test("A record that stayed live at the server is restored with its new parent")
  func whatStayedAtTheServerComesBack() async throws {
    try await two.write { _ = try $0.execute("DELETE FROM OfflineLocation") }
    try await one.write { _ = try $0.execute("UPDATE OfflineRoom SET locationId = 2") }
    try await one.sync()
    try await two.sync(RoundRequest(pushes: false))
    try await two.write { _ = try $0.execute("UPDATE OfflineLocation SET isDeleted = 0 WHERE locationId = 2") }
    #expect(try await two.values(live) == [])
    try await two.sync()
    #expect(try await two.values(live).count == 1)
    try await syncAll()
    try await expectAgreement()
  }

  /// The room was also edited here, so its two versions merge. The reading in the room was not edited.
  @Test("A dependent of a merged record is restored with that record")
  func whatHungOnAMergedRecordComesBackWithIt() async throws {
    try await two.write { db in
      _ = try db.execute("UPDATE OfflineRoom SET title = 'Pantry'")
      _ = try db.execute("DELETE FROM OfflineLocation WHERE locationId = 1")
    }
    try await one.write { _ = try $0.execute("UPDATE OfflineRoom SET locationId = 2") }
    try await one.sync()
    try await syncAll()
    #expect(try await two.values(live).count == 1)
    try await expectAgreement()
  }

  /// The server wins for readings: the deletion wins over the move, and the move leaves no trace.
  @Test("A move of a deleted record leaves nothing behind") func aMoveOfWhatWasDeletedLeavesNothing() async throws {
    try await one.write { db in
      let room = try db.insert(Room(projectId: 1, title: "Hall"))
      _ = try db.execute("UPDATE OfflineAtmosphericLog SET temperature = 71, roomId = \(room.roomId)")
      // References the other reading.
      try db.insert(
        AtmosphericLog(
          projectId: 1, date: .nowInMilliseconds(), relativeHumidity: 50, temperature: 70, inletId: 1))
    }
    try await one.sync()
    try await two.sync()
    try await two.write { _ = try $0.execute("UPDATE OfflineAtmosphericLog SET roomId = 1 WHERE logId = 1") }
    try await one.write { db in
      _ = try db.execute("DELETE FROM OfflineAtmosphericLog WHERE logId = 1")
      _ = try db.execute("DELETE FROM OfflineRoom WHERE roomId = 1")
    }
    try await one.sync()
    try await two.sync()
    try await two.write { _ = try $0.execute("UPDATE OfflineAtmosphericLog SET isDeleted = 0") }
    try await syncAll()
    // The deletion emptied the reference of the other reading (ON DELETE SET NULL), so the deleted reading is
    // purged.
    #expect(try await two.values("SELECT title FROM OfflineRoom JOIN OfflineAtmosphericLog USING (roomId)") == [])
    try await expectAgreement()
  }

  /// Such rows would hold their UNIQUE values against versions of the server for ever.
  @Test("Records that are deleted with a parent before the first sync leave no rows") func unsentTree() async throws {
    try await one.write { db in
      let attic = try db.insert(Location(projectId: 1, title: "attic"))
      let room = try db.insert(Room(projectId: 1, locationId: attic.locationId, title: "Chamber"))
      try db.insert(
        AtmosphericLog(
          projectId: 1, roomId: room.roomId, date: .nowInMilliseconds(), relativeHumidity: 50, temperature: 70))
      _ = try db.execute("DELETE FROM OfflineLocation WHERE title = 'attic'")
    }
    try await one.sync()
    #expect(try await one.values("SELECT title FROM OfflineLocation WHERE isDeleted = 1") == [])
    #expect(try await one.values("SELECT title FROM OfflineRoom WHERE isDeleted = 1") == [])
    #expect(try await one.value("SELECT count(*) FROM SyncCascade", as: Int.self) == 0)
    try await syncAll()
    try await expectAgreement()
  }

  /// Locations that contain each other are restored together, because neither can be the first.
  @Test("A reference cycle is restored as a whole") func aCircleComesBack() async throws {
    try await one.write { db in
      _ = try db.execute("UPDATE OfflineLocation SET parentLocationId = 2 WHERE locationId = 1")
      _ = try db.execute("UPDATE OfflineLocation SET parentLocationId = 1 WHERE locationId = 2")
    }
    try await one.sync()
    try await two.sync()
    try await one.write { _ = try $0.execute("DELETE FROM OfflineLocation WHERE locationId = 1") }
    try await one.sync()
    try await two.write { _ = try $0.execute("UPDATE OfflineLocation SET title = 'cellar' WHERE locationId = 1") }
    for _ in 0..<6 {
      for device in [two, one] {
        try await device.sync()
        for conflict in try device.conflicts() { try device.resolve(conflict.conflictId, takesLocal: true) }
      }
    }
    #expect(try one.conflicts().isEmpty && two.conflicts().isEmpty)
    #expect(
      try await one.values("SELECT title FROM OfflineLocation WHERE isDeleted = 0 ORDER BY title")
        == ["cellar", "first floor"])
    #expect(
      try await one.value("SELECT count(*) FROM OfflineLocation WHERE parentLocationId IS NOT NULL", as: Int.self) == 2)
    try await expectAgreement()
  }

  /// Restoring the project would restore a reading whose inlet now has another outlet.
  @Test("A resolution whose restoration would violate a UNIQUE rule is refused and names the field")
  func whatCannotComeBackIsNamed() async throws {
    try await one.write { db in
      try db.insert(Project(title: "Barn"))
      try db.insert(
        AtmosphericLog(projectId: 1, date: .nowInMilliseconds(), relativeHumidity: 50, temperature: 70, inletId: 1))
    }
    try await one.sync()
    try await two.sync()
    try await two.write { db in
      _ = try db.execute("DELETE FROM OfflineProject WHERE projectId = 1")
      try db.insert(
        AtmosphericLog(projectId: 2, date: .nowInMilliseconds(), relativeHumidity: 50, temperature: 70, inletId: 1))
    }
    try await one.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'Castle' WHERE projectId = 1") }
    try await one.sync()
    try await two.sync()
    let conflict = try #require(try two.conflicts().first)
    #expect(conflict.conflictType == "deleted_locally")
    let refusal = #expect(throws: VaultError.self) { try two.resolve(conflict.conflictId, takesLocal: false) }
    #expect(refusal?.code == .refused)
    #expect(refusal?.message.contains("AtmosphericLog.inletId") == true)
    try two.resolve(conflict.conflictId, takesLocal: true)
    try await syncAll()
    try await expectAgreement()
  }

  /// One decision restores the record and its deleted ancestors, up to the root. The same holds if the worker is
  /// killed while all operations are in flight.
  @Test("Resolving a conflict for a record also restores its deleted ancestors", arguments: [false, true])
  func aRecordComesBackWithAllThatItGoesWith(isKilled: Bool) async throws {
    try await one.write { _ = try $0.execute("UPDATE OfflineLocation SET parentLocationId = 2 WHERE locationId = 1") }
    try await one.sync()
    try await two.sync()
    try await one.write { _ = try $0.execute("DELETE FROM OfflineLocation WHERE locationId = 2") }
    try await one.sync()
    try await two.write { db in
      try db.insert(Note(projectId: 1, roomId: 1, body: "wet"))
    }
    try await two.sync()
    let conflict = try #require(try two.conflicts().first)
    try two.resolve(conflict.conflictId, takesLocal: true)
    if isKilled { _ = try await two.vault.sync { try $0.nextBatch(limit: 25) } }
    #expect(try await two.sync().conflicts == 0)
    try await syncAll()
    #expect(
      try await one.values("SELECT OfflineRoom.title FROM OfflineRoom JOIN OfflineNote USING (roomId)") == ["Kitchen"])
    #expect(try await one.value("SELECT count(*) FROM OfflineLocation WHERE isDeleted = 0", as: Int.self) == 2)
    for device in [one, two] { #expect(try await device.values(live) == ["Kitchen"], "the reading, too") }
    try await expectAgreement()
  }

  /// An edit that wins over a deletion at the server restores the cascaded dependents on all devices.
  @Test("The dependents of a record that an edit keeps alive are restored on all devices")
  func whatHungOnAKeptRecordComesBackEverywhere() async throws {
    try await one.write { _ = try $0.execute("DELETE FROM OfflineLocation WHERE locationId = 1") }
    try await one.sync()
    try await two.write { _ = try $0.execute("UPDATE OfflineLocation SET title = 'cellar' WHERE locationId = 1") }
    #expect(try await one.values(live) == [])
    try await syncAll()
    for device in [one, two] { #expect(try await device.values(live) == ["Kitchen"]) }
    try await expectAgreement()
  }

  /// While a cascaded record was deleted, another record took its UNIQUE value.
  @Test("A cascaded record whose UNIQUE value was taken is restored once the value is free")
  func whatHasLostItsPlaceComesBackWhenThatIsFree() async throws {
    try await one.write { db in
      let inlet = try db.insert(Self.reading(isInlet: true))
      try db.insert(Self.reading(roomId: 1, inletId: inlet.logId))
    }
    try await one.sync()
    try await two.sync()
    try await two.write { db in
      _ = try db.execute("DELETE FROM OfflineLocation WHERE locationId = 1")
      try db.insert(Self.reading(inletId: 2))
    }
    try await one.write { _ = try $0.execute("UPDATE OfflineRoom SET locationId = 2") }
    try await one.sync()
    for _ in 0..<3 { try await two.sync() }
    let conflict = try #require(try two.conflicts().first)
    #expect(conflict.conflictType == "not_unique" && conflict.fields == ["inletId"])
    try two.resolve(conflict.conflictId, takesLocal: true, choices: ["inletId": .value("")])
    try await syncAll()
    #expect(try await two.value("SELECT count(*) FROM OfflineAtmosphericLog WHERE isDeleted = 0", as: Int.self) == 4)
    try await expectAgreement()
  }

  private static func reading(isInlet: Bool = false, roomId: Int64? = nil, inletId: Int64? = nil) -> AtmosphericLog {
    AtmosphericLog(
      projectId: 1, roomId: roomId, date: .nowInMilliseconds(), relativeHumidity: 50, temperature: 70, isInlet: isInlet,
      inletId: inletId)
  }

  /// The reading moves into a room that arrives later. A record deleted only here waits for the room like any other
  /// record.
  @Test("A cascaded record keeps the parent that another device gave it")
  func whatWasTakenAlongKeepsItsNewPlace() async throws {
    try await two.write { _ = try $0.execute("DELETE FROM OfflineRoom") }
    let log = try await one.write { db in
      let room = try db.insert(Room(projectId: 1, title: "Hall"))
      try db.execute("UPDATE OfflineAtmosphericLog SET roomId = \(room.roomId)")
      return try db.fetchOne("SELECT uuid FROM OfflineAtmosphericLog", as: String.self) ?? ""
    }
    try await one.sync()
    // The reading arrives first: the next page, with the room, has not arrived yet.
    let response = try await one.worker.remote.records(entityType: "AtmosphericLog", uuids: [log], epoch: nil)
    try await two.vault.sync { transaction in
      var counts = ApplyCounts()
      for change in response.changes { try transaction.changes.apply(change, counts: &counts) }
    }
    try await syncAll()
    #expect(try await two.values("SELECT title FROM OfflineRoom JOIN OfflineAtmosphericLog USING (roomId)") == ["Hall"])
    try await expectAgreement()
  }
}
