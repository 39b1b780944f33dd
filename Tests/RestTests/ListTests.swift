import CipherSQL
import Foundation
import Testing

@testable import VaultStore
@testable import SyncEngine

@Suite(.serialized) struct ListTests {
  @Test("Reference data arrives with its nested records and reports its age")
  func referenceDataComesWithWhatIsWithinAndSaysHowOldItIs() async throws {
    let api = try RangeAPI()
    let device = try RangeDevice(at: api.url)
    let entity = try device.vault.entities.entity("RifleSetup")
    let missing = #expect(throws: VaultError.self) { try device.vault.fetched(entity) }
    #expect(missing?.code == .notFetched)
    try await device.sync()
    #expect(
      try await device.values("SELECT name FROM OfflineRifleSetup ORDER BY 1") == ["Ruger Precision", "Tikka T3x"])
    #expect(
      try await device.values(
        "SELECT lotNumber || ' ' || name FROM OfflineAmmoLot JOIN OfflineAmmunition USING (ammunitionId)") == [
          "A-17 ELD Match"
        ])
    let state = try device.vault.fetched(entity)
    #expect(abs(state.fetchedAt.timeIntervalSinceNow) < 60)
    #expect(device.vault.isReferenceData(entity))
  }

  @Test("Two devices derive the same UUID for a record of a list")
  func twoDevicesGiveARecordOfAListTheSameUuid() async throws {
    let api = try RangeAPI()
    let devices = [try RangeDevice(at: api.url), try RangeDevice(at: api.url)]
    for device in devices { try await device.sync() }
    let uuids = try await devices[0].values("SELECT uuid FROM OfflineRifleSetup ORDER BY uuid")
    #expect(uuids == (try await devices[1].values("SELECT uuid FROM OfflineRifleSetup ORDER BY uuid")))
    #expect(uuids.count == 2)
  }

  @Test("Records that were changed or deleted at the server are changed or deleted on the device")
  func whatChangedOrWentAtTheServerDoesSoHere() async throws {
    let api = try RangeAPI()
    let device = try RangeDevice(at: api.url)
    try await device.sync()
    try await api.sql("UPDATE rifles SET name = 'Tikka T1x' WHERE id = 1")
    try await api.sql("DELETE FROM locations")
    let report = try await device.sync()
    #expect(report.pulled == 2)
    #expect(
      try await device.values("SELECT name FROM OfflineRifleSetup ORDER BY 1") == ["Ruger Precision", "Tikka T1x"])
    #expect(try await device.value("SELECT count(*) FROM OfflineSavedLocation WHERE isDeleted = 0", as: Int.self) == 0)
    #expect(try await device.sync().pulled == 0)
  }

  @Test("A round that a user requests fetches lists that are still fresh, and other rounds do not")
  func whoAsksSeesTheNewest() async throws {
    let api = try RangeAPI()
    let device = try RangeDevice(at: api.url)
    try await device.sync()
    for (number, cause) in Schedule.Cause.allCases.enumerated() {
      let (old, new) = try await (
        device.values("SELECT name FROM OfflineSavedLocation").first, "place \(number)"
      )
      try await api.sql("UPDATE locations SET name = '\(new)'")
      _ = try await device.worker.round(cause, RoundRequest())
      let isFetched = [.manual, .resume, .request].contains(cause)
      #expect(
        try await device.values("SELECT name FROM OfflineSavedLocation").first == (isFetched ? new : old), "\(cause)")
    }
    // Any round fetches a list that is no longer fresh.
    try await device.write {
      try $0.execute("UPDATE SyncFetch SET fetchedAt = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-301 seconds')")
    }
    try await api.sql("UPDATE locations SET name = 'Hill'")
    _ = try await device.worker.round(.timer, RoundRequest())
    #expect(try await device.values("SELECT name FROM OfflineSavedLocation") == ["Hill"])
  }

  /// A record moves from the second page to the first while the list is read. The device must not treat the record
  /// as deleted.
  @Test("A list that changes while it is paged loses no record")
  func aListThatChangesWhileItIsPagedLosesNothing() async throws {
    let api = try RangeAPI()
    for number in 0..<120 { try await api.sql("INSERT INTO rifles (name) VALUES ('rifle \(number)')") }
    let device = try RangeDevice(at: api.url)
    try await device.sync()
    #expect(try await device.value("SELECT count(*) FROM OfflineRifleSetup", as: Int.self) == 122)
    try await api.fault("GET /api/rifles", "shift", times: 2)
    try await device.sync()
    try await device.sync()
    let there = try await api.sql("SELECT name FROM rifles ORDER BY name")
    let here = try await device.values("SELECT name FROM OfflineRifleSetup WHERE isDeleted = 0 ORDER BY name")
    #expect(there == "[" + here.map { "[\"\($0)\"]" }.joined(separator: ", ") + "]")
    #expect(here.count == 120)
  }

  @Test("A summary in an older format is reported, and the existing summary stays")
  func aSummaryOfAnOlderFormatIsSaidAndTheOneThatIsHereStays() async throws {
    let api = try RangeAPI()
    let device = try RangeDevice(at: api.url)
    try await device.sync()
    try await api.oldSummary()
    try await device.sync()
    #expect(try await device.value("SELECT totalRifles FROM OfflineAnalyticsSummary", as: Int.self) == 2)
    let state = try device.vault.fetched(try device.vault.entities.entity("AnalyticsSummary"))
    #expect(state.problem == "record 1: the record has none of the fields")
    // The other lists were still fetched.
    #expect(try device.vault.fetched(try device.vault.entities.entity("RifleSetup")).problem == nil)
  }

  @Test("An unreadable record stops no other record") func oneRecordThatCannotBeReadStopsNoOther() async throws {
    let api = try RangeAPI()
    try await api.sql("UPDATE rifles SET zeroDistance = 'far' WHERE id = 1")
    let device = try RangeDevice(at: api.url)
    try await device.sync()
    #expect(try await device.values("SELECT name FROM OfflineRifleSetup") == ["Ruger Precision"])
    let problem = try await device.value(
      "SELECT problem FROM SyncFetch WHERE entityType = 'RifleSetup'", as: String.self)
    #expect(problem == "record 1: zeroDistance is not a whole number")
    _ = try await device.write {
      try $0.execute("INSERT INTO OfflineSession (rifleSetupId) SELECT min(rifleSetupId) FROM OfflineRifleSetup")
    }
    #expect(try await device.sync().pushed == 1)
  }

  @Test("A list that fails stops no other list") func aListThatFailsStopsNoOther() async throws {
    let api = try RangeAPI()
    try await api.fault("GET /api/rifles", "status 500")
    let device = try RangeDevice(at: api.url)
    let report = try await device.sync()
    #expect(report.pulled > 0)
    #expect(throws: VaultError.self) { try device.vault.fetched(try device.vault.entities.entity("RifleSetup")) }
    try await device.sync()
    _ = try device.vault.fetched(try device.vault.entities.entity("RifleSetup"))
  }

  @Test("Past sessions of another device arrive with all their records")
  func pastSessionsOfAnotherDeviceAreHereWithEverythingInThem() async throws {
    let api = try RangeAPI()
    let one = try RangeDevice(at: api.url)
    try await one.sync()
    try await one.addWholeSession()
    try await one.sync()
    let two = try RangeDevice(at: api.url)
    try await two.sync()
    for table in [
      "Session", "DopeEntry", "ChronoSession", "VelocityReading", "GroupEntry", "GroupMeasurement", "HolePosition",
    ] {
      let sql = SQL(raw: "SELECT count(*) FROM Offline\(table)")
      #expect(try await two.value(sql, as: Int.self) == (try await one.value(sql, as: Int.self)), "\(table)")
    }
    #expect(try await two.waiting() == 0)
    _ = try two.vault.fetched(try two.vault.entities.entity("Session"))
    try await api.sql("DELETE FROM sessions")
    try await two.sync()
    #expect(try await two.value("SELECT count(*) FROM OfflineSession WHERE isDeleted = 0", as: Int.self) == 0)
  }

  @Test("Logout removes server-owned records, except records that unsent operations reference")
  func logoutClearsWhatTheServerOwnsButForWhatUnsentWorkPointsTo() async throws {
    let api = try RangeAPI()
    let device = try RangeDevice(at: api.url)
    try await device.sync()
    _ = try await device.addSession("not sent")
    let vault = device.vault
    try await Task.detached { try Self.now { _ = try vault.logout() } }.value
    #expect(try await device.value("SELECT count(*) FROM OfflineRifleSetup", as: Int.self) == 1)
    #expect(try await device.value("SELECT count(*) FROM OfflineAmmunition", as: Int.self) == 0)
    #expect(try await device.value("SELECT count(*) FROM OfflineSavedLocation", as: Int.self) == 0)
    #expect(throws: VaultError.self) { try vault.fetched(try vault.entities.entity("Ammunition")) }
  }

  private static func now(_ body: () throws -> Void) throws { try body() }

  @Test("A write that the API cannot accept is refused on the device")
  func whatTheAPIHasNoWayToTakeIsRefusedWhenItIsWritten() async throws {
    let api = try RangeAPI()
    let device = try RangeDevice(at: api.url)
    try await device.sync()
    await #expect(throws: SQLError.self) {
      try await device.write { try $0.execute("INSERT INTO OfflineRifleSetup (name) VALUES ('mine')") }
    }
    let session = try await device.addSession()
    // Records that were not sent yet can still be changed.
    try await device.write { try $0.execute("UPDATE OfflineSession SET notes = 'again' WHERE sessionId = \(session)") }
    try await device.sync()
    for sql in ["UPDATE OfflineSession SET notes = 'late'", "DELETE FROM OfflineSession"] {
      let error = await #expect(throws: SQLError.self) { try await device.write { try $0.execute(SQL(raw: sql)) } }
      #expect("\(error.map { $0.message } ?? "")".contains("the server"), "\(sql)")
    }
    // Without a remote, every record can be written again.
    let vault = device.vault
    try await Task.detached { try Self.now { try vault.unsetRemote() } }.value
    try await device.write { try $0.execute("UPDATE OfflineSession SET notes = 'late'") }
  }

  /// The same API at another address. Pending operations reference rifles that the device finds again by their
  /// content.
  @Test("Pending operations are sent to an API that has moved to another address")
  func anAPIThatMovedGetsWhatWaits() async throws {
    let first = try RangeAPI()
    let device = try RangeDevice(at: first.url)
    try await device.sync()
    _ = try await device.addSession("moved along")
    let second = try RangeAPI()
    let moved = try device.worker(at: second.url)
    // The first round detects the other server.
    _ = try await moved.sync()
    _ = try await moved.sync()
    #expect(try await second.sql("SELECT notes, rifleSetupId FROM sessions") == #"[["moved along", 1]]"#)
    #expect(try await device.value("SELECT count(*) FROM OfflineRifleSetup", as: Int.self) == 2)
  }

  @Test("An id that the table cannot hold fails the operation with a message")
  func idsThatTheTableCannotHoldAreSaid() async throws {
    let api = try RangeAPI()
    let device = try RangeDevice(
      at: api.url,
      routes: try RangeAPI.routeFile().replacing(
        #""DopeEntry": {"#, with: #""DopeEntry": {"id": "notes","#))
    try await device.sync()
    let session = try await device.addSession()
    try await device.write {
      try $0.execute("INSERT INTO OfflineDopeEntry (sessionId, distance, notes) VALUES (\(session), 300, 'cold bore')")
    }
    let report = try await device.worker.sync()
    #expect(report.failed == 1)
    let message = try await device.value(
      "SELECT errorMessage FROM OfflineSyncQueue WHERE status = 'failed'", as: String.self)
    #expect(message?.contains("no id at 'notes' that fits DopeEntry.serverId") == true)
  }

  /// The API returns fewer records per page than requested.
  @Test("A short page is not the end of a list") func shortPagesAreNotTheEnd() async throws {
    let api = try RangeAPI(pageSize: 7)
    for number in 0..<20 { try await api.sql("INSERT INTO rifles (name) VALUES ('rifle \(number)')") }
    let device = try RangeDevice(at: api.url)
    try await device.sync()
    try await device.sync()
    #expect(try await device.value("SELECT count(*) FROM OfflineRifleSetup WHERE isDeleted = 0", as: Int.self) == 22)
  }

  /// Records missing from an unreadable list were not deleted.
  @Test(
    "An unreadable list deletes nothing and stops no other list",
    arguments: ["error-object", "text-list", "status 404", "wall", "status 503", "page"])
  func whatCannotBeReadDeletesNothingAndStopsNothing(_ fault: String) async throws {
    let api = try RangeAPI()
    let device = try RangeDevice(at: api.url)
    try await device.sync()
    let rifles = try device.vault.entities.entity("RifleSetup")
    let fetchedAt = try device.vault.fetched(rifles).fetchedAt
    _ = try await device.addSession()
    try await api.fault("GET /api/rifles", fault, times: 4)
    try await api.sql("INSERT INTO locations (name) VALUES ('Hill')")
    try await device.sync()
    #expect(try await api.count("sessions") == "[[1]]")
    #expect(try await device.value("SELECT count(*) FROM OfflineRifleSetup WHERE isDeleted = 0", as: Int.self) == 2)
    #expect(try await device.value("SELECT count(*) FROM OfflineSavedLocation", as: Int.self) == 2)
    let problem = try await device.value(
      "SELECT problem FROM SyncFetch WHERE entityType = 'RifleSetup'", as: String.self)
    #expect(problem != nil)
    #expect(try device.vault.fetched(rifles).fetchedAt == fetchedAt)
  }

  @Test("The last entry of a session that is deleted at the server is deleted on the device")
  func theLastEntryThatGoesAtTheServerGoesHere() async throws {
    let api = try RangeAPI()
    let device = try RangeDevice(at: api.url)
    try await device.sync()
    let session = try await device.addSession()
    try await device.addHold(session, at: 300)
    try await device.sync()
    try await api.sql("DELETE FROM dope")
    try await device.sync()
    #expect(try await device.value("SELECT count(*) FROM OfflineDopeEntry WHERE isDeleted = 0", as: Int.self) == 0)
    #expect(try await device.value("SELECT count(*) FROM OfflineSession WHERE isDeleted = 0", as: Int.self) == 1)
  }

  @Test("Files are not evicted if the remote cannot return them")
  func filesAreNotGivenUpWhereNothingComesBack() async throws {
    let api = try RangeAPI()
    let device = try RangeDevice(at: api.url)
    try await device.write {
      try $0.execute(
        """
        INSERT INTO AttachmentContent (contentUuid, contentKey, full, fullBytes, serverHasFull)
        VALUES ('01900000-0000-7000-8000-000000000001', zeroblob(32), 'here', 1000, 1)
        """)
    }
    #expect(try await device.vault.sync { try $0.evict(downTo: 0, keeping: nil) } == 0)
  }
}
