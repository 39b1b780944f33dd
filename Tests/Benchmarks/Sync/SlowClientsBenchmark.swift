import Foundation
import VaultStore
import RestorationModel
import SyncEngine

/// Requests of a device while more connections than the server takes send one byte of a header every 10 s.
struct SlowClientsBenchmark {
  let folder: String
  private let connections = 1_032
  private let seconds = 30.0

  func findings() async throws -> [Finding] {
    try allowDescriptors(for: connections)
    var findings: [Finding] = []
    // 516 connections of an address are more than the server takes from it, and 129 are fewer.
    for addresses in [2, 8] { findings.append(try await measure(from: addresses)) }
    return findings
  }

  private func measure(from addresses: Int) async throws -> Finding {
    let place = folder + "/\(addresses)"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    let token = try ServerFilling.addUser("ada", in: place)
    let server = try ServerProcess(folder: place)
    defer { server.stop() }
    guard let port = URL(string: server.url)?.port.flatMap({ UInt16(exactly: $0) }) else {
      throw BenchmarkFailure("\(server.url) has no port")
    }
    let vault = try BenchmarkVault.make(place + "/slow.vault")
    defer { vault.close() }
    let clients = SlowClients(connections, from: addresses, to: port, pause: 10)
    defer { clients.stop() }
    var health = 0.0
    var sync = 0.0
    var rounds = 0
    let start = ContinuousClock.now
    while (ContinuousClock.now - start).inSeconds < seconds {
      // Each with a connection of its own, as from another device.
      let access = Access(url: server.url, token: token)
      let remote = try access.remote()
      health = max(health, try await time { _ = try await remote.health() })
      _ = try await vault.database.write { _ = try $0.insert(Project(title: "House")) }
      let worker = try BenchmarkVault.worker(vault, access).worker
      sync = max(
        sync,
        try await time {
          let report = try await worker.sync()
          guard report.outcome == .done, report.pushed == 1 else {
            throw BenchmarkFailure("the round failed: \(report)")
          }
        })
      rounds += 1
      try await Task.sleep(for: .milliseconds(200))
    }
    let (opened, open) = clients.counts
    return Finding(
      "\(connections) connections from \(addresses) addresses that send a byte every 10 s (\(opened) opened, \(open) open at the "
        + "end): /v1/health responded within \(format(health, 3)) s, a sync within \(format(sync, 3)) s, \(rounds) times in "
        + "\(format(seconds, 0)) s (promised: within 1 s)", holds: health <= 1 && sync <= 1)
  }

  private func time(_ body: () async throws -> Void) async throws -> Double {
    let start = ContinuousClock.now
    try await body()
    return (ContinuousClock.now - start).inSeconds
  }
}
