import CipherSQL
import Foundation
import Testing
import HTTPClient

@testable import VaultStore
@testable import RESTRemote

@Suite(.serialized) struct SendingTests {
  @Test("A session is sent record by record, each after its parent")
  func aSessionGoesRecordByRecordBehindWhatItHangsOn() async throws {
    let api = try RangeAPI()
    let device = try RangeDevice(at: api.url)
    try await device.sync()
    try await device.addWholeSession()
    let report = try await device.sync()
    #expect(report.pushed == 12)
    for (table, count) in RangeDevice.wholeSession { #expect(try await api.count(table) == count, "\(table)") }
    #expect(try await api.sql("SELECT velocity FROM readings ORDER BY shotNumber") == "[[2710.0], [2722.0], [2705.0]]")
    #expect(try await device.value("SELECT count(*) FROM OfflineDopeEntry WHERE serverId IS NULL", as: Int.self) == 0)
    #expect(try await device.waiting() == 0)
  }

  /// One request fails, or its response is lost after the request took effect. At the end each record exists once.
  @Test(
    "A fault of one request leaves every record at the API exactly once",
    arguments: [
      "POST /api/sessions", "POST /api/sessions/1/dope", "POST /api/sessions/1/chrono",
      "POST /api/sessions/1/chrono/1/readings", "POST /api/sessions/1/groups", "POST /api/groups/1/measurement",
      "POST /api/measurements/1/holes",
    ].flatMap { request in ["drop-response", "no-id", "done-500"].map { (request, $0) } }
      + ["drop", "status 500", "wall", "status 502", "page", "status 429", "text-ids"].map {
        ("POST /api/sessions/1/dope", $0)
      }
  )
  func faultsLeaveEachRecordOnce(_ request: String, _ what: String) async throws {
    let api = try RangeAPI()
    let device = try RangeDevice(at: api.url)
    try await device.sync()
    try await device.addWholeSession()
    try await api.fault(request, what)
    try await device.syncUntilQuiet()
    for (table, count) in RangeDevice.wholeSession { #expect(try await api.count(table) == count, "\(table)") }
    #expect(try await device.waiting() == 0)
    #expect(try await device.values("SELECT errorMessage FROM OfflineSyncQueue WHERE status = 'failed'") == [])
    // The records in the lists are recognized as the same records.
    #expect(try await device.value("SELECT count(*) FROM OfflineDopeEntry", as: Int.self) == 2)
    #expect(try await device.value("SELECT count(*) FROM OfflineHolePosition", as: Int.self) == 3)
  }

  /// Two holds with equal content stay two records, even if responses are lost.
  @Test("Two records with equal content stay two records") func twoRecordsThatAreAlikeStayTwo() async throws {
    let api = try RangeAPI()
    let device = try RangeDevice(at: api.url)
    try await device.sync()
    let session = try await device.addSession()
    try await device.sync()
    for _ in 0..<2 { try await device.addHold(session, at: 300) }
    try await api.fault("POST /api/sessions/1/dope", "drop-response", times: 2)
    try await device.syncUntilQuiet()
    #expect(try await api.count("dope") == "[[2]]")
    #expect(try await device.values("SELECT serverId || '' FROM OfflineDopeEntry ORDER BY serverId") == ["1", "2"])
  }

  @Test("An idempotency header makes a repeated request harmless")
  func aHeaderThatTheAPIKnowsMakesARepeatHarmless() async throws {
    let api = try RangeAPI()
    let routes = try RangeAPI.routeFile().replacing(
      #""repeat": {"lookUp": "GET /sessions", "items": "data.items", "match": ["sessionDate", "rifleSetupId"]}"#,
      with: #""repeat": {"header": "Idempotency-Key"}"#)
    #expect(routes.contains("Idempotency-Key"))
    let device = try RangeDevice(at: api.url, routes: routes)
    try await device.sync()
    _ = try await device.addSession("once")
    try await api.fault("POST /api/sessions", "drop-response")
    try await device.syncUntilQuiet()
    #expect(try await api.count("sessions") == "[[1]]")
  }

  @Test("A route that may create duplicates is reported as a warning")
  func whatMayBeThereTwiceIsSaidAloud() async throws {
    let api = try RangeAPI()
    let routes = try RangeAPI.routeFile().replacing(
      #""repeat": {"lookUp": "GET /sessions", "items": "data.items", "match": ["sessionDate", "rifleSetupId"]}"#,
      with: #""repeat": {"mayDuplicate": true}"#)
    let warnings = try RouteFile(json: routes).warnings
    #expect(warnings.contains("Session: a lost response may create a duplicate on the server"))
    let device = try RangeDevice(at: api.url, routes: routes)
    try await device.sync()
    _ = try await device.addSession("perhaps twice")
    try await api.fault("POST /api/sessions", "drop-response")
    try await device.syncUntilQuiet()
    #expect(try await api.count("sessions") == "[[2]]")
    #expect(try await device.waiting() == 0)
  }

  @Test("A refusal fails its operation with the server's message, and other operations continue")
  func aRefusalIsAFailureThatSaysWhyAndTheRestGoesOn() async throws {
    let api = try RangeAPI()
    let device = try RangeDevice(at: api.url)
    try await device.sync()
    let session = try await device.addSession()
    try await device.addHold(session, at: 9000)
    try await device.addHold(session, at: 400)
    let report = try await device.sync()
    #expect(report.failed == 1 && report.pushed == 2)
    #expect(
      try await device.values("SELECT errorMessage FROM OfflineSyncQueue WHERE status = 'failed'")
        == ["distance must be 1 to 5000 yards"])
    // The user corrects the record, and the device sends it.
    try await device.write { try $0.execute("UPDATE OfflineDopeEntry SET distance = 900 WHERE distance = 9000") }
    try await device.sync()
    #expect(try await api.sql("SELECT distance FROM dope ORDER BY 1") == "[[400], [900]]")
  }

  @Test("An error in a response with a success status is a refusal")
  func errorWithSuccessStatusIsARefusal() async throws {
    let api = try RangeAPI()
    let device = try RangeDevice(at: api.url)
    try await device.sync()
    _ = try await device.addSession()
    try await api.fault("POST /api/sessions", "refuse-200")
    let report = try await device.sync()
    #expect(report.failed == 1)
    #expect(
      try await device.value("SELECT errorMessage FROM OfflineSyncQueue WHERE status = 'failed'", as: String.self)
        == "the quota of this month is used up")
  }

  @Test("An invalid token pauses the sync with a reason")
  func aTokenThatIsNotValidPausesAndCostsNoAttempt() async throws {
    let api = try RangeAPI()
    let device = try RangeDevice(at: api.url, token: "old-token")
    let report = try await device.worker.sync()
    #expect(report.outcome == .paused)
    #expect(report.failure?.message == "the server does not accept the token")
  }

  @Test("An operation that the server repeatedly fails is failed until the user retries it")
  func fiveFailuresOfTheServerParkTheOperationAlone() async throws {
    let api = try RangeAPI()
    let device = try RangeDevice(at: api.url)
    try await device.sync()
    let session = try await device.addSession()
    try await device.sync()
    try await device.addHold(session, at: 100)
    try await api.fault("POST /api/sessions/1/dope", "status 500", times: 6)
    try await device.syncUntilQuiet()
    #expect(
      try await device.value("SELECT status FROM OfflineSyncQueue WHERE completedAt IS NULL", as: String.self)
        == "failed")
    #expect(try device.vault.retryAll() == 1)
    try await device.sync()
    #expect(try await api.count("dope") == "[[1]]")
  }

  /// A record that this device cannot read may already exist at the API. The failure is no refusal, because the
  /// device would send a refused record anew.
  @Test("A failure to read the vault is no refusal") func aVaultThatCannotBeReadRefusesNothing() async throws {
    let device = try RangeDevice(at: try RangeAPI().url)
    let records = RestRecords(vault: device.vault)
    let failure = await #expect(throws: RemoteFailure.self) {
      try await records.read { _ -> Int in throw SQLError(.inputOutput, "") }
    }
    #expect(failure?.responseClass == .attempt)
    let cancelled = await #expect(throws: RemoteFailure.self) {
      try await records.read { _ -> Int in throw CancellationError() }
    }
    #expect(cancelled?.responseClass == .cancelled)
  }

  /// A proxy that rejects one record does not stop other records.
  @Test("An HTML page in place of a refusal stops no other record")
  func aPageForPeopleInPlaceOfARefusalStopsNoOther() async throws {
    let api = try RangeAPI()
    let device = try RangeDevice(at: api.url)
    try await device.sync()
    let session = try await device.addSession()
    try await device.sync()
    try await device.addHold(session, at: 100)
    try await api.fault("POST /api/sessions/1/dope", "wall", times: 100)
    _ = try await device.worker.sync()
    try await device.write {
      try $0.execute("INSERT INTO OfflineChronoSession (sessionId, chronographModel) VALUES (\(session), 'radar')")
    }
    try await device.syncUntilQuiet()
    #expect(try await api.count("chrono") == "[[1]]")
    #expect(
      try await device.value("SELECT status FROM OfflineSyncQueue WHERE completedAt IS NULL", as: String.self)
        == "failed")
  }
}
