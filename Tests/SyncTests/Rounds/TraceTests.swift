import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import Testing

@testable import VaultStore
@testable import SyncEngine

/// The trace supports a diagnosis by a third party and reveals no recorded data.
@Suite struct TraceTests {
  @Test("A trace contains counts and no recorded value, identifier, user or address")
  func aTraceCountsAndTellsNoValue() async throws {
    let server = try LocalServer()
    let one = try await Device("ada", at: server)
    try await one.write { db in
      let project = try db.insert(Project(title: "Mill Lane secret"))
      try db.insert(Room(projectId: project.projectId, title: "Kitchen secret"))
      for (days, cause) in [(31, "timer"), (29, "network")] {
        let time: SQL = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', \("-\(days) days"))"
        try db.execute(
          "INSERT INTO SyncRun (startedAt, endedAt, cause, outcome) VALUES (\(time), \(time), \(cause), 'done')")
      }
    }
    let report = try await one.sync()
    #expect(report.bytesSent > 500 && report.bytesReceived > 200)
    // The history has the figures of each round, for 30 days.
    let history = try one.history()
    #expect(history.map(\.cause) == ["manual", "network"])
    let newest = try #require(history.first)
    #expect(newest.pushed == 2 && newest.pulled == 0 && newest.conflicts == 0 && newest.failed == 0)
    #expect(newest.outcome == "done" && newest.startedAt < newest.endedAt ?? "")
    #expect(newest.bytesSent == report.bytesSent && newest.bytesReceived == report.bytesReceived)
    try await one.write { _ = try $0.execute("UPDATE OfflineRoom SET title = 'Attic secret'") }
    let text = try one.trace()
    guard case .object(let trace) = try SyncValue(parsing: text) else { return }
    #expect(trace["pending"] == 1 && trace["openConflicts"] == 0)
    let uuid = try #require(try await one.value("SELECT uuid FROM OfflineRoom", as: String.self))
    for hidden in ["secret", uuid, "ada", "water", server.server.url, "fv_"] { #expect(!text.contains(hidden)) }
    #expect(text.contains(#""pushed":2"#) && text.contains(#""operationType":"update""#))
  }
}

extension Device {
  func history() throws -> [SyncRunEntry] { try vault.history(limit: 10) }
  func trace() throws -> String { try vault.trace() }
}
