import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import Testing
import WebTransport

@testable import OfflineStore
@testable import SyncEngine

/// A worker that runs: it needs no telling.
@Suite struct RunningTests {
  /// Waits for something to become true; the limit is a guard against hanging only.
  private func eventually(
    _ what: String, _ place: SourceLocation = #_sourceLocation, _ isTrue: () async throws -> Bool
  ) async throws {
    for _ in 0..<12_000 {
      if try await isTrue() { return }
      try await Task.sleep(for: .milliseconds(100))
    }
    Issue.record("\(what) did not happen", sourceLocation: place)
  }

  @Test func aWriteOnOneDeviceComesToTheOtherByItself() async throws {
    let server = try LocalServer()
    let one = try await Device("ada", at: server)
    let two = try await Device("ben", at: server)
    let running = [one, two].map { device in Task { try await device.worker.run() } }
    try await one.write { _ = try $0.insert(Project(title: "House")) }
    try await eventually("the project") {
      try await two.value("SELECT count(*) FROM OfflineProject", as: Int.self) == 1
    }
    // The server tells of it; nobody asks over and over.
    try await two.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'Mill Lane'") }
    try await eventually("the title") {
      try await one.value("SELECT title FROM OfflineProject", as: String.self) == "Mill Lane"
    }
    running.forEach { $0.cancel() }
    for task in running { _ = await task.result }
    #expect(try await one.value("SELECT count(*) FROM OfflineSyncQueue WHERE status = 'processing'", as: Int.self) == 0)
  }

  @Test func oneWorkerForAVault() async throws {
    let server = try LocalServer()
    let one = try await Device("ada", at: server)
    let running = Task { try await one.worker.run() }
    try await eventually("the first round") {
      try await one.value("SELECT count(*) FROM SyncRun WHERE outcome = 'done'", as: Int.self) ?? 0 > 0
    }
    await #expect(throws: SyncRefused.busy) { try await one.worker.sync() }
    running.cancel()
    _ = await running.result
    #expect(try await one.sync().outcome == .done)
  }

  /// It answers everything else, so that each round finds it back and loses it again.
  @Test(arguments: [true, false]) func aServerThatTakesNothingIsLeftAlone(saysWhy: Bool) async throws {
    let server = try LocalServer()
    let one = try await Device("ada", at: server)
    try await one.write { _ = try $0.insert(Project(title: "House")) }
    let remote = InterveningRemote(remote: await one.worker.remote)
    remote.intervene { _ in
      let problem = ServerProblem(title: "No room", status: 507, detail: "")
      throw RemoteFailure(.unreachable, message: "", hint: "", problem: saysWhy ? problem : nil)
    }
    let monitor = NetworkMonitor(remote: remote, address: try ServerAddress(server.server.url))
    let worker = SyncWorker(
      vault: one.vault, remote: MonitoredRemote(remote, monitor: monitor), monitor: monitor, jitter: { 1 })
    let running = Task { try await worker.run() }
    try await eventually("a second try") { remote.sent.count > 1 }
    try await Task.sleep(for: .seconds(2))
    running.cancel()
    _ = await running.result
    // After 1, 2, 4 and 8 seconds: what takes longer here had more time.
    #expect(remote.sent.count < 7)
    #expect(monitor.state == (saysWhy ? .online : .limited))
    #expect(try await one.value("SELECT retryCount FROM OfflineSyncQueue", as: Int.self) == 0)
    #expect(try await one.sync().pushed == 1)
  }

  @Test func nothingIsAskedOfTheServerWithoutANetwork() async throws {
    let server = try LocalServer()
    let one = try await Device("ada", at: server)
    try await one.write { _ = try $0.insert(Project(title: "House")) }
    let remote = await one.worker.remote
    let offline = SyncWorker(
      vault: one.vault, remote: remote, monitor: NetworkMonitor(fixed: .offline), jitter: { 0 })
    let report = try await offline.sync()
    #expect(report.outcome == .offline && report.pushed == 0)
    #expect(try await one.value("SELECT retryCount FROM OfflineSyncQueue", as: Int.self) == 0)
    #expect(try await one.sync().pushed == 1)
  }

  @Test func deviceOnlyModeKeepsEverythingAndCloudGoesOn() async throws {
    let server = try LocalServer()
    let one = try await Device("ada", at: server)
    let two = try await Device("ben", at: server)
    try await one.sync()
    try one.set(.mode, "device")
    try await one.write { _ = try $0.insert(Project(title: "House")) }
    await #expect(throws: SyncRefused.deviceOnly) { try await one.worker.sync() }
    #expect(try await one.value("SELECT count(*) FROM OfflineSyncQueue", as: Int.self) == 1)
    try one.set(.mode, "cloud")
    #expect(try await one.sync().pushed == 1)
    #expect(try await two.sync().pulled == 1)
  }
}

extension Device {
  func set(_ preference: Vault.Preference, _ value: String) throws { try vault.setPreference(preference, value) }
}
