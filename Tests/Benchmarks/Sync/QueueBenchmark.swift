import Foundation
import VaultStore
import SyncEngine

/// Pushing a long queue and a short one to a server, each after as many completed operations.
struct QueueBenchmark {
  let folder: String
  let sizes: SyncSizes

  func findings() async throws -> [Finding] {
    // The short one before and after the long one, so that other work on the machine meets both.
    let before = try await push(sizes.queuedFew, "before")
    let many = try await push(sizes.queuedMany, "many")
    let behind = try await push(sizes.queuedFew, "behind")
    let few = (device: (before.device + behind.device) / 2, server: (before.server + behind.server) / 2)
    return [
      finding("device", many.device, few.device), finding("server", many.server, few.server),
    ]
  }

  private func finding(_ side: String, _ many: Double, _ few: Double) -> Finding {
    Finding(
      "pushing \(sizes.queuedMany) queued operations: \(format(many * 1000, 3)) ms of the \(side)'s CPU for each; "
        + "\(sizes.queuedFew): \(format(few * 1000, 3)) ms; ratio \(format(many / few, 2)) (promised: at most 1.1)",
      holds: many <= 1.1 * few)
  }

  private func push(_ count: Int, _ name: String) async throws -> (device: Double, server: Double) {
    let place = folder + "/\(name)"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    let token = try ServerFilling.addUser("ada", in: place)
    let server = try ServerProcess(folder: place)
    defer { server.stop() }
    let vault = try BenchmarkVault.make(place + "/queue.vault")
    defer { vault.close() }
    // With the project and its rooms.
    try BenchmarkVault.write(count - 11, to: vault)
    try BenchmarkVault.addCompleted(to: vault)
    let access = Access(url: server.url, token: token)
    try vault.setRemote(url: access.url, token: access.token)
    let worker = SyncWorker(
      vault: vault, remote: try access.remote(), monitor: NetworkMonitor(fixed: .online))
    let before = (device: processorTime(), server: try server.processorTime())
    let report = try await worker.sync()
    let time = (device: processorTime() - before.device, server: try server.processorTime() - before.server)
    guard report.outcome == .done, report.pushed == count else { throw BenchmarkFailure("the round failed: \(report)") }
    return (time.device / Double(count), time.server / Double(count))
  }
}
