import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import Testing

@testable import VaultStore
@testable import SyncEngine

/// Timestamps that an application writes, as when it writes whole records back.
@Suite struct CommonFieldTests {
  @Test(
    "A write that changes only the timestamps of a synced record leaves the record unchanged",
    arguments: [
      "title = title, updatedAt = '2020-01-02T03:04:05.678Z'", "updatedAt = '2020-01-02T03:04:05.678Z'",
      "createdAt = '2020-01-02T03:04:05.678Z'",
      "createdAt = '2020-01-02T03:04:05.678Z', updatedAt = '2020-01-02T03:04:05.678Z', title = 'House'",
    ])
  func timesAlone(assignments: String) async throws {
    let server = try LocalServer()
    let one = try await Device("ada", at: server)
    try await one.write { _ = try $0.insert(Project(title: "House")) }
    try await one.sync()
    let before = try await one.values("SELECT createdAt || ' ' || updatedAt FROM OfflineProject")
    let digests = try await one.digests()
    try await one.write { _ = try $0.execute(SQL(raw: "UPDATE OfflineProject SET \(assignments)")) }
    #expect(try await one.digests() == digests)
    #expect(try await one.values("SELECT createdAt || ' ' || updatedAt FROM OfflineProject") == before)
    #expect(try await one.sync(RoundRequest(isFull: true)).repaired == 0)
  }

  @Test("An edit that also writes timestamps reaches the server and keeps createdAt")
  func editWithTimes() async throws {
    let server = try LocalServer()
    let one = try await Device("ada", at: server)
    try await one.write { _ = try $0.insert(Project(title: "House")) }
    try await one.sync()
    let created = try await one.values("SELECT createdAt FROM OfflineProject")
    try await one.write {
      _ = try $0.execute(
        """
        UPDATE OfflineProject SET title = 'Barn', updatedAt = '2020-01-02T03:04:05.678Z',
          createdAt = '2020-01-02T03:04:05.678Z'
        """)
    }
    try await one.sync()
    #expect(try await one.values("SELECT createdAt FROM OfflineProject") == created)
    #expect(try await one.sync(RoundRequest(isFull: true)).repaired == 0)
  }
}
