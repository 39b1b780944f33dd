import CipherSQL
import RawNetwork
import SyncModel
import TestSupport
import Testing

@testable import SyncEngine

/// A create that the API may have stored, and edits of its record before the next attempt.
@Suite(.serialized) struct RepeatTests {
  /// The rule by which a repetition is harmless.
  enum Rule: String, CaseIterable { case header, lookUp }

  /// Refuses or does not name the record of the first attempts, and has stored the very first one.
  private static func api(_ rule: Rule, stored: String, refusals: Int = 1) throws -> RawServer {
    let posts = Locked(0)
    let lists = Locked(0)
    return try RawServer { request, connection in
      func next(_ count: Locked<Int>) -> Int {
        count.withLock { count in
          count += 1
          return count
        }
      }
      let line = request.line
      if line.hasPrefix("GET") {
        return connection.send(responseText(#"{"items": [\#(next(lists) == 1 ? "" : stored)]}"#))
      }
      guard line.hasPrefix("POST") else { return connection.send(responseText("{}")) }
      if rule == .lookUp { return connection.send(responseText("{}", status: "201 Created")) }
      let number = next(posts)
      return connection.send(
        number > 1 + refusals ? responseText(stored) : responseText("{}", status: number == 1 ? "500 No" : "409 Busy"))
    }
  }

  private static func routes(_ rule: Rule, update: String = #""update": "PATCH /stations/{id}", "#) -> String {
    let repeats =
      rule == .header
      ? #"{"header": "Idempotency-Key"}"# : #"{"lookUp": "GET /stations", "items": "items", "match": ["code"]}"#
    return #"""
      {"format": 1, "service": "x", "entities": {"Station": {\#(update)
        "fields": {"code": "code", "title": "title", "note": "note", "amount": "amount"},
        "create": "POST /stations", "repeat": \#(repeats)}}}
      """#
  }

  /// Sends a station until its create has failed and may be stored.
  private static func deviceWithPerhapsStored(_ api: RawServer, _ routes: String) async throws -> StationDevice {
    let device = try StationDevice(at: api.url, routes: routes)
    try await device.write(
      """
      INSERT INTO OfflineStation (uuid, code, title, note)
      VALUES ('01a2018d-005b-7000-b94a-f37cd09dd8f6', 'mine', 'old', 'x')
      """)
    for _ in 0..<2 {
      _ = try await device.worker.sync(RoundRequest(pulls: false))
      try await device.write("UPDATE OfflineStation SET createdAt = createdAt")
    }
    #expect(try await device.values("SELECT status FROM OfflineSyncQueue WHERE completedAt IS NULL") == ["failed"])
    return device
  }

  private static let stored = #"{"id": 7, "code": "mine", "title": "old", "note": "x", "amount": 5}"#

  @Test(
    "Edits after a create that the API has stored are sent as a change of the stored record", arguments: Rule.allCases)
  func editAfterStoredCreate(rule: Rule) async throws {
    let api = try Self.api(rule, stored: Self.stored)
    defer { api.close() }
    let device = try await Self.deviceWithPerhapsStored(api, Self.routes(rule))
    try await device.write("UPDATE OfflineStation SET title = 'new', note = NULL")
    _ = try await device.worker.sync(RoundRequest(pulls: false))
    let changes = api.requests.filter { $0.line.hasPrefix("PATCH") }
    #expect(changes.map(\.line) == ["PATCH /stations/7 HTTP/1.1"])
    // The amount is a default of the API, and no value of the user.
    #expect(changes.map { String(decoding: $0.body, as: UTF8.self) } == [#"{"note":null,"title":"new"}"#])
    let keys = api.requests.compactMap { $0.headers["idempotency-key"] }
    #expect(Set(keys).count == (rule == .header ? 2 : 0))
    #expect(try await device.values("SELECT serverId || ' ' || title FROM OfflineStation") == ["7 new"])
    #expect(try await device.values("SELECT status FROM OfflineSyncQueue WHERE completedAt IS NULL") == [])
  }

  @Test("Without a route for changes, such edits fail and stay on the device", arguments: Rule.allCases)
  func editWithoutRoute(rule: Rule) async throws {
    let api = try Self.api(rule, stored: Self.stored)
    defer { api.close() }
    let device = try await Self.deviceWithPerhapsStored(api, Self.routes(rule, update: ""))
    try await device.write("UPDATE OfflineStation SET title = 'new'")
    for _ in 0..<2 {
      _ = try await device.worker.sync(RoundRequest(pulls: false))
      #expect(
        try await device.values("SELECT status || ' ' || errorMessage FROM OfflineSyncQueue WHERE completedAt IS NULL")
          == ["failed the server already has the record with another title and accepts no changes to Station records"])
      try await device.retryAll()
    }
    #expect(try await device.values("SELECT title FROM OfflineStation") == ["new"])
    try await device.write("UPDATE OfflineStation SET title = 'old'")
    _ = try await device.worker.sync(RoundRequest(pulls: false))
    #expect(try await device.values("SELECT serverId || ' ' || syncStatus FROM OfflineStation") == ["7 synced"])
  }

  /// Such an API keeps no versions, so the sent values win.
  @Test("A repetition sends the values that differ at the API", arguments: Rule.allCases)
  func differentValues(rule: Rule) async throws {
    let api = try Self.api(rule, stored: #"{"id": 7, "code": "mine", "title": "theirs", "note": "x", "amount": 5}"#)
    defer { api.close() }
    let device = try await Self.deviceWithPerhapsStored(api, Self.routes(rule))
    try await device.retryAll()
    _ = try await device.worker.sync(RoundRequest(pulls: false))
    let bodies = api.requests.filter { $0.line.hasPrefix("PATCH") }.map { String(decoding: $0.body, as: UTF8.self) }
    #expect(bodies == [#"{"title":"old"}"#])
    #expect(try await device.values("SELECT serverId || ' ' || syncStatus FROM OfflineStation") == ["7 synced"])
  }

  @Test("A repetition of the same payload under its key keeps the values that another program has stored meanwhile")
  func changedMeanwhile() async throws {
    let posts = Locked(0)
    let api = try RawServer { request, connection in
      guard request.line.hasPrefix("POST") else { return connection.send(responseText("{}")) }
      let number = posts.withLock { posts in
        posts += 1
        return posts
      }
      let stored = #"{"id": 7, "code": "mine", "title": "theirs", "note": "x", "amount": 5}"#
      return connection.send(number == 1 ? responseText("{}", status: "500 No") : responseText(stored))
    }
    defer { api.close() }
    let device = try StationDevice(at: api.url, routes: Self.routes(.header))
    try await device.write(
      """
      INSERT INTO OfflineStation (uuid, code, title, note)
      VALUES ('01a2018d-005b-7000-b94a-f37cd09dd8f6', 'mine', 'old', 'x')
      """)
    _ = try await device.worker.sync(RoundRequest(pulls: false))
    // This edit is sent on its own, after the create.
    try await device.write("UPDATE OfflineStation SET note = 'y'")
    for _ in 0..<2 { _ = try await device.worker.sync(RoundRequest(pulls: false)) }
    let keys = api.requests.filter { $0.line.hasPrefix("POST") }.map { $0.headers["idempotency-key"] }
    #expect(keys.count == 2 && Set(keys).count == 1)
    let changes = api.requests.filter { $0.line.hasPrefix("PATCH") }.map { String(decoding: $0.body, as: UTF8.self) }
    #expect(changes == [#"{"note":"y"}"#])
    #expect(try await device.values("SELECT serverId || ' ' || syncStatus FROM OfflineStation") == ["7 synced"])
  }

  @Test("The deletion of a record that the API may have stored reaches the API", arguments: Rule.allCases)
  func deletionAfterStoredCreate(rule: Rule) async throws {
    let api = try Self.api(rule, stored: Self.stored)
    defer { api.close() }
    let device = try await Self.deviceWithPerhapsStored(
      api, Self.routes(rule, update: #""delete": "DELETE /stations/{id}", "#))
    try await device.write("DELETE FROM OfflineStation")
    _ = try await device.worker.sync(RoundRequest(pulls: false))
    #expect(api.requests.filter { $0.line.hasPrefix("DELETE") }.map(\.line) == ["DELETE /stations/7 HTTP/1.1"])
    #expect(try await device.values("SELECT status FROM OfflineSyncQueue WHERE completedAt IS NULL") == [])
  }

  @Test("The deletion of a record that the API may have stored survives a refusal of the repetition")
  func deletionAfterRefusal() async throws {
    let api = try Self.api(.header, stored: Self.stored, refusals: 2)
    defer { api.close() }
    let device = try await Self.deviceWithPerhapsStored(
      api, Self.routes(.header, update: #""delete": "DELETE /stations/{id}", "#))
    try await device.write("DELETE FROM OfflineStation")
    _ = try await device.worker.sync(RoundRequest(pulls: false))
    #expect(try await device.values("SELECT status FROM OfflineSyncQueue WHERE completedAt IS NULL") == ["failed"])
    try await device.retryAll()
    _ = try await device.worker.sync(RoundRequest(pulls: false))
    #expect(api.requests.filter { $0.line.hasPrefix("DELETE") }.map(\.line) == ["DELETE /stations/7 HTTP/1.1"])
    #expect(try await device.values("SELECT status FROM OfflineSyncQueue WHERE completedAt IS NULL") == [])
  }

  // Found by the simulation, seed 3971: the restored record was created a second time.
  @Test("A record whose create the API may have stored cannot be restored after a discard", arguments: Rule.allCases)
  func discardAfterStoredCreate(rule: Rule) async throws {
    let api = try Self.api(rule, stored: Self.stored)
    defer { api.close() }
    let device = try await Self.deviceWithPerhapsStored(api, Self.routes(rule))
    let posts = api.requests.count { $0.line.hasPrefix("POST") }
    try await device.discard("Station")
    try await device.write("UPDATE OfflineStation SET isDeleted = 0")
    try await device.write("UPDATE OfflineStation SET title = 'new'")
    _ = try await device.worker.sync(RoundRequest(pulls: false))
    #expect(api.requests.count { $0.line.hasPrefix("POST") } == posts)
    #expect(try await device.values("SELECT title FROM OfflineStation") == [])
  }
}
