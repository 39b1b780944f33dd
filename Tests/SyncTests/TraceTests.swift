import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import Testing

@testable import OfflineStore
@testable import SyncEngine

/// The trace helps somebody else and tells nothing of what was recorded.
@Suite struct TraceTests {
  @Test func aTraceCountsAndTellsNoValue() async throws {
    let server = try LocalServer()
    let one = try await Device("ada", at: server)
    try await one.write { db in
      let project = try db.insert(Project(title: "Mill Lane secret"))
      try db.insert(Room(projectId: project.projectId, title: "Kitchen secret"))
    }
    let report = try await one.sync()
    #expect(report.bytesSent > 500 && report.bytesReceived > 200)
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
  func trace() throws -> String { try vault.trace() }
}
