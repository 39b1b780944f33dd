import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import Testing

@testable import VaultStore
@testable import SyncEngine

/// Two devices and a server, over real sockets.
@Suite struct RoundTests {
  private let server: LocalServer
  private let one: Device
  private let two: Device

  init() async throws {
    server = try LocalServer()
    one = try await Device("ada", at: server)
    two = try await Device("ben", at: server)
  }

  private func makeHouse() async throws {
    try await one.write { db in
      let project = try db.insert(Project(title: "House"))
      let room = try db.insert(Room(projectId: project.projectId, title: "Kitchen", squareFootage: 120.5))
      for degrees in 0..<60 {
        try db.insert(
          AtmosphericLog(
            projectId: project.projectId, roomId: room.roomId, date: .nowInMilliseconds(), relativeHumidity: 50,
            temperature: 70 + Double(degrees) / 10))
      }
    }
  }

  private func expectAgreement(_ place: SourceLocation = #_sourceLocation) async throws {
    #expect(try await one.digests() == two.digests(), sourceLocation: place)
    for device in [one, two] {
      #expect(try await device.value("SELECT count(*) FROM SyncInbox", as: Int.self) == 0, sourceLocation: place)
      #expect(
        try await device.value("SELECT count(*) FROM OfflineSyncQueue WHERE completedAt IS NULL", as: Int.self) == 0,
        sourceLocation: place)
    }
  }

  @Test("A sync transfers all records to the other device, and a second sync transfers nothing")
  func whatOneRecordsTheOtherHas() async throws {
    try await makeHouse()
    let sent = try await one.sync()
    #expect(sent.pushed == 62 && sent.pulled == 0)
    let fetched = try await two.sync()
    #expect(fetched.pulled == 62 && fetched.pushed == 0)
    try await expectAgreement()
    #expect(
      try await two.value(
        "SELECT room.title FROM OfflineAtmosphericLog JOIN OfflineRoom AS room USING (roomId) LIMIT 1", as: String.self)
        == "Kitchen")
    #expect(
      try await one.value("SELECT count(*) FROM OfflineRoom WHERE serverId IS NULL OR isDirty = 1", as: Int.self) == 0)
    // A second sync transfers nothing.
    let again = try await one.sync()
    #expect(again.pushed == 0 && again.pulled == 0)
    let full = try await two.sync(RoundRequest(isFull: true))
    #expect(full.repaired == 0)
  }

  @Test("Edits of different fields of one record merge") func editsOfDifferentFieldsMerge() async throws {
    try await makeHouse()
    try await one.sync()
    try await two.sync()
    try await one.write { _ = try $0.execute("UPDATE OfflineRoom SET title = 'Kitchen, wet'") }
    try await two.write { _ = try $0.execute("UPDATE OfflineRoom SET squareFootage = 99.25") }
    try await one.sync()
    let merged = try await two.sync()
    #expect(merged.pushed == 1 && merged.pulled == 1 && merged.conflicts == 0)
    try await one.sync()
    try await expectAgreement()
    #expect(
      try await one.value("SELECT title || squareFootage FROM OfflineRoom", as: String.self) == "Kitchen, wet99.25")
  }

  @Test("A conflict is kept, shown and resolved while other changes sync")
  func aConflictIsKeptShownAndResolved() async throws {
    try await makeHouse()
    try await one.sync()
    try await two.sync()
    try await one.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'Mill Lane 4'") }
    try await two.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'Mill Lane 5', projectNumber = 'A7'") }
    try await one.sync()
    let report = try await two.sync()
    #expect(report.conflicts == 1)
    let conflict = try #require(try two.conflicts().first)
    #expect(conflict.conflictType == "concurrent_edit" && conflict.fields == ["title"])
    #expect(
      try await two.value("SELECT syncStatus || title FROM OfflineProject", as: String.self) == "conflictMill Lane 5")
    // Other changes sync, and the record in conflict can be edited further.
    try await two.write { db in
      _ = try db.execute("UPDATE OfflineRoom SET title = 'Hall'")
      _ = try db.execute("UPDATE OfflineProject SET propertyType = 'residential'")
    }
    #expect(try await two.sync().pushed == 1)
    try two.resolve(conflict.conflictId, takesLocal: true, choices: ["title": .value("Mill Lane 4-5")])
    #expect(try await two.sync().pushed == 1)
    try await one.sync()
    try await expectAgreement()
    #expect(
      try await one.value("SELECT title || projectNumber || propertyType FROM OfflineProject", as: String.self)
        == "Mill Lane 4-5A7residential")
    let resolved = try #require(try two.conflicts(resolved: true).first)
    #expect(resolved.resolution == "manual" && resolved.resolvedBy == "ben" && resolved.resolvedAt != nil)
  }

  @Test("The server cascades a deletion to the dependents") func theServerTakesAlongWhatADeletionTakes() async throws {
    try await makeHouse()
    try await one.sync()
    try await two.sync()
    try await one.write { _ = try $0.execute("DELETE FROM OfflineRoom") }
    #expect(try await one.sync().pushed == 1)
    try await server.finishJobs()
    try await two.sync()
    try await one.sync()
    #expect(try await two.value("SELECT count(*) FROM OfflineAtmosphericLog", as: Int.self) == 0)
    #expect(try await one.value("SELECT count(*) FROM OfflineAtmosphericLog", as: Int.self) == 0)
    try await expectAgreement()
  }

  @Test("An unsent record is restored with its parent, which another device has moved")
  func whatWasNeverSentComesBackWithWhatWasMovedAway() async throws {
    try await makeHouse()
    try await one.write { try $0.insert(Location(projectId: 1, title: "ground floor")) }
    try await one.write { try $0.insert(Location(projectId: 1, title: "first floor")) }
    try await one.write { _ = try $0.execute("UPDATE OfflineRoom SET locationId = 1") }
    try await one.sync()
    try await two.sync()
    try await one.write { db in
      try db.insert(
        AtmosphericLog(projectId: 1, roomId: 1, date: .nowInMilliseconds(), relativeHumidity: 40, temperature: 60))
      try db.execute("DELETE FROM OfflineLocation WHERE locationId = 1")
    }
    try await two.write { _ = try $0.execute("UPDATE OfflineRoom SET locationId = 2") }
    try await two.sync()
    try await one.sync()
    try await two.sync()
    try await one.sync()
    try await expectAgreement()
    #expect(try await two.value("SELECT count(*) FROM OfflineAtmosphericLog WHERE isDeleted = 0", as: Int.self) == 61)
  }

  @Test("A reading in a room that another device deleted becomes a conflict and is not dropped")
  func aReadingUnderARoomThatIsGoneIsShownAndNotDropped() async throws {
    try await makeHouse()
    try await one.sync()
    try await two.sync()
    try await one.write { _ = try $0.execute("DELETE FROM OfflineRoom") }
    try await one.sync()
    try await two.write { db in
      try db.insert(
        AtmosphericLog(projectId: 1, roomId: 1, date: .nowInMilliseconds(), relativeHumidity: 40, temperature: 60))
    }
    let report = try await two.sync()
    #expect(report.conflicts == 1)
    let conflict = try #require(try two.conflicts().first)
    #expect(conflict.conflictType == "deleted_remotely" && conflict.fields == ["roomId"])
    try two.resolve(conflict.conflictId, takesLocal: true)
    let after = try await two.sync()
    #expect(after.conflicts == 0 && after.failed == 0 && after.pushed == 2)
    try await server.finishJobs()
    try await one.sync()
    try await two.sync()
    // The readings that were deleted with the room are restored with it.
    #expect(try await one.countOfReadings() == 61)
    #expect(try await one.value("SELECT count(*) FROM OfflineRoom WHERE isDeleted = 0", as: Int.self) == 1)
    try await expectAgreement()
  }

  @Test("A lost push response causes no conflict and no duplicate")
  func lostPushResponseChangesNothing() async throws {
    try await makeHouse()
    // The server stores the push, but its response is lost. The operations are sent again under the same ids.
    let batch = try await one.vault.sync { try $0.nextBatch(limit: 25).operations }
    let request = try await one.vault.sync {
      PushRequest(
        deviceId: try $0.deviceId(), deviceCounter: try $0.nextDeviceCounter(), cursor: nil, operations: batch)
    }
    _ = try await one.worker.remote.push(request)
    try await one.write { _ = try $0.execute("UPDATE OfflineRoom SET title = 'Attic'") }
    let report = try await one.sync()
    #expect(report.conflicts == 0 && report.pushed == 63)
    try await two.sync()
    try await expectAgreement()
    #expect(try await two.value("SELECT title FROM OfflineRoom", as: String.self) == "Attic")
  }

  @Test("A record that the server rejects blocks its dependents until it is corrected")
  func aRecordThatTheServerRefusesParksWhatHangsOnIt() async throws {
    try await one.write { db in
      // A server may have rules that the device's database lacks. Here the row bypasses the CHECK constraints.
      try db.set(.ignoresChecks(true))
      let project = try db.insert(Project(title: "House"))
      try db.execute(
        "INSERT INTO OfflineRoom (projectId, title, squareFootage) VALUES (\(project.projectId), 'bad', -5.0)")
      try db.set(.ignoresChecks(false))
      try db.insert(Room(projectId: project.projectId, title: "good"))
      try db.insert(
        AtmosphericLog(projectId: 1, roomId: 1, date: .nowInMilliseconds(), relativeHumidity: 40, temperature: 60))
    }
    let events = try await one.worker.events {
      let report = try await one.sync()
      #expect(report.pushed == 2 && report.failed == 1)
    }
    #expect(events.contains(.failed(count: 1)), "\(events)")
    let (failed, operations) = try one.outbox()
    #expect(failed == 1 && operations.map(\.entityType) == ["Room", "AtmosphericLog"])
    #expect(operations.first?.status == "failed" && operations.first?.errorMessage?.contains("squareFootage") == true)
    #expect(
      try await one.values(
        "SELECT entityType || status || (parkedBehind IS NOT NULL) FROM OfflineSyncQueue WHERE completedAt IS NULL")
        == ["Roomfailed0", "AtmosphericLogpending1"])
    try await one.write { _ = try $0.execute("UPDATE OfflineRoom SET squareFootage = 5 WHERE roomId = 1") }
    #expect(try await one.sync().pushed == 2)
    try await two.sync()
    try await expectAgreement()
  }

  @Test("Discarding restores updated and deleted records to their base and removes new records")
  func discardingGoesBackToTheBase() async throws {
    try await makeHouse()
    try await one.sync()
    try await one.write { db in
      try db.execute("UPDATE OfflineProject SET title = 'Wrong'")
      try db.execute("DELETE FROM OfflineRoom")
      try db.insert(Room(projectId: 1, title: "never"))
    }
    try one.discardAll()
    #expect(try await one.value("SELECT title FROM OfflineProject", as: String.self) == "House")
    #expect(try await one.values("SELECT title FROM OfflineRoom WHERE isDeleted = 0") == ["Kitchen"])
    #expect(try await one.value("SELECT count(*) FROM OfflineAtmosphericLog WHERE isDeleted = 0", as: Int.self) == 60)
    let report = try await one.sync()
    #expect(report.pushed == 0)
    try await two.sync()
    try await expectAgreement()
  }

  @Test("A full comparison finds and repairs differing records")
  func aComparisonFindsAndRepairsWhatDiffers() async throws {
    try await makeHouse()
    try await one.sync()
    try await two.sync()
    try await two.write { db in
      try WriteMode.sync(on: db) {
        try db.execute("UPDATE OfflineRoom SET title = 'corrupted'")
        _ = try WriteMode.purge(on: db) {
          try db.execute("DELETE FROM OfflineAtmosphericLog WHERE logId < 10")
        }
      }
    }
    #expect(try await two.sync().pulled == 0)
    let report = try await two.sync(RoundRequest(isFull: true))
    #expect(report.repaired == 10)
    try await expectAgreement()
  }

  @Test("Another server receives every record as new") func anotherServerGetsEverythingAsNew() async throws {
    try await makeHouse()
    try await one.sync()
    let other = try LocalServer()
    let moved = try Device.worker(one.vault, url: other.server.url, token: try other.token("ada"))
    let report = try await moved.sync()
    #expect(report.pushed == 62 && report.outcome == .done)
    let three = try await Device("cleo", at: other)
    try await three.sync()
    #expect(try await three.digests() == one.digests())
  }

  @Test("A token of another account is refused") func aTokenOfAnotherAccountIsRefused() async throws {
    try await makeHouse()
    try await one.sync()
    let token = try server.token("eve", account: "other")
    let report = try await Device.worker(one.vault, url: server.server.url, token: token).sync()
    #expect(report.outcome == .paused && report.failure?.message.contains("belongs to the account 'water'") == true)
  }

  @Test("A record moved away from a parent survives the deletion of that parent")
  func whatIsMovedBeforeItsParentIsDeletedStays() async throws {
    try await makeHouse()
    try await one.write { try $0.insert(Room(projectId: 1, title: "Hall")) }
    try await one.sync()
    try await two.sync()
    try await one.write { db in
      try db.execute("UPDATE OfflineAtmosphericLog SET roomId = 2 WHERE logId = 1")
      try db.execute("DELETE FROM OfflineRoom WHERE roomId = 1")
    }
    try await one.sync()
    try await server.finishJobs()
    try await two.sync()
    try await one.sync()
    try await expectAgreement()
    #expect(try await two.value("SELECT count(*) FROM OfflineAtmosphericLog WHERE isDeleted = 0", as: Int.self) == 1)
  }

  @Test("A device follows one project and keeps unsent changes when it switches to another")
  func aDeviceFollowsOneProject() async throws {
    try await makeHouse()
    try await one.write { db in
      let project = try db.insert(Project(title: "Barn"))
      try db.insert(Room(projectId: project.projectId, title: "Stable"))
    }
    try await one.sync()
    let barn = try #require(
      try await one.value("SELECT uuid FROM OfflineProject WHERE title = 'Barn'", as: String.self))
    try two.follow(barn)
    try await two.sync()
    #expect(try await two.values("SELECT title FROM OfflineRoom") == ["Stable"])
    let house = try #require(
      try await one.value("SELECT uuid FROM OfflineProject WHERE title = 'House'", as: String.self))
    try await two.write { _ = try $0.execute("UPDATE OfflineProject SET projectNumber = 'unsent'") }
    try two.follow(house)
    let report = try await two.sync(RoundRequest(pushes: false))
    #expect(report.left == 1 && report.heldBack == 1)
    #expect(try await two.values("SELECT title FROM OfflineRoom") == ["Kitchen"])
    #expect(try await two.values("SELECT title FROM OfflineProject ORDER BY title") == ["Barn", "House"])
  }
}

// The synchronous functions of a vault are unavailable in asynchronous code.
extension Device {
  func conflicts(resolved: Bool = false) throws -> [ConflictEntry] { try vault.conflicts(resolved: resolved) }

  func resolve(_ id: String, takesLocal: Bool, choices: [String: Vault.ConflictChoice] = [:]) throws {
    try vault.resolveConflict(id, takesLocal: takesLocal, choices: choices, user: "ben")
  }

  func discardAll() throws { try discard { _ in true } }

  func discard(_ isGivenUp: (OutboxEntry) -> Bool) throws {
    var ids: [String] = []
    try vault.forEachOperation { if isGivenUp($0) { ids.append($0.operationId) } }
    try #require(!ids.isEmpty)
    _ = try vault.discard(ids)
  }

  func follow(_ project: String) throws { try vault.setPreference(.projects, project) }
}

extension Device {
  /// Returns the number of failed operations and all entries of the outbox.
  fileprivate func outbox() throws -> (failed: Int, operations: [OutboxEntry]) {
    var operations: [OutboxEntry] = []
    try vault.forEachOperation { operations.append($0) }
    return (try vault.status().failed, operations)
  }

  fileprivate func countOfReadings() async throws -> Int? {
    try await value("SELECT count(*) FROM OfflineAtmosphericLog WHERE isDeleted = 0", as: Int.self)
  }
}
