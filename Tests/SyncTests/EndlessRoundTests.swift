import CipherSQL
import RestorationModel
import SyncModel
import Testing

@testable import OfflineStore
@testable import SyncEngine

/// A faulty server that would keep a round running endlessly. The round ends, reports the reason and loses nothing.
@Suite struct EndlessRoundTests {
  private let server: LocalServer
  private let device: Device
  private let remote: InterveningRemote
  private let worker: SyncWorker

  init() async throws {
    server = try LocalServer()
    device = try await Device("ada", at: server)
    remote = InterveningRemote(remote: await device.worker.remote)
    worker = SyncWorker(vault: device.vault, remote: remote, monitor: NetworkMonitor(fixed: .online), jitter: { 0 })
    try await device.write { _ = try $0.insert(Project(title: "House")) }
    try await device.sync()
  }

  @Test("A round resends an operation that the server never stores at most 20 times")
  func recordThatIsNeverTaken() async throws {
    remote.intervene({ _ in }) { number, answer in
      // The fault lasts longer than the device retries, but ends so that the test cannot hang.
      guard number <= 100 else { return }
      answer.results = answer.results.map {
        PushResult(operationId: $0.operationId, outcome: .waiting(for: "another operation"))
      }
    }
    try await device.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'Elm'") }
    let report = try await worker.sync()
    #expect(report.outcome == .offline && report.failure?.message.contains("was sent 20 times") == true)
    #expect(remote.sent.count == 21)
    #expect(try await device.waiting() == 1)
    remote.intervene { _ in }
    #expect(try await worker.sync().outcome == .done)
    #expect(try await device.waiting() == 0)
    #expect(try await device.values("SELECT title FROM OfflineProject") == ["Elm"])
  }

  @Test("A pull stops when empty pages repeat a cursor or never end", arguments: [true, false])
  func pagesWithoutEnd(isSamePlace: Bool) async throws {
    let epoch = try #require(try await device.setting(.epoch))
    remote.answerChanges { number, cursor in
      // As above, the fault lasts longer than the device continues to ask.
      ChangesPage(
        serverTime: Vault.now, epoch: epoch, changes: [], cursor: isSamePlace ? cursor ?? "" : "place \(number)",
        hasMore: number <= 100, remaining: nil)
    }
    try await device.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'Elm'") }
    let report = try await worker.sync()
    let reason = isSamePlace ? "where it was asked already" : "one empty page after the other"
    #expect(report.outcome == .offline && report.failure?.message.contains(reason) == true)
    #expect(remote.pulls == (isSamePlace ? 1 : 21))
    #expect(try await device.waiting() == 1)
  }
}
