import Foundation
import VaultStore
import SyncEngine
import SyncModel
import HTTPClient

/// Pushing a queue against the same requests from a client that has no store. Each side has a server of its own with
/// nothing in it.
struct PushBenchmark {
  let folder: String
  let rounds: Int
  let count: Int

  func findings() async throws -> [Finding] {
    var worker: [Double] = []
    var bare: [Double] = []
    for round in 0..<rounds {
      let place = folder + "/\(round)"
      try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
      let (time, requests) = try await push(place)
      worker.append(time)
      bare.append(try await replay(requests, place))
      try FileManager.default.removeItem(atPath: place)
    }
    let speed = median(zip(worker, bare).map { $1 / $0 })
    return [
      Finding(
        "pushing \(count) operations: \(format(Double(count) / median(worker), 0)) a second; the same requests without a "
          + "store: \(format(Double(count) / median(bare), 0)); speed \(format(speed, 2)) of it (promised: at least 0.5)",
        holds: speed >= 0.5)
    ]
  }

  private func push(_ place: String) async throws -> (Double, [PushRequest]) {
    let token = try ServerFilling.addUser("ada", in: place + "/worker")
    let server = try ServerProcess(folder: place + "/worker")
    defer { server.stop() }
    let vault = try BenchmarkVault.make(place + "/push.vault")
    defer { vault.close() }
    // With the project and its rooms.
    try BenchmarkVault.write(count - 11, to: vault)
    let (worker, notes) = try BenchmarkVault.worker(vault, Access(url: server.url, token: token))
    let start = ContinuousClock.now
    let report = try await worker.sync(RoundRequest(pulls: false))
    let time = (ContinuousClock.now - start).inSeconds
    guard report.outcome == .done, report.pushed == count else {
      throw BenchmarkFailure("the round failed: \(report)")
    }
    return (time, notes.pushes)
  }

  private func replay(_ requests: [PushRequest], _ place: String) async throws -> Double {
    let token = try ServerFilling.addUser("ada", in: place + "/bare")
    let server = try ServerProcess(folder: place + "/bare")
    defer { server.stop() }
    let transport = try Access(url: server.url, token: token).transport()
    let bodies = requests.map(\.jsonBytes)
    let start = ContinuousClock.now
    for body in bodies {
      var request = HTTPRequest("/v1/push", body: body)
      request.headers = [(WireProtocol.header, String(WireProtocol.version))]
      let response = try await transport.send(request)
      guard response.status == 200 else { throw BenchmarkFailure("the server returns \(response.status)") }
    }
    return (ContinuousClock.now - start).inSeconds
  }
}
