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
    // The server reports the change in a long poll; the device does not poll repeatedly.
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
    // After 1, 2, 4 and 8 seconds, or later on a slow machine.
    #expect(remote.sent.count < 7)
    // A server that names a reason has responded. The other failure is retried in each round, until the server asks
    // for a delay.
    if saysWhy { #expect(monitor.state == .online) }
    #expect(try await one.value("SELECT retryCount FROM OfflineSyncQueue", as: Int.self) == 0)
    #expect(try await one.sync().pushed == 1)
  }

  /// A server, or a proxy, that responds at once to every request.
  @Test(arguments: [true, false]) func aQuestionThatIsAnsweredAtOnceIsAskedLessAndLessOften(isNew: Bool) async throws {
    let server = try LocalServer()
    let one = try await Device("ada", at: server)
    try await one.sync()
    let remote = InterveningRemote(remote: await one.worker.remote)
    remote.answerWatch { isNew }
    let worker = SyncWorker(vault: one.vault, remote: remote, monitor: NetworkMonitor(fixed: .online), jitter: { 1 })
    let running = Task { try await worker.run() }
    try await eventually("a second question") { remote.watches > 1 }
    try await Task.sleep(for: .seconds(2))
    running.cancel()
    _ = await running.result
    // After 1, 2, 4 and 8 seconds.
    #expect(remote.watches < 7)
  }

  @Test func aWorkerRunsAgain() async throws {
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

  /// Operations that may wait do not use a metered network. They continue on an unmetered one.
  @Test func whatWaitsForAFreeNetworkGoesOnWithIt() async throws {
    let server = try LocalServer()
    let one = try await Device("ada", at: server)
    try one.set(.unmeteredOnly, "true")
    try await one.write { _ = try $0.insert(Project(title: "House")) }
    let interfaces = CostlyInterfaces()
    let remote = InterveningRemote(remote: await one.worker.remote)
    let monitor = NetworkMonitor(remote: remote, address: nil, interfaces: interfaces)
    let worker = SyncWorker(vault: one.vault, remote: remote, monitor: monitor, jitter: { 0 })
    let running = Task { try await worker.run() }
    try await Task.sleep(for: .seconds(1))
    #expect(remote.sent.isEmpty && remote.watches == 0)
    interfaces.becomeFree()
    try await eventually("the project") { !remote.sent.isEmpty }
    running.cancel()
    _ = await running.result
  }

  /// Nothing goes out of a vault that is kept on this device, photos included.
  @Test func noPhotoLeavesADeviceOnlyVault() async throws {
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

  // Not in asynchronous code, as a program does it.
  private static func attach(_ path: String, to project: UUID, of vault: Vault) throws {
    _ = try vault.attach([path], to: try vault.entities.entity("Project"), project)
  }

  /// A retry that was scheduled in a moment, before the clock was set back by a year.
  @Test func whatWaitsForATimeOfAnotherClockIsSent() async throws {
    let server = try LocalServer()
    let one = try await Device("ada", at: server)
    try await one.write { db in
      _ = try db.insert(Project(title: "House"))
      try db.execute("UPDATE OfflineSyncQueue SET scheduledAt = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+1 year')")
    }
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

/// An interface whose data costs something until it is told otherwise.
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
