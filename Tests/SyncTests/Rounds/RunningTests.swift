import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import TestSupport
import Testing
import HTTPClient

@testable import VaultStore
@testable import SyncEngine

/// A running worker, which syncs without explicit requests.
@Suite struct RunningTests {
  /// Waits until a condition holds. The limit only guards against a hang.
  @Test("Running workers carry a write from one device to the other")
  func aWriteOnOneDeviceComesToTheOtherByItself() async throws {
    let server = try LocalServer()
    let one = try await Device("ada", at: server)
    let two = try await Device("ben", at: server)
    let running = [one, two].map { device in Task { try await device.worker.run() } }
    try await one.write { _ = try $0.insert(Project(title: "House")) }
    try await eventually("the project") {
      try await two.value("SELECT count(*) FROM OfflineProject", as: Int.self) == 1
    }
    // The server notifies the first device, so no device polls at short intervals.
    try await two.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'Mill Lane'") }
    try await eventually("the title") {
      try await one.value("SELECT title FROM OfflineProject", as: String.self) == "Mill Lane"
    }
    running.forEach { $0.cancel() }
    for task in running { _ = await task.result }
    #expect(try await one.value("SELECT count(*) FROM OfflineSyncQueue WHERE status = 'processing'", as: Int.self) == 0)
  }

  @Test("A vault refuses a second sync while a worker runs") func oneWorkerForAVault() async throws {
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

  /// The server responds to all other requests, so each round finds it online and then loses it again.
  @Test("A server that accepts no push is contacted with growing pauses", arguments: [true, false])
  func aServerThatTakesNothingIsLeftAlone(saysWhy: Bool) async throws {
    let server = try LocalServer()
    let one = try await Device("ada", at: server, environment: .system { 1 })
    try await one.write { _ = try $0.insert(Project(title: "House")) }
    let remote = InterveningRemote(remote: await one.worker.remote)
    remote.intervene { _ in
      let problem = ServerProblem(title: "No room", status: 507, detail: "")
      throw RemoteFailure(.unreachable, message: "", hint: "", problem: saysWhy ? problem : nil)
    }
    let monitor = NetworkMonitor(remote: remote, address: try ServerAddress(server.server.url))
    let worker = SyncWorker(
      vault: one.vault, remote: MonitoredRemote(remote, monitor: monitor), monitor: monitor)
    let running = Task { try await worker.run() }
    try await eventually("a second try") { remote.sent.count > 1 }
    try await Task.sleep(for: .seconds(2))
    running.cancel()
    _ = await running.result
    // Attempts follow after 1, 2, 4 and 8 seconds. A slow test machine leaves time for more attempts.
    #expect(remote.sent.count < 7)
    // A server that states a reason is online. Without a reason, the server is online at the start of each round
    // and unreachable after the push.
    if saysWhy { #expect(monitor.state == .online) }
    #expect(try await one.value("SELECT retryCount FROM OfflineSyncQueue", as: Int.self) == 0)
    #expect(try await one.sync().pushed == 1)
  }

  /// A server or proxy that responds to every long poll immediately.
  @Test("A long poll that returns immediately is repeated less and less often", arguments: [true, false])
  func immediateLongPollsBackOff(isNew: Bool) async throws {
    let server = try LocalServer()
    let one = try await Device("ada", at: server, environment: .system { 1 })
    try await one.sync()
    let remote = InterveningRemote(remote: await one.worker.remote)
    remote.respondToWatch { isNew }
    let worker = SyncWorker(vault: one.vault, remote: remote, monitor: NetworkMonitor(fixed: .online))
    let running = Task { try await worker.run() }
    try await eventually("a second question") { remote.watches > 1 }
    try await Task.sleep(for: .seconds(2))
    running.cancel()
    _ = await running.result
    // Polls follow after 1, 2, 4 and 8 seconds.
    #expect(remote.watches < 7)
  }

  @Test("A worker can run again after it was cancelled") func aWorkerRunsAgain() async throws {
    let server = try LocalServer()
    let one = try await Device("ada", at: server)
    for number in 1...2 {
      let running = Task { try await one.worker.run() }
      try await eventually("round \(number)") {
        try await one.value("SELECT count(*) FROM SyncRun WHERE outcome = 'done'", as: Int.self) ?? 0 >= number
      }
      try await one.write { _ = try $0.insert(Project(title: "House \(number)")) }
      try await eventually("project \(number)") {
        try await one.value("SELECT count(*) FROM OfflineProject WHERE syncVersion > 0", as: Int.self) == number
      }
      running.cancel()
      _ = await running.result
    }
  }

  /// With `unmeteredOnly`, a metered network is not used. The waiting operations are sent when the network becomes
  /// unmetered.
  @Test("Operations that wait for an unmetered network are sent when it becomes available")
  func whatWaitsForAFreeNetworkGoesOnWithIt() async throws {
    let server = try LocalServer()
    let one = try await Device("ada", at: server)
    try one.set(.unmeteredOnly, "true")
    try await one.write { _ = try $0.insert(Project(title: "House")) }
    let interfaces = CostlyInterfaces()
    let remote = InterveningRemote(remote: await one.worker.remote)
    let monitor = NetworkMonitor(remote: remote, address: nil, interfaces: interfaces)
    let worker = SyncWorker(vault: one.vault, remote: remote, monitor: monitor)
    let running = Task { try await worker.run() }
    try await Task.sleep(for: .seconds(1))
    #expect(remote.sent.isEmpty && remote.watches == 0)
    interfaces.becomeFree()
    try await eventually("the project") { !remote.sent.isEmpty }
    running.cancel()
    _ = await running.result
  }

  /// Nothing leaves a device-only vault, including photos.
  @Test("A photo of a device-only vault is not uploaded until cloud mode is set again")
  func noPhotoLeavesADeviceOnlyVault() async throws {
    let server = try LocalServer()
    let one = try await Device("ada", at: server)
    let project = try await one.write { try $0.insert(Project(title: "House")).uuid }
    let path = one.folder.path + "/roof.bin"
    try Data(repeating: 7, count: 5_000).write(to: URL(filePath: path))
    try Self.attach(path, to: project, of: one.vault)
    try await one.syncRecords()
    try one.set(.mode, "device")
    let running = Task { try await one.worker.run() }
    try await Task.sleep(for: .seconds(1))
    running.cancel()
    _ = await running.result
    #expect(try await one.values("SELECT uploadStatus FROM OfflinePhoto") == ["pending"])
    try one.set(.mode, "cloud")
    #expect(try await one.sync().filesSent == 1)
  }

  // Synchronous, because `Vault.attach` is unavailable in asynchronous code.
  private static func attach(_ path: String, to project: UUID, of vault: Vault) throws {
    _ = try vault.attach([path], to: try vault.entities.entity("Project"), project)
  }

  /// The retry was due in a moment, before the clock was set back by a year.
  @Test("An operation that another clock scheduled for next year is sent now")
  func whatWaitsForATimeOfAnotherClockIsSent() async throws {
    let server = try LocalServer()
    let one = try await Device("ada", at: server)
    try await one.write { db in
      _ = try db.insert(Project(title: "House"))
      try db.execute("UPDATE OfflineSyncQueue SET scheduledAt = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+1 year')")
    }
    #expect(try await one.sync().pushed == 1)
  }

  @Test("Without a network, a sync sends nothing and counts no attempt")
  func nothingIsAskedOfTheServerWithoutANetwork() async throws {
    let server = try LocalServer()
    let one = try await Device("ada", at: server)
    try await one.write { _ = try $0.insert(Project(title: "House")) }
    let remote = await one.worker.remote
    let offline = SyncWorker(
      vault: one.vault, remote: remote, monitor: NetworkMonitor(fixed: .offline))
    let report = try await offline.sync()
    #expect(report.outcome == .offline && report.pushed == 0)
    #expect(try await one.value("SELECT retryCount FROM OfflineSyncQueue", as: Int.self) == 0)
    #expect(try await one.sync().pushed == 1)
  }

  @Test("Device-only mode keeps all operations, and cloud mode sends them")
  func deviceOnlyModeKeepsEverythingAndCloudGoesOn() async throws {
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

/// A network interface that is metered until `becomeFree()` is called.
private final class CostlyInterfaces: InterfaceMonitor {
  private struct State {
    var isUnmetered = false
    var listener: (@Sendable (Result<InterfaceStatus, InterfaceFailure>) -> Void)?
  }
  private let state = Locked(State())

  func status() throws(InterfaceFailure) -> InterfaceStatus {
    InterfaceStatus(hasInterface: true, isUnmetered: state.withLock(\.isUnmetered))
  }

  func start(
    onChange: @escaping @Sendable (Result<InterfaceStatus, InterfaceFailure>) -> Void
  ) throws(InterfaceFailure) { state.withLock { $0.listener = onChange } }

  func stop() { state.withLock { $0.listener = nil } }

  func becomeFree() {
    let listener = state.withLock { state in
      state.isUnmetered = true
      return state.listener
    }
    listener?(.success(InterfaceStatus(hasInterface: true, isUnmetered: true)))
  }
}

extension Device {
  func set(_ preference: Vault.Preference, _ value: String) throws { try vault.setPreference(preference, value) }
}
