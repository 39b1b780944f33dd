import CipherSQL
import Foundation
import RawNetwork
import SyncModel
import TestSupport
import Testing
import HTTPClient

@testable import VaultStore
@testable import RESTRemote

/// An API with scripted responses by path.
final class ScriptedAPI: Sendable {
  let server: RawServer

  /// - Parameter responses: Response bodies by method and path without the query. All other responses are `{}`.
  init(_ responses: [String: @Sendable (String) -> String]) throws {
    server = try RawServer { request, connection in
      let words = request.line.split(separator: " ").map(String.init)
      let (method, target) = (words[0], words.count > 1 ? words[1] : "")
      let path = String(target.prefix { $0 != "?" })
      return connection.send(responseText(responses["\(method) \(path)"]?(target) ?? "{}"))
    }
  }

  deinit { server.close() }

  /// Returns the bodies of the requests with a method and path.
  func bodies(_ line: String) throws -> [SyncValue] {
    try server.requests.filter { $0.line.hasPrefix(line + " ") }.map { try SyncValue(parsing: $0.body) }
  }

  func count(_ line: String) -> Int { server.requests.filter { $0.line.hasPrefix(line) }.count }
}

/// Lists of a broken or hostile API. Only the affected list stops, pushes continue, and the failure is shown.
@Suite(.serialized) struct HostileListTests {
  private static let routes = """
    {"format": 1, "service": "x", "base": "/api", "freshSeconds": 0, "entities": {
      "RifleSetup": {"fields": {"name": "name"},
        "list": {"request": "GET /rifles", "items": "items", "page": {"next": "next"}}},
      "SavedLocation": {"fields": {"name": "name"}, "list": {"request": "GET /locations", "items": "items"}},
      "Session": {"fields": {"rifleSetupId": "rifle", "notes": "notes", "windSpeed": "wind.speed"}, "create": "POST /sessions",
        "update": "PUT /sessions/{id}", "repeat": {"mayDuplicate": true}}
    }}
    """

  private static func session(_ device: RangeDevice) async throws {
    try await device.write {
      try $0.execute(
        "INSERT INTO OfflineSession (rifleSetupId, notes) SELECT min(rifleSetupId), 'x' FROM OfflineRifleSetup")
    }
  }

  private func expectListStops(_ api: ScriptedAPI, _ message: String, limits: ListLimits = ListLimits()) async throws {
    let device = try RangeDevice(at: api.server.url, routes: Self.routes, lists: limits)
    try await Self.addRifle(device)
    try await Self.session(device)
    let report = try await device.sync()
    #expect(report.pushed == 1)
    #expect(report.lists.map(\.entityType) == ["RifleSetup"])
    #expect(report.lists.first?.problem?.contains(message) == true, "\(report.lists)")
    #expect(report.lists.first?.isWhole == false)
    #expect(api.count("POST /api/sessions") == 1)
    #expect(try await device.values("SELECT name FROM OfflineSavedLocation") == ["home"])
    // Existing records stay.
    #expect(try await device.values("SELECT name FROM OfflineRifleSetup WHERE isDeleted = 0").contains("mine"))
    let (status, history) = try device.stored()
    #expect(status.lists == report.lists)
    #expect(history.first?.outcome == "done")
    #expect(history.first?.errorMessage?.contains(message) == true)
  }

  private static func addRifle(_ device: RangeDevice) async throws {
    _ = try await device.vault.sync { transaction in
      try transaction.connection.execute(
        "INSERT INTO OfflineRifleSetup (name, serverId, syncVersion, syncStatus) VALUES ('mine', 99, 1, 'synced')")
    }
  }

  private static func api(next: String) throws -> ScriptedAPI {
    try ScriptedAPI([
      "GET /api/rifles": { _ in
        let next = SyncValue.text(next).json
        return #"{"items": [{"id": 1, "name": "Tikka"}], "next": \#(next)}"#
      },
      "GET /api/locations": { _ in #"{"items": [{"id": 4, "name": "home"}]}"# },
      "POST /api/sessions": { _ in #"{"id": 7}"# },
    ])
  }

  @Test("A next page on another server stops only that list, and no request is sent there")
  func nextOnAnotherServer() async throws {
    let other = try RawServer(response: responseText("{}"))
    defer { other.close() }
    for next in [other.url + "/x", "@127.0.0.1:\(other.port)/x", "//127.0.0.1:\(other.port)/x", "http://a b/"] {
      // A colon in the first segment requires a scheme before it, and a scheme cannot begin with @.
      let isNone = next.hasPrefix("@") || next.contains(" ")
      try await expectListStops(
        try Self.api(next: next), isNone ? "links to an invalid address" : "to another server")
    }
    #expect(other.accepted == 0)
  }

  @Test("A next page that is no valid reference stops only that list")
  func badNext() async throws {
    for next in ["with a space", "\\\\evil", "http://[", "\u{0}"] {
      try await expectListStops(
        try Self.api(next: next), next == "http://[" ? "to another server" : "links to an invalid address")
    }
  }

  @Test("A next page that was read before stops only that list, even if it contains a new record")
  func repeatedNext() async throws {
    let page = Locked(0)
    let api = try ScriptedAPI([
      "GET /api/rifles": { _ in
        let id = page.withLock { page in
          page += 1
          return page
        }
        return #"{"items": [{"id": \#(id), "name": "Tikka"}], "next": \#(id < 100 ? "\"?page=2\"" : "null")}"#
      },
      "GET /api/locations": { _ in #"{"items": [{"id": 4, "name": "home"}]}"# },
      "POST /api/sessions": { _ in #"{"id": 7}"# },
    ])
    try await expectListStops(api, "the list never ends")
  }

  @Test("The number of pages of a list is bounded")
  func bounds() async throws {
    let api = try ScriptedAPI([
      "GET /api/rifles": { target in
        let page = Int(target.split(separator: "=").last ?? "") ?? 0
        let name = String(repeating: "x", count: 1000)
        return #"{"items": [{"id": \#(page + 1), "name": "\#(name)"}], "next": "?page=\#(page + 1)"}"#
      },
      "GET /api/locations": { _ in #"{"items": [{"id": 4, "name": "home"}]}"# },
      "POST /api/sessions": { _ in #"{"id": 7}"# },
    ])
    var limits = ListLimits()
    limits.pages = 5
    try await expectListStops(api, "more than 5 pages", limits: limits)
    // A round reads a list once, or a second time after a push.
    #expect([5, 10].contains(api.count("GET /api/rifles")))
  }

  @Test(
    "Bytes and time of a list are bounded", arguments: [("bytes", "more than 10 bytes"), ("seconds", "more than 0 s")])
  func moreBounds(limit: String, message: String) async throws {
    let api = try Self.api(next: "?page=2")
    var limits = ListLimits()
    if limit == "bytes" { limits.bytes = 10 } else { limits.seconds = 0 }
    let client = RestClient(
      transport: HTTPTransport(address: try ServerAddress(api.server.url)) { nil },
      file: try RouteFile(json: Self.routes), limits: limits, environment: .system)
    let pages = RestPages(
      client: client, path: "/rifles", items: try #require(JSONPlace("items")),
      paging: .next(try #require(JSONPlace("next")), parameter: nil), id: JSONPlace(member: "id"))
    let problem = await #expect(throws: RestPages.Problem.self) { _ = try await pages.all() }
    guard case .list(let said)? = problem else { return #expect(Bool(false), "\(String(describing: problem))") }
    #expect(said.contains(message))
  }

  @Test("A relative next page is resolved against the page that names it (RFC 3986)")
  func relativeNext() async throws {
    for (next, target) in [
      ("?page=2", "/api/rifles?page=2"), ("rifles?page=2", "/api/rifles?page=2"), ("./more/2", "/api/more/2"),
      ("/api/rifles/2", "/api/rifles/2"), ("../api/rifles/2", "/api/rifles/2"),
    ] {
      let more = #"{"items": [{"id": 2, "name": "Ruger"}], "next": null}"#
      let path = String(target.prefix { $0 != "?" })
      let first = #"{"items": [{"id": 1, "name": "Tikka"}], "next": "\#(next)"}"#
      var responses: [String: @Sendable (String) -> String] = ["GET \(path)": { _ in more }]
      responses["GET /api/rifles"] = { $0.contains("page=2") ? more : first }
      let api = try ScriptedAPI(responses)
      let device = try RangeDevice(at: api.server.url, routes: Self.routes)
      let report = try await device.sync()
      #expect(report.lists.filter { $0.entityType == "RifleSetup" } == [], "\(next)")
      #expect(
        try await device.values("SELECT name FROM OfflineRifleSetup ORDER BY 1") == ["Ruger", "Tikka"], "\(next)")
      #expect(api.count("GET \(target) ") > 0, "\(next)")
    }
  }

  @Test("A list request without a response stops only that list while the API responds to other requests")
  func timeout() async throws {
    let api = try RawServer { request, connection in
      if request.line.hasPrefix("GET /api/rifles") { return true }
      if request.line.hasPrefix("GET /api/locations") {
        return connection.send(responseText(#"{"items": [{"id": 4, "name": "home"}]}"#))
      }
      return connection.send(responseText(#"{"id": 7}"#))
    }
    defer { api.close() }
    var limits = TransportLimits()
    limits.idleSeconds = 0.2
    let device = try RangeDevice(at: api.url, routes: Self.routes, limits: limits)
    try await Self.addRifle(device)
    try await Self.session(device)
    let report = try await device.sync()
    #expect(report.pushed == 1)
    #expect(report.lists.map(\.entityType) == ["RifleSetup"])
  }

  @Test("Ids that a table cannot hold are found at the first response, before a record is created")
  func idsThatDoNotFit() async throws {
    let routes = Self.routes.replacing(
      #""repeat": {"mayDuplicate": true}}"#,
      with: #""repeat": {"mayDuplicate": true}, "list": {"request": "GET /sessions", "items": "items"}}"#)
    let api = try ScriptedAPI([
      "GET /api/rifles": { _ in #"{"items": [{"id": 1, "name": "Tikka"}]}"# },
      "GET /api/locations": { _ in #"{"items": []}"# },
      "GET /api/sessions": { _ in #"{"items": [{"id": "abc", "notes": "a"}]}"# },
      "POST /api/sessions": { _ in #"{"id": "abc"}"# },
    ])
    let device = try RangeDevice(at: api.server.url, routes: routes)
    try await device.sync()
    for _ in 0..<3 { try await Self.session(device) }
    _ = try await device.worker.sync()
    #expect(api.count("POST /api/sessions") == 0)
    #expect(
      try await device.values("SELECT DISTINCT errorMessage FROM OfflineSyncQueue WHERE status = 'failed'")
        .allSatisfy { $0.contains("does not fit Session.serverId") })
  }

  @Test("A PUT sends fields that were cleared")
  func clearedFields() async throws {
    let api = try ScriptedAPI([
      "GET /api/rifles": { _ in #"{"items": [{"id": 1, "name": "Tikka"}]}"# },
      "GET /api/locations": { _ in #"{"items": []}"# }, "POST /api/sessions": { _ in #"{"id": 7}"# },
    ])
    let device = try RangeDevice(at: api.server.url, routes: Self.routes)
    try await device.sync()
    try await device.write {
      try $0.execute(
        "INSERT INTO OfflineSession (rifleSetupId, notes, windSpeed) SELECT min(rifleSetupId), 'x', 2 FROM OfflineRifleSetup"
      )
    }
    try await device.sync()
    #expect(try api.bodies("POST /api/sessions") == [["rifle": 1, "notes": "x", "wind": ["speed": 2]]])
    try await device.write { try $0.execute("UPDATE OfflineSession SET windSpeed = NULL") }
    try await device.sync()
    #expect(try api.bodies("PUT /api/sessions/7") == [["rifle": 1, "notes": "x", "wind": ["speed": .null]]])
    // Fields that were cleared before are not sent again, because the API already has null.
    try await device.write { try $0.execute("UPDATE OfflineSession SET notes = 'y'") }
    try await device.sync()
    #expect(try api.bodies("PUT /api/sessions/7").last == ["rifle": 1, "notes": "y"])
  }
}

/// Values in URL paths, and field positions in bodies.
@Suite struct RoutePlaceTests {
  @Test(
    "A value that would change the structure of a path is refused; every other value is encoded",
    arguments: [
      ("/a/{x}", "..", nil), ("/a/{x}", ".", nil), ("/a/{x}", "", nil), ("/a/{x}/b", "..", nil), ("/a/{x}/b", "", nil),
      ("/a/{x}{y}", ".", nil), ("/a/.{x}", ".", nil), ("/a/{x}", "../b", "/a/..%2Fb"), ("/a/{x}", "b/c", "/a/b%2Fc"),
      ("/a/{x}", "%2e%2e", "/a/%252e%252e"), ("/a/{x}", "...", "/a/..."), ("/a/v{x}", "..", "/a/v.."),
      ("/a/{x}", "?b#c", "/a/%3Fb%23c"), ("/a?x={x}", "..", "/a?x=.."), ("/a?x={x}", "", "/a?x="),
      ("/a/{x}?y=1", "..", nil), ("/a/{x}", "\r\nHost: b", "/a/%0D%0AHost%3A%20b"), ("/a/{x}.json", ".", "/a/..json"),
    ] as [(String, String, String?)])
  func values(template: String, value: String, path: String?) throws {
    let template = try PathTemplate(template)
    if let path {
      #expect(try template.path { _ in value } == path)
    } else {
      #expect(throws: PathTemplate.UnsafePathValue.self) { try template.path { _ in value } }
    }
  }

  @Test(
    "A relative, malformed or non-normalized path in a route file is refused",
    arguments: ["a", "//a", "/a/../b", "/a/./b", "/a/%2E%2e/b", "/a#b", "/a b", "/a\\b", "/a\r\nb", "/ä", "@a", ""])
  func paths(text: String) { #expect(throws: RouteProblem.self) { try PathTemplate(text) } }

  @Test(
    "A route file cannot set headers of the transport",
    arguments: [
      "Authorization", "authorization", "Host", "Content-Length", "Transfer-Encoding", "Cookie", "Connection",
      "Upgrade",
      "TE", "Trailer", "Expect", "Proxy-Authorization", "Content-Type", "Accept-Encoding", "X Y", "X:", "X\\r\\nHost",
    ])
  func headers(name: String) {
    let json = """
      {"format": 1, "service": "x", "entities": {"A": {"create": "POST /a", "repeat": {"header": "\(name)"}}}}
      """
    let error = #expect(throws: RouteFileError.self) { try RouteFile(json: json) }
    #expect(error?.problems.map(\.place) == ["entities.A.repeat.header"])
  }

  @Test("A field position within another field's position is refused, and the error names both")
  func prefixes() {
    let json = """
      {"format": 1, "service": "x", "entities": {"A": {"fields": {"name": "x", "address": "x.y", "c": "x.y.z", "d": "xy"}}}}
      """
    let error = #expect(throws: RouteFileError.self) { try RouteFile(json: json) }
    #expect(
      error?.problems.map { "\($0.place): \($0.message)" } == [
        "entities.A.fields.address: 'x.y' is within 'x', the place of name",
        "entities.A.fields.c: 'x.y.z' is within 'x.y', the place of address",
      ])
  }

  @Test("With an accepted route file, every field is sent once at its position and reads back")
  func everyFieldArrives() throws {
    let seed = UInt64.random(in: .min ... .max)
    var random = Seeded(seed)
    var accepted = 0
    for _ in 0..<2_000 {
      var places: [String: String] = [:]
      for field in 0..<Int.random(in: 1...6, using: &random) {
        let depth = Int.random(in: 1...3, using: &random)
        places["f\(field)"] = (0..<depth).map { _ in ["a", "b", "c", "aa"].randomElement(using: &random) ?? "" }
          .joined(separator: ".")
      }
      var object = SyncObject()
      for (name, place) in places { object[name] = .text(place) }
      let json = SyncValue.object([
        "format": 1, "service": "x", "entities": ["A": ["fields": .object(object)]],
      ]).json
      let all = Array(places.values)
      let collides = all.indices.contains { one in
        all.indices.contains { $0 != one && (all[$0] + ".").hasPrefix(all[one] + ".") }
      }
      do {
        let fields = try #require(try RouteFile(json: json).entities["A"]?.fields)
        accepted += 1
        #expect(!collides, "seed \(seed): \(json)")
        var body = SyncObject()
        for (name, place) in fields { place.set(.text("value of \(name)"), in: &body) }
        for (name, place) in fields {
          #expect(place.value(in: .object(body)) == .text("value of \(name)"), "seed \(seed)")
        }
        #expect(Self.leaves(.object(body)) == fields.count, "seed \(seed): \(json)")
      } catch let error as RouteFileError {
        #expect(
          collides && error.problems.allSatisfy { $0.place.hasPrefix("entities.A.fields.") }, "seed \(seed): \(json)")
      }
    }
    #expect(accepted > 100)
  }

  private static func leaves(_ value: SyncValue) -> Int {
    guard case .object(let object) = value else { return 1 }
    return object.members.reduce(0) { $0 + leaves($1.value) }
  }
}
