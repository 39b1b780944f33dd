import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import TestSupport
import Testing

@testable import VaultStore
@testable import SyncEngine

/// A server or proxy that temporarily adds members and records that this vault does not know.
@Suite struct ForeignMembersTests {
  private static let names = [
    "later", "", " ", "x.y", "Title", "isDirty", "syncStatus", "rowid", "a\nb", "\u{1F680}",
    String(repeating: "n", count: 300),
  ]
  private static let types = [
    "Spaceship", "", "a\u{0}b", "offlineRoom", "sqlite_schema", String(repeating: "t", count: 250),
  ]

  /// Adds random members and records, unknown to every schema, to the records of a response.
  private static func disturb(_ records: inout [RemoteRecord], _ random: inout Seeded) {
    for index in records.indices {
      for _ in 0..<Int.random(in: 0...2, using: &random) {
        let name = names.randomElement(using: &random) ?? ""
        let value =
          [.integer(5), .null, .text("new"), .array([]), .bool(true)].randomElement(using: &random) ?? SyncValue.null
        records[index].state.fields[name] = value
      }
    }
    guard Int.random(in: 0..<3, using: &random) == 0 else { return }
    records.append(
      RemoteRecord(
        entityType: types.randomElement(using: &random) ?? "", entityUuid: UUID().uuidString.lowercased(),
        serverId: nil,
        createdAt: 0,
        state: RecordState(fields: ["speed": 5], syncVersion: 1, updatedAt: 1_000)))
  }

  @Test(
    "After a server has sent unknown members and records, the next comparison restores agreement",
    arguments: [1, 2, UInt64.random(in: 1...UInt64.max)])
  func agreement(seed: UInt64) async throws {
    let random = Locked(Seeded(seed))
    func draw(_ count: Int) -> Int { random.withLock { Int.random(in: 0..<count, using: &$0) } }
    let server = try LocalServer()
    let (one, two) = (try await Device("ada", at: server), try await Device("ben", at: server))
    let remote = InterveningRemote(remote: await two.worker.remote)
    let worker = SyncWorker(vault: two.vault, remote: remote, monitor: NetworkMonitor(fixed: .online))
    try await one.write { db in
      try db.insert(Project(title: "House"))
      for number in 1...6 { try db.insert(Room(projectId: 1, title: "room \(number)")) }
    }
    try await one.sync()
    remote.intervene({ _ in }) { _, response in
      response.results = response.results.map { result in
        guard case .merged(let record, let lost) = result.outcome else { return result }
        var records = [record]
        random.withLock { Self.disturb(&records, &$0) }
        return PushResult(operationId: result.operationId, outcome: .merged(records[0], lost: lost))
      }
    }
    remote.changeRecords { records in random.withLock { Self.disturb(&records, &$0) } }
    for step in 0..<12 {
      let (room, device) = (draw(6) + 1, draw(2) == 0 ? one : two)
      let column = draw(2) == 0 ? "title" : "level"
      try await device.write {
        _ = try $0.execute(
          "UPDATE OfflineRoom SET \(identifier: column) = \("step \(step)") WHERE title IS NOT NULL AND rowid = \(room)"
        )
      }
      if draw(2) == 0 { try await one.sync() }
      let report = try await worker.sync(RoundRequest(isFull: draw(4) == 0))
      #expect(report.outcome == .done, "seed \(seed), step \(step): \(String(describing: report.failure))")
    }
    // From here on the responses are those of the server, unchanged.
    for conflict in try two.conflicts() { try two.resolve(conflict.conflictId, takesLocal: true) }
    for device in [two, one, two] { try await device.sync() }
    try await two.sync(RoundRequest(isFull: true))
    #expect(try await two.sync(RoundRequest(isFull: true)).repaired == 0, "seed \(seed)")
    #expect(try await one.digests() == two.digests(), "seed \(seed)")
    #expect(try await two.values("SELECT entityType || fields FROM SyncExtraFields") == [], "seed \(seed)")
    #expect(
      try await two.values(
        "SELECT entityType FROM SyncInbox WHERE entityType NOT IN ('Spaceship', 'offlineRoom', 'sqlite_schema')") == [],
      "seed \(seed)")
    #expect(try await two.waiting() == 0, "seed \(seed)")
  }
}
