import CipherSQL
import RestorationModel
import SyncModel
import Testing

@testable import VaultStore
@testable import SyncEngine

/// A server that would keep a round going for ever: the round ends, says why, and loses nothing.
@Suite struct EndlessRoundTests {
  private let server: LocalServer
  private let device: Device
  private let remote: InterveningRemote
  private let worker: SyncWorker

  init() async throws {
    server = try LocalServer()
    device = try await Device("ada", at: server)
    remote = InterveningRemote(remote: await device.worker.remote)
    worker = SyncWorker(vault: device.vault, remote: remote, monitor: NetworkMonitor(fixed: .online))
    try await device.write { _ = try $0.insert(Project(title: "House")) }
    try await device.sync()
  }

  /// Responses of a faulty server after which the edit is still unsent.
  static let faults: [(name: String, outcome: PushResult.Outcome)] = [
    ("not executed", .waiting(for: "another operation")),
    ("accepted at an older version", .accepted(version: 1, serverId: nil)),
  ]

  @Test("A record that responses queue again is sent at most 20 times more in a round", arguments: 0..<faults.count)
  func recordThatIsNeverTaken(fault: Int) async throws {
    // So that version 1 is an older one.
    try await device.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'Birch'") }
    #expect(try await worker.sync().outcome == .done)
    let before = remote.sent.count
    remote.intervene({ _ in }) { number, response in
      // The fault lasts, but the test ends.
      guard number <= 100 else { return }
      response.results = response.results.map {
        PushResult(operationId: $0.operationId, outcome: Self.faults[fault].outcome)
      }
    }
    try await device.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'Elm'") }
    let report = try await worker.sync()
    #expect(report.outcome == .offline && report.failure?.message.contains("was sent 20 times") == true)
    #expect(remote.sent.count == before + 21)
    #expect(try await device.waiting() == 1)
    remote.intervene { _ in }
    #expect(try await worker.sync().outcome == .done)
    #expect(try await device.waiting() == 0)
    #expect(try await device.values("SELECT title FROM OfflineProject") == ["Elm"])
  }

  @Test("Pages that bring nothing and name no end stop the pull", arguments: [true, false])
  func pagesWithoutEnd(isSamePlace: Bool) async throws {
    let epoch = try #require(try await device.setting(.epoch))
    remote.respondToChanges { number, cursor in
      // As above: the fault lasts for longer than a device asks.
      ChangesPage(
        serverTime: Clock.system.now(), epoch: epoch, changes: [],
        cursor: isSamePlace ? cursor ?? "" : "place \(number)",
        hasMore: number <= 100, remaining: nil)
    }
    try await device.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'Elm'") }
    let report = try await worker.sync()
    let reason = isSamePlace ? "more changes at the same cursor" : "sends only empty pages"
    #expect(report.outcome == .offline && report.failure?.message.contains(reason) == true)
    #expect(remote.pulls == (isSamePlace ? 1 : 21))
    #expect(try await device.waiting() == 1)
  }
}
