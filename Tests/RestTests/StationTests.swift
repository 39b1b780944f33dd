import CipherSQL
import Foundation
import HTTPClient
import RawNetwork
import SyncModel
import TestSupport
import Testing
import VaultKeys

@testable import RESTRemote
@testable import SyncEngine
@testable import VaultStore

/// A vault with the schema that the simulation shares with an API. One of its entities has a name with a space.
final class StationDevice: Sendable {
  let folder: TemporaryFolder
  let vault: Vault
  let worker: SyncWorker

  convenience init(at url: String, routes: String) throws {
    let folder = try TemporaryFolder()
    let vault = try Vault.create(
      at: folder.file("stations.vault"), schemas: [try Self.schema()], secret: keyFileSecret(),
      configuration: Configuration(environment: .system { 0 }))
    try vault.setRemote(url: url, token: "token", routes: try RouteFile.routes(json: routes, for: vault))
    try self.init(vault, in: folder, at: url, routes: routes)
  }

  static func schema() throws -> (source: SchemaSource, schema: Schema) {
    let path = packagePath("Tests/Simulation/Schemas/stations")
    return (SchemaSource(name: "stations", folder: path), try Schema.load(folder: path, name: "stations"))
  }

  init(_ vault: Vault, in folder: TemporaryFolder, at url: String, routes: String) throws {
    (self.vault, self.folder) = (vault, folder)
    let remote = RestRemote(
      transport: HTTPTransport(address: try ServerAddress(url)) { "token" }, file: try RouteFile(json: routes),
      vault: vault)
    worker = SyncWorker(vault: vault, remote: remote, monitor: NetworkMonitor(fixed: .online))
  }

  func values(_ sql: SQL) async throws -> [String] {
    try await vault.database.read { try $0.fetch(sql, as: String.self) }
  }

  func resolveAll(takesLocal: Bool) async throws {
    let vault = vault
    try await Task.detached {
      try Self.now {
        for conflict in try vault.conflicts(resolved: false) {
          try vault.resolveConflict(conflict.conflictId, takesLocal: takesLocal, user: "ada")
        }
      }
    }.value
  }

  func retryAll() async throws {
    let vault = vault
    try await Task.detached { try Self.now { _ = try vault.retryAll() } }.value
  }

  /// Discards the operations of an entity.
  func discard(_ type: String) async throws {
    let ids = try await values(
      "SELECT operationId FROM OfflineSyncQueue WHERE completedAt IS NULL AND entityType = \(type)")
    let vault = vault
    try await Task.detached { try Self.now { _ = try vault.discard(ids) } }.value
  }

  private static func now(_ body: () throws -> Void) throws { try body() }

  func write(_ sql: SQL) async throws {
    try await vault.database.write { connection in
      try connection.execute(sql)
      try connection.execute("UPDATE OfflineSyncQueue SET scheduledAt = NULL WHERE scheduledAt IS NOT NULL")
    }
  }
}

@Suite(.serialized) struct StationTests {
  /// Counts the requests, and closes the connection after too many of them.
  private static func api(_ responses: @escaping @Sendable (String) -> String?) throws -> RawServer {
    let count = Locked(0)
    return try RawServer { request, connection in
      let number = count.withLock { count in
        count += 1
        return count
      }
      guard number < 60 else {
        return connection.send(responseText("", status: "503 Busy", headers: ["Retry-After: 60"]))
      }
      return connection.send(responses(request.line) ?? responseText(#"{"items": []}"#))
    }
  }

  @Test("A round fetches each list once, also that of an entity whose name has a space", .timeLimit(.minutes(1)))
  func entityNameWithASpace() async throws {
    let api = try Self.api { _ in nil }
    defer { api.close() }
    let lists = ["Station": "stations", "Site Visit": "visits", "Finding": "findings"].map { type, name in
      #""\#(type)": {"list": {"request": "GET /\#(name)", "items": "items"}}"#
    }
    let device = try StationDevice(
      at: api.url,
      routes: #"{"format": 1, "service": "x", "freshSeconds": 0, "entities": {\#(lists.joined(separator: ", "))}}"#)
    for round in 1...2 {
      let report = try await device.worker.sync()
      #expect(report.outcome == .done)
      for name in ["stations", "visits", "findings"] {
        #expect(api.requests.count { $0.line.hasPrefix("GET /\(name) ") } == round, "\(name)")
      }
    }
  }

  @Test("The records within an unreadable record are read")
  func unreadableParent() async throws {
    let amount = Locked("1")
    let title = Locked("old")
    let api = try Self.api { line in
      guard line.hasPrefix("GET /stations ") else { return nil }
      let visits = #"[{"id": 5, "code": "v", "title": "\#(title.withLock { $0 })"}]"#
      return responseText(
        #"{"items": [{"id": 1, "code": "s", "amount": \#(amount.withLock { $0 }), "visits": \#(visits)}]}"#)
    }
    defer { api.close() }
    let device = try StationDevice(
      at: api.url,
      routes: #"""
        {"format": 1, "service": "x", "freshSeconds": 0, "entities": {
          "Station": {"list": {"request": "GET /stations", "items": "items"}},
          "Site Visit": {"fields": {"code": "code", "title": "title"}, "list": {"within": "Station", "items": "visits"}}
        }}
        """#)
    _ = try await device.worker.sync()
    amount.withLock { $0 = "[]" }
    title.withLock { $0 = "new" }
    let report = try await device.worker.sync()
    #expect(report.lists.map(\.problem) == ["record 1: amount is not a number"])
    #expect(try await device.values("SELECT title FROM OfflineSiteVisit") == ["new"])
    #expect(try await device.values("SELECT amount || '' FROM OfflineStation WHERE isDeleted = 0") == ["1.0"])
  }

  private static let routes = #"""
    {"format": 1, "service": "x", "freshSeconds": 0, "entities": {"Station": {
      "create": "POST /stations", "repeat": {"lookUp": "GET /stations", "items": "items", "match": ["code"]},
      "list": {"request": "GET /stations", "items": "items", "page": {"next": "next"}}
    }}}
    """#

  @Test("A create keeps its idempotency key when its repetition is refused", arguments: ["409 Busy", "404 No"])
  func refusedRepetition(refusal: String) async throws {
    let keys = Locked<[String?]>([])
    let api = try RawServer { request, connection in
      guard request.line.hasPrefix("POST") else { return connection.send(responseText("{}")) }
      let count = keys.withLock { keys in
        keys.append(request.headers["idempotency-key"])
        return keys.count
      }
      let status = count == 1 ? "500 No" : count == 2 ? refusal : "201 Created"
      return connection.send(responseText(count == 3 ? #"{"id": 7}"# : "{}", status: status))
    }
    defer { api.close() }
    let device = try StationDevice(
      at: api.url,
      routes: #"""
        {"format": 1, "service": "x", "entities": {"Station": {
          "create": "POST /stations", "repeat": {"header": "Idempotency-Key"}}}}
        """#)
    try await device.write(
      "INSERT INTO OfflineStation (uuid, code) VALUES ('01a2018d-005b-7000-b94a-f37cd09dd8f6', 'mine')")
    for _ in 0..<2 {
      _ = try await device.worker.sync(RoundRequest(pulls: false))
      try await device.write("UPDATE OfflineStation SET createdAt = createdAt")
    }
    try await device.retryAll()
    _ = try await device.worker.sync(RoundRequest(pulls: false))
    let sent = keys.withLock { $0 }
    #expect(sent.count == 3 && Set(sent).count == 1)
    #expect(try await device.values("SELECT serverId || '' FROM OfflineStation") == ["7"])
  }

  /// The API has created the record in the first attempt, and cannot show it at the second one.
  @Test(
    "A create that may have been sent is not repeated while the look-up is incomplete",
    arguments: [
      #"{"items": [{"id": 1, "code": "other"}], "next": "?page=1"}"#,
      #"{"items": [{"id": 1, "code": "other"}, {"id": 1, "code": "other"}], "next": null}"#, "404",
    ])
  func incompleteLookUp(page: String) async throws {
    let api = try Self.api { line in
      if line.hasPrefix("POST") { return responseText("{}", status: "500 No") }
      return page == "404" ? responseText("{}", status: "404 No") : responseText(page)
    }
    defer { api.close() }
    let device = try StationDevice(at: api.url, routes: Self.routes)
    try await device.write(
      "INSERT INTO OfflineStation (uuid, code) VALUES ('01a2018d-005b-7000-b94a-f37cd09dd8f6', 'mine')")
    for _ in 0..<3 {
      _ = try await device.worker.sync(RoundRequest(pulls: false))
      try await device.write("UPDATE OfflineStation SET note = NULL")
    }
    #expect(api.requests.count { $0.line.hasPrefix("POST") } == 1)
    #expect(try await device.values("SELECT status FROM OfflineSyncQueue WHERE completedAt IS NULL") == ["pending"])
  }

  // MARK: Deletions

  private static let family = #"""
    {"format": 1, "service": "x", "freshSeconds": 0, "entities": {
      "Station": {"fields": {"code": "code", "title": "title"}, "update": "PATCH /stations/{id}",
        "list": {"request": "GET /stations", "items": "items"}},
      "Site Visit": {"fields": {"code": "code", "stationId": "station"}, "get": "GET /visits/{id}",
        "list": {"request": "GET /visits", "items": "items"}},
      "Finding": {"fields": {"code": "code", "title": "title", "visitId": "visit"},
        "create": "POST /visits/{visitId}/findings", "repeat": {"mayDuplicate": true}, "update": "PATCH /findings/{id}",
        "list": {"request": "GET /findings", "items": "items"}}
    }}
    """#

  /// An API with a station, a visit and two findings, until all of them are deleted there.
  private static func family(_ isDeleted: Locked<Bool>) throws -> RawServer {
    try api { line in
      if isDeleted.withLock({ $0 }) { return responseText("{}", status: "404 No") }
      if line.hasPrefix("GET /stations ") {
        return responseText(#"{"items": [{"id": 1, "code": "s", "title": "old"}]}"#)
      }
      if line.hasPrefix("GET /visits ") { return responseText(#"{"items": [{"id": 2, "code": "v", "station": 1}]}"#) }
      return responseText(
        #"{"items": [{"id": 3, "code": "a", "title": "old", "visit": 2}, {"id": 4, "code": "b", "title": "old", "visit": 2}]}"#
      )
    }
  }

  @Test("A user who accepts the deletion of an edited record ends its operation")
  func acceptedDeletion() async throws {
    let isDeleted = Locked(false)
    let api = try Self.family(isDeleted)
    defer { api.close() }
    let device = try StationDevice(at: api.url, routes: Self.family)
    _ = try await device.worker.sync()
    isDeleted.withLock { $0 = true }
    try await device.write("UPDATE OfflineStation SET title = 'mine'")
    for _ in 0..<2 {
      let report = try await device.worker.sync(RoundRequest(pulls: false))
      #expect(report.outcome == .done)
      try await device.resolveAll(takesLocal: false)
    }
    #expect(api.requests.count { $0.line.hasPrefix("PATCH") } == 2)
    #expect(try await device.values("SELECT status FROM OfflineSyncQueue WHERE completedAt IS NULL") == [])
  }

  @Test("Restored records whose parent is missing wait for the user, also under a policy")
  func restoredWithoutParent() async throws {
    let isDeleted = Locked(false)
    let api = try Self.family(isDeleted)
    defer { api.close() }
    let device = try StationDevice(at: api.url, routes: Self.family)
    _ = try await device.worker.sync()
    isDeleted.withLock { $0 = true }
    try await device.write("UPDATE OfflineFinding SET title = 'mine'")
    for round in 0..<2 {
      let report = try await device.worker.sync(RoundRequest(pulls: false))
      #expect(report.outcome == .done)
      #expect(report.conflicts == 2)
      if round == 0 { try await device.resolveAll(takesLocal: true) }
    }
    #expect(api.requests.count { $0.line.hasPrefix("POST") } == 2)
    #expect(
      try await device.values("SELECT status FROM OfflineSyncQueue WHERE completedAt IS NULL") == [
        "conflict", "conflict",
      ])
    // Without a route for deletions, the user can still discard the records.
    try await device.resolveAll(takesLocal: false)
    #expect(try await device.values("SELECT status FROM OfflineSyncQueue WHERE completedAt IS NULL") == [])
    #expect(try await device.values("SELECT conflictId FROM OfflineConflictResolution WHERE resolvedAt IS NULL") == [])
  }

  @Test("Restoring a parent also restores dependents that have a list of their own")
  func restoredDependents() async throws {
    let isDeleted = Locked(false)
    let bodies = Locked<[String]>([])
    let api = try RawServer { request, connection in
      let line = request.line
      let isGone = isDeleted.withLock { $0 }
      if line.hasPrefix("POST /visits/2/") { return connection.send(responseText("{}", status: "404 No")) }
      if line.hasPrefix("POST") {
        let id = bodies.withLock { bodies in
          bodies.append(String(decoding: request.body, as: UTF8.self))
          return bodies.count + 10
        }
        return connection.send(responseText(#"{"id": \#(id)}"#, status: "201 Created"))
      }
      if line.hasPrefix("GET /stations ") {
        return connection.send(responseText(#"{"items": [{"id": 1, "code": "s"}]}"#))
      }
      if line.hasPrefix("GET /visits/2 ") {
        return connection.send(responseText("{}", status: isGone ? "404 No" : "200 OK"))
      }
      if isGone { return connection.send(responseText(#"{"items": []}"#)) }
      let item =
        line.hasPrefix("GET /visits ")
        ? #"{"id": 2, "code": "v", "station": 1}"# : #"{"id": 3, "code": "f", "visit": 2}"#
      return connection.send(responseText(#"{"items": [\#(item)]}"#))
    }
    defer { api.close() }
    let device = try StationDevice(
      at: api.url,
      routes: #"""
        {"format": 1, "service": "x", "freshSeconds": 0, "entities": {
          "Station": {"fields": {"code": "code"}, "list": {"request": "GET /stations", "items": "items"}},
          "Site Visit": {"fields": {"code": "code", "stationId": "station"}, "get": "GET /visits/{id}",
            "create": "POST /visits", "repeat": {"mayDuplicate": true}, "list": {"request": "GET /visits", "items": "items"}},
          "Finding": {"fields": {"code": "code", "visitId": "visit"},
            "create": "POST /visits/{visitId}/findings", "repeat": {"mayDuplicate": true},
            "list": {"request": "GET /findings", "items": "items"}}
        }}
        """#)
    _ = try await device.worker.sync()
    isDeleted.withLock { $0 = true }
    try await device.write(
      "INSERT INTO OfflineFinding (uuid, code, visitId) SELECT '01a2018d-005b-7000-b94a-f37cd09dd8f6', 'new', visitId FROM OfflineSiteVisit"
    )
    _ = try await device.worker.sync(RoundRequest(pulls: false))
    try await device.resolveAll(takesLocal: true)
    _ = try await device.worker.sync()
    let codes = try bodies.withLock { $0 }.map { try SyncObject(parsing: $0).text("code") }
    #expect(codes.compactMap { $0 }.sorted() == ["f", "new", "v"])
  }

  @Test("References are recognized although the API sends its ids as texts")
  func textReferences() async throws {
    let api = try Self.api { line in
      if line.hasPrefix("POST") { return responseText(#"{"id": "1"}"#, status: "201 Created") }
      if line.hasPrefix("GET /stations ") { return responseText(#"{"items": [{"id": "1", "code": "mine"}]}"#) }
      return responseText(#"{"items": [{"id": "5", "code": "v", "station": "1"}]}"#)
    }
    defer { api.close() }
    let device = try StationDevice(
      at: api.url,
      routes: #"""
        {"format": 1, "service": "x", "freshSeconds": 0, "entities": {
          "Station": {"fields": {"code": "code"}, "create": "POST /stations", "repeat": {"mayDuplicate": true},
            "list": {"request": "GET /stations", "items": "items"}},
          "Site Visit": {"fields": {"code": "code", "stationId": "station"},
            "list": {"request": "GET /visits", "items": "items"}}
        }}
        """#)
    try await device.write(
      "INSERT INTO OfflineStation (uuid, code) VALUES ('01a2018d-005b-7000-b94a-f37cd09dd8f6', 'mine')")
    _ = try await device.worker.sync(RoundRequest(pulls: false))
    _ = try await device.worker.sync()
    #expect(
      try await device.values(
        "SELECT visit.code || ' ' || station.code FROM OfflineSiteVisit AS visit JOIN OfflineStation AS station USING (stationId)"
      )
        == ["v mine"])
  }
}
