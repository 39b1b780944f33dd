import CipherSQL
import RawNetwork
import SyncModel
import TestSupport
import Testing

@testable import SyncEngine

/// Records whose parent at the API was deleted, and that the user has restored or moved.
@Suite(.serialized) struct MovedRecordTests {
  private static let routes = #"""
    {"format": 1, "service": "x", "freshSeconds": 0, "entities": {
      "Station": {"fields": {"code": "code", "title": "title"}, "create": "POST /stations",
        "repeat": {"mayDuplicate": true}, "update": "PATCH /stations/{id}",
        "list": {"request": "GET /stations", "items": "items"}},
      "Site Visit": {"fields": {"code": "code", "stationId": "station"}, "create": "POST /visits",
        "repeat": {"mayDuplicate": true}, "update": "PATCH /visits/{id}", "get": "GET /visits/{id}",
        "list": {"request": "GET /visits", "items": "items"}},
      "Finding": {"fields": {"code": "code", "title": "title", "visitId": "visit"},
        "create": "POST /visits/{visitId}/findings", "repeat": {"mayDuplicate": true}, "update": "PATCH /findings/{id}",
        "list": {"request": "GET /findings", "items": "items"}}
    }}
    """#

  /// - Parameter lists: the elements of the lists by their names.
  private static func api(_ lists: Locked<[String: String]>) throws -> RawServer {
    try RawServer { request, connection in
      let words = request.line.split(separator: " ")
      let path = String(words[1])
      if path == "/visits/2/findings" || path == "/visits/2" {
        return connection.send(responseText("{}", status: "404 No"))
      }
      if path.hasPrefix("/refused/") { return connection.send(responseText("{}", status: "422 No")) }
      if words[0] == "POST" { return connection.send(responseText(#"{"id": 9}"#, status: "201 Created")) }
      if words[0] == "PATCH" {
        let isRefused = String(decoding: request.body, as: UTF8.self) == #"{"station":2}"#
        return connection.send(responseText("{}", status: isRefused ? "422 No" : "200 OK"))
      }
      let list = lists.withLock { $0[String(path.dropFirst())] } ?? ""
      return connection.send(responseText(#"{"items": [\#(list)]}"#))
    }
  }

  @Test("A dependent that a user restores while another one is in conflict is sent")
  func restoredDependent() async throws {
    let lists = Locked([
      "stations": #"{"id": 1, "code": "s"}"#, "visits": #"{"id": 2, "code": "v", "station": 1}"#,
      "findings":
        #"{"id": 3, "code": "a", "title": "old", "visit": 2}, {"id": 4, "code": "b", "title": "old", "visit": 2}"#,
    ])
    let api = try Self.api(lists)
    defer { api.close() }
    let device = try StationDevice(at: api.url, routes: Self.routes)
    _ = try await device.worker.sync()
    lists.withLock { $0 = [:] }
    try await device.write("UPDATE OfflineStation SET title = 'mine'")
    _ = try await device.worker.sync()
    #expect(try await device.values("SELECT code FROM OfflineFinding WHERE isDeleted = 0") == [])
    try await device.write("UPDATE OfflineFinding SET isDeleted = 0 WHERE code = 'b'")
    _ = try await device.worker.sync(RoundRequest(pulls: false))
    #expect(api.requests.count { $0.line.hasPrefix("POST /visits/2/findings ") } == 1)
    #expect(try await device.values("SELECT syncStatus FROM OfflineFinding WHERE isDeleted = 0") == ["conflict"])
  }

  @Test("A record that was moved below a parent which the API deletes is not created again")
  func movedRecord() async throws {
    let lists = Locked([
      "stations": #"{"id": 1, "code": "s", "title": "old"}, {"id": 2, "code": "t", "title": "old"}"#,
      "visits": #"{"id": 5, "code": "v", "station": 1}"#,
    ])
    let api = try Self.api(lists)
    defer { api.close() }
    let device = try StationDevice(at: api.url, routes: Self.routes)
    _ = try await device.worker.sync()
    lists.withLock { $0["stations"] = #"{"id": 1, "code": "s", "title": "old"}"# }
    try await device.write("UPDATE OfflineStation SET title = 'mine' WHERE code = 't'")
    try await device.write(
      "UPDATE OfflineSiteVisit SET stationId = (SELECT stationId FROM OfflineStation WHERE code = 't')")
    _ = try await device.worker.sync()
    #expect(try await device.values("SELECT code FROM OfflineSiteVisit WHERE isDeleted = 0") == ["v"])
    try await device.resolveAll(takesLocal: true)
    try await device.retryAll()
    _ = try await device.worker.sync(RoundRequest(pulls: false))
    #expect(
      api.requests.filter { !$0.line.hasPrefix("GET") }.map { "\($0.line) \(String(decoding: $0.body, as: UTF8.self))" }
        == [
          #"PATCH /visits/5 HTTP/1.1 {"station":2}"#, #"POST /stations HTTP/1.1 {"code":"t","title":"mine"}"#,
          #"PATCH /visits/5 HTTP/1.1 {"station":9}"#,
        ])
    #expect(try await device.values("SELECT serverId || ' ' || syncStatus FROM OfflineSiteVisit") == ["5 synced"])
  }

  @Test("A move that no route can send fails visibly, and the other edits are sent after it is undone")
  func unsendableMove() async throws {
    let api = try Self.api(
      Locked([
        "stations": #"{"id": 1, "code": "s"}"#,
        "visits": #"{"id": 5, "code": "v", "station": 1}, {"id": 6, "code": "w", "station": 1}"#,
        "findings": #"{"id": 3, "code": "a", "title": "old", "visit": 5}"#,
      ]))
    defer { api.close() }
    let routes = Self.routes.replacing(
      #"{"code": "code", "title": "title", "visitId": "visit"}"#, with: #"{"code": "code", "title": "title"}"#
    ).replacing(#""request": "GET /findings", "items": "items""#, with: #""within": "Site Visit", "items": "findings""#)
    let device = try StationDevice(at: api.url, routes: routes)
    try await device.write(
      "INSERT INTO OfflineStation (uuid, code) VALUES ('01a2018d-005b-7000-b94a-f37cd09dd8f6', 's')")
    for code in ["v", "w"] {
      try await device.write(
        """
        INSERT INTO OfflineSiteVisit (uuid, code, stationId)
        SELECT \("01a2018d-005b-7000-b94a-f37cd09dd8f" + (code == "v" ? "7" : "8")), \(code), stationId FROM OfflineStation
        """)
    }
    try await device.write(
      """
      INSERT INTO OfflineFinding (uuid, code, visitId)
      SELECT '01a2018d-005b-7000-b94a-f37cd09dd8f9', 'a', visitId FROM OfflineSiteVisit WHERE code = 'v'
      """)
    _ = try await device.worker.sync(RoundRequest(pulls: false))
    let status: SQL = "SELECT syncStatus FROM OfflineFinding"
    #expect(try await device.values(status) == ["synced"])
    let move: @Sendable (String) -> SQL = {
      "UPDATE OfflineFinding SET visitId = (SELECT visitId FROM OfflineSiteVisit WHERE code = \($0)), title = 'new'"
    }
    try await device.write(move("w"))
    let report = try await device.worker.sync(RoundRequest(pulls: false))
    #expect(report.failed == 1)
    #expect(
      try await device.values("SELECT errorMessage FROM OfflineSyncQueue WHERE completedAt IS NULL") == [
        "the server accepts no other visitId for an existing Finding"
      ])
    #expect(api.requests.count { $0.line.hasPrefix("PATCH") } == 0)
    try await device.write(move("v"))
    _ = try await device.worker.sync(RoundRequest(pulls: false))
    #expect(
      api.requests.filter { $0.line.hasPrefix("PATCH") }.map { String(decoding: $0.body, as: UTF8.self) } == [
        #"{"title":"new"}"#
      ])
    #expect(try await device.values(status) == ["synced"])
  }

  @Test("A record whose former parent the API has deleted stays deleted when the user discards its move and deletion")
  func discardedDeletionBelowDeletedParent() async throws {
    let lists = Locked([
      "stations": #"{"id": 1, "code": "s", "visits": [{"id": 5, "code": "v"}]}, {"id": 2, "code": "t", "visits": []}"#
    ])
    let api = try Self.api(lists)
    defer { api.close() }
    let routes = #"""
      {"format": 1, "service": "x", "freshSeconds": 0, "entities": {
        "Station": {"fields": {"code": "code"}, "list": {"request": "GET /stations", "items": "items"}},
        "Site Visit": {"fields": {"code": "code", "stationId": "station"}, "update": "PATCH /refused/{id}",
          "delete": "DELETE /refused/{id}", "list": {"within": "Station", "items": "visits"}}
      }}
      """#
    let device = try StationDevice(at: api.url, routes: routes)
    _ = try await device.worker.sync()
    // The API refuses both changes. It deletes the former station with its visits meanwhile.
    try await device.write(
      "UPDATE OfflineSiteVisit SET stationId = (SELECT stationId FROM OfflineStation WHERE code = 't')")
    try await device.write("DELETE FROM OfflineSiteVisit")
    _ = try await device.worker.sync(RoundRequest(pulls: false))
    lists.withLock { $0["stations"] = #"{"id": 2, "code": "t", "visits": []}"# }
    _ = try await device.worker.sync()
    #expect(try await device.values("SELECT code FROM OfflineStation WHERE isDeleted = 0") == ["t"])
    #expect(
      try await device.values("SELECT operationType || status FROM OfflineSyncQueue WHERE completedAt IS NULL") == [
        "deletefailed"
      ])
    try await device.discard("Site Visit")
    #expect(try await device.values("SELECT code FROM OfflineSiteVisit WHERE isDeleted = 0") == [])
    #expect(try await device.values("SELECT entityUuid FROM OfflineSyncQueue WHERE completedAt IS NULL") == [])
    _ = try await device.worker.sync()
    #expect(try await device.values("SELECT code FROM OfflineSiteVisit WHERE isDeleted = 0") == [])
  }

  @Test("Discarding the restoration of a record deletes the dependents that were restored with it")
  func discardedRestoration() async throws {
    let lists = Locked([
      "stations": #"{"id": 1, "code": "s"}"#, "visits": #"{"id": 2, "code": "v", "station": 1}"#,
      "findings": #"{"id": 3, "code": "a", "title": "old", "visit": 2}"#,
    ])
    let api = try Self.api(lists)
    defer { api.close() }
    let routes = Self.routes.replacing(#""create": "POST /stations","#, with: "")
      .replacing(#""repeat": {"mayDuplicate": true}, "update": "PATCH /stations/{id}","#, with: "")
    let device = try StationDevice(at: api.url, routes: routes)
    _ = try await device.worker.sync()
    lists.withLock { $0 = [:] }
    // The conflict of the new record keeps the deletion of its parents.
    try await device.write(
      "INSERT INTO OfflineFinding (uuid, code, visitId) SELECT '01a2018d-005b-7000-b94a-f37cd09dd8f6', 'new', visitId FROM OfflineSiteVisit"
    )
    _ = try await device.worker.sync()
    let living = "SELECT code FROM OfflineFinding WHERE isDeleted = 0 ORDER BY code"
    #expect(try await device.values(SQL(raw: living)) == ["new"])
    try await device.write("UPDATE OfflineStation SET isDeleted = 0")
    #expect(try await device.values(SQL(raw: living)) == ["a", "new"])
    let report = try await device.worker.sync(RoundRequest(pulls: false))
    #expect(report.failed == 1)
    try await device.discard("Station")
    #expect(try await device.values(SQL(raw: living)) == ["new"])
    #expect(try await device.values("SELECT code FROM OfflineSiteVisit WHERE isDeleted = 0") == [])
  }
}
