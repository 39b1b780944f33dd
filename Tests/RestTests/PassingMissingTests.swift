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

/// An API responds once with 404 for a record that it still has, for example from a replica that lags.
@Suite(.serialized) struct PassingMissingTests {
  private static let routes = #"""
    {"format": 1, "service": "x", "freshSeconds": 0, "entities": {
      "Station": {"fields": {"code": "code"}, "list": {"request": "GET /stations", "items": "items"}},
      "Site Visit": {"fields": {"code": "code", "stationId": "station", "title": "title"}, "update": "PATCH /visits/{id}",
        "create": "POST /visits", "repeat": {"mayDuplicate": true}, "list": {"request": "GET /visits", "items": "items"}},
      "Finding": {"fields": {"code": "code", "visitId": "visit"}, "update": "PATCH /findings/{id}", "delete": "DELETE /findings/{id}",
        "list": {"request": "GET /findings", "items": "items"}}
    }}
    """#

  /// The statuses of the next responses to changes; `nil` for a lost response. 200 afterwards.
  let changes = Locked<[String?]>([])
  /// The ids of the findings that the API has.
  let findings = Locked<Set<String>>(["3", "4"])
  let api: RawServer
  let device: StationDevice

  init() async throws {
    api = try RawServer { [changes, findings] request, connection in
      let line = request.line
      if line.hasPrefix("PATCH") {
        let status = changes.withLock { $0.isEmpty ? "200 OK" : $0.removeFirst() }
        return status.map { connection.send(responseText("{}", status: $0)) } ?? false
      }
      if line.hasPrefix("DELETE /findings/") {
        let id = String(line.dropFirst("DELETE /findings/".count).prefix(1))
        let removed = findings.withLock { $0.remove(id) }
        return connection.send(responseText("", status: removed == nil ? "404 No" : "204 Done"))
      }
      if line.hasPrefix("POST") { return connection.send(responseText(#"{"id": 9}"#, status: "201 Created")) }
      if line.hasPrefix("GET /stations ") {
        return connection.send(responseText(#"{"items": [{"id": 1, "code": "s"}]}"#))
      }
      if line.hasPrefix("GET /visits ") {
        return connection.send(responseText(#"{"items": [{"id": 2, "code": "v", "station": 1}]}"#))
      }
      let items = findings.withLock { $0 }.sorted().map { #"{"id": \#($0), "code": "f\#($0)", "visit": 2}"# }
      return connection.send(responseText(#"{"items": [\#(items.joined(separator: ","))]}"#))
    }
    device = try StationDevice(at: api.url, routes: Self.routes)
    _ = try await device.worker.sync()
  }

  private func expectDeletedOnce() async throws {
    for _ in 0..<3 { _ = try await device.worker.sync() }
    #expect(api.requests.count { $0.line.hasPrefix("DELETE") } == 1)
    #expect(findings.withLock { $0 } == ["4"])
    #expect(try await device.values("SELECT code FROM OfflineFinding WHERE isDeleted = 0") == ["f4"])
    #expect(try await device.values("SELECT status FROM OfflineSyncQueue WHERE completedAt IS NULL") == [])
  }

  /// Seed 710041 of the simulation.
  @Test("A deletion is sent although its parent seemed to be missing", arguments: [true, false])
  func deletionBelowMissingParent(restoresParent: Bool) async throws {
    defer { api.close() }
    changes.withLock { $0 = ["404 No"] }
    try await device.write("UPDATE OfflineSiteVisit SET title = 'mine'")
    try await device.write("DELETE FROM OfflineFinding WHERE code = 'f3'")
    _ = try await device.worker.sync(RoundRequest(pulls: false))
    try await device.resolveAll(takesLocal: restoresParent)
    try await expectDeletedOnce()
  }

  @Test("A deletion is sent although a repeated change of the record got 404")
  func deletionAfterMissingChange() async throws {
    defer { api.close() }
    changes.withLock { $0 = [nil, "404 No"] }
    try await device.write("UPDATE OfflineFinding SET code = 'f3, edited' WHERE code = 'f3'")
    _ = try await device.worker.sync(RoundRequest(pulls: false))
    try await device.write("DELETE FROM OfflineFinding WHERE code = 'f3, edited'")
    _ = try await device.worker.sync(RoundRequest(pulls: false))
    try await expectDeletedOnce()
  }
}
