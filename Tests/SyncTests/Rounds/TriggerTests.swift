import CipherSQL
import Foundation
import ReceiptsModel
import SyncModel
import TestSupport
import Testing

@testable import VaultStore
@testable import SyncEngine
import HTTPClient

/// The triggers that start a round of a running worker.
@Suite struct TriggerTests {
  private let home: Household
  private var one: Device { home.phone }
  private var two: Device { home.tablet }

  init() async throws { home = try await Household(environment: .system { 1 }) }

  /// Waits until a condition holds. The limit only guards against a hang.
  private func rounds(_ cause: String, _ outcome: String = "done") async throws -> Int {
    try await one.value("SELECT count(*) FROM SyncRun WHERE cause = \(cause) AND outcome = \(outcome)", as: Int.self)
      ?? 0
  }

  @discardableResult
  private func add(_ name: String, to device: Device) async throws -> UUID {
    try await device.write { try $0.insert(Receipt(storeName: name)).uuid }
  }

  private func uploads() async throws -> [String] {
    try await one.values("SELECT uploadStatus FROM OfflineReceiptImage")
  }

  /// Returns a remote that does not report changes, so that only the trigger of the test starts a round.
  private func silentRemote() async -> InterveningRemote {
    let remote = InterveningRemote(remote: await one.worker.remote)
    remote.able.withLock { $0.watches = false }
    return remote
  }

  private func worker(_ remote: any Remote, _ monitor: NetworkMonitor = NetworkMonitor(fixed: .online)) -> SyncWorker {
    SyncWorker(vault: one.vault, remote: remote, monitor: monitor)
  }

  @Test("When the network returns, a worker sends records and files and fetches changes of other devices")
  func theNetworkIsBack() async throws {
    let monitor = NetworkMonitor(fixed: .online)
    let worker = worker(await one.worker.remote, monitor)
    let running = Task { try await worker.run() }
    try await eventually("the first round") { try await rounds("resume") == 1 }
    monitor.isForcedOffline = true
    _ = try one.attach(bytes: 5_000, to: try await add("Here", to: one))
    try await add("There", to: two)
    try await two.sync()
    try await Task.sleep(for: .milliseconds(200))
    #expect(try await one.values("SELECT storeName FROM OfflineReceipt") == ["Here"])
    #expect(try await one.waiting() == 2)
    #expect(try await uploads() == ["pending"])

    monitor.isForcedOffline = false
    try await eventually("the upload") { try await uploads() == ["completed"] }
    try await eventually("the change of the other device") {
      try await one.values("SELECT storeName FROM OfflineReceipt ORDER BY storeName") == ["Here", "There"]
    }
    try await eventually("the end of the round") { try await rounds("network") >= 1 }
    #expect(try await one.waiting() == 0)
    running.cancel()
    _ = await running.result
  }

  @Test("A worker whose token was refused leaves the server alone until the app returns to the foreground")
  func resumeEndsAPause() async throws {
    let remote = await silentRemote()
    remote.intervene { number in
      if number == 1 { throw RemoteFailure(.pauseCredentials, message: "", hint: "") }
    }
    try await add("House", to: one)
    let worker = worker(remote)
    let running = Task { try await worker.run() }
    try await eventually("the refusal") { try await rounds("resume", "paused") == 1 }
    try await add("Barn", to: one)
    try await Task.sleep(for: .milliseconds(200))
    #expect(try await one.waiting() == 2)
    #expect(remote.sent.count == 1)
    worker.resume()
    try await eventually("the push") { try await one.waiting() == 0 }
    try await eventually("the end of the round") { try await rounds("resume") == 1 }
    running.cancel()
    _ = await running.result
  }

  @Test("A sync request and an app that returns to the foreground fetch changes of other devices")
  func aUserOrAPushAsks() async throws {
    let remote = await silentRemote()
    let worker = worker(remote)
    let running = Task { try await worker.run() }
    try await eventually("the first round") { try await rounds("resume") == 1 }
    for (cause, count, ask) in [("nudge", 1, { worker.requestSync() }), ("resume", 2, { worker.resume() })] {
      try await add(cause, to: two)
      try await two.sync()
      let pulls = remote.pulls
      try await Task.sleep(for: .milliseconds(200))
      #expect(remote.pulls == pulls)
      ask()
      try await eventually("the round") { try await rounds(cause) == count }
      #expect(try await one.values("SELECT storeName FROM OfflineReceipt WHERE storeName = \(cause)") == [cause])
    }
    running.cancel()
    _ = await running.result
  }

  @Test("With unmetered-files, records use a metered network and files wait for an unmetered network")
  func filesWaitForAnUnmeteredNetwork() async throws {
    try one.set(.unmeteredFiles, "true")
    _ = try one.attach(bytes: 5_000, to: try await add("House", to: one))
    let metered = worker(await one.worker.remote, NetworkMonitor(fixed: .online, isUnmetered: false))
    let report = try await metered.sync()
    #expect(report.outcome == .done && report.pushed == 2 && report.filesSent == 0)
    #expect(try await one.sync().filesSent == 1)
    try one.set(.unmeteredOnly, "true")
    await #expect(throws: SyncRefused.metered) { try await metered.sync() }
    #expect(try await one.worker.sync().outcome == .done)
  }
}
