import CipherSQL
import HTTPClient
import RestorationModel
import SyncModel
import TestSupport
import Testing

@testable import VaultStore
@testable import SyncEngine

/// A device and a server with clocks of their own, years away from the clock of the machine.
@Suite struct InjectedTimeTests {
  /// 2041-01-01T00:00:00Z.
  private static let start: Int64 = 2_240_611_200_000
  private static let tenYears: Int64 = 3652 * 86_400_000

  @Test("A round measures the distance between the clocks of device and server, whatever the machine's clock says")
  func clockOffset() async throws {
    let (device, server) = (TestClock(Self.start), TestClock(Self.start + Self.tenYears))
    let local = try LocalServer(environment: Environment(clock: server.clock, random: .system))
    let one = try await Device(
      "ada", at: local, environment: Environment(clock: device.clock, random: .system, jitter: { 0 }))
    try await one.write { _ = try $0.execute("INSERT INTO OfflineProject (title) VALUES ('House')") }
    try await one.sync()
    let text = try #require(try await one.setting(.clockOffset))
    let offset = try #require(Int64(text))
    #expect(abs(offset - Self.tenYears) < 60_000)
    #expect(try await one.values("SELECT lastSyncedAt FROM OfflineProject")[0].hasPrefix("2051-01-01T00:0"))
    #expect(try await one.values("SELECT startedAt FROM SyncRun")[0].hasPrefix("2041-01-01T00:0"))
  }

  @Test("A running worker retries and performs its regular rounds by the vault's clock")
  func waits() async throws {
    let time = TestClock(Self.start, isRunning: false)
    let server = try LocalServer()
    let one = try await Device(
      "ada", at: server, environment: Environment(clock: time.clock, random: .system, jitter: { 1 }))
    let remote = InterveningRemote(remote: await one.worker.remote)
    remote.able.withLock { $0.watches = false }
    remote.intervene { number in
      guard number == 1 else { return }
      throw RemoteFailure(.attempt, message: "", hint: "")
    }
    try await one.write { _ = try $0.insert(Project(title: "House")) }
    let worker = SyncWorker(vault: one.vault, remote: remote, monitor: NetworkMonitor(fixed: .online))
    let running = Task { try await worker.run() }
    try await eventually("the first attempt") {
      try await one.values("SELECT coalesce(scheduledAt, '') FROM OfflineSyncQueue") == ["2041-01-01T00:00:01.500Z"]
    }
    time.advance(by: .milliseconds(1_499))
    try await Task.sleep(for: .milliseconds(300))
    #expect(remote.sent.count == 1)
    time.advance(by: .milliseconds(1))
    try await eventually("the second attempt") {
      guard try await one.waiting() == 0 else { return false }
      return try await one.value("SELECT 1 FROM SyncRun WHERE endedAt IS NULL", as: Int.self) == nil
    }
    func rounds() async throws -> Int {
      try await one.value("SELECT count(*) FROM SyncRun WHERE cause = 'timer' AND outcome = 'done'", as: Int.self) ?? 0
    }
    let before = try await rounds()
    try await Task.sleep(for: .milliseconds(300))
    #expect(try await rounds() == before)
    time.advance(by: .seconds(15 * 60))
    try await eventually("the regular round") { try await rounds() == before + 1 }
    running.cancel()
    _ = await running.result
  }

  /// Waits until a condition holds. The limit only guards against a hang.
  private func eventually(
    _ what: String, _ place: SourceLocation = #_sourceLocation, _ isTrue: () async throws -> Bool
  ) async throws {
    for _ in 0..<3_000 {
      if try await isTrue() { return }
      try await Task.sleep(for: .milliseconds(20))
    }
    Issue.record("\(what) did not happen", sourceLocation: place)
  }
}
