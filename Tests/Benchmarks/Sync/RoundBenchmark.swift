import CipherSQL
import Foundation
import VaultStore
import SyncEngine
import SyncModel

/// One record has changed: a round on a large store against one on a small one.
struct RoundBenchmark {
  let folder: String
  let rounds: Int
  let sizes: SyncSizes

  private struct Side {
    let account: FilledAccount
    let access: Access
    let vault: Vault
    let worker: SyncWorker
    var version: Int64 = 1
    var processor: [Double] = []
    var clock: [Double] = []
  }

  func findings() async throws -> [Finding] {
    let data = folder + "/data"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let counts = [sizes.storeSmall, sizes.store]
    var accounts: [FilledAccount] = []
    for count in counts { accounts.append(try await ServerFilling.fill("of-\(count)", readings: count, in: data)) }
    let server = try ServerProcess(folder: data)
    defer { server.stop() }
    var sides: [Side] = []
    for (count, account) in zip(counts, accounts) {
      let vault = try BenchmarkVault.make(folder + "/\(count).vault")
      let access = Access(url: server.url, token: account.token)
      let worker = try BenchmarkVault.worker(vault, access).worker
      _ = try await worker.sync()
      sides.append(Side(account: account, access: access, vault: vault, worker: worker))
    }
    // The first rounds fill the caches.
    for round in -3..<rounds {
      for index in round % 2 == 0 ? [0, 1] : [1, 0] {
        let (processor, clock) = try await pullOne(&sides[index])
        guard round >= 0 else { continue }
        sides[index].processor.append(processor)
        sides[index].clock.append(clock)
      }
    }
    for side in sides { side.vault.close() }
    let ratio = median(zip(sides[1].processor, sides[0].processor).map { $0 / $1 })
    let byClock = median(zip(sides[1].clock, sides[0].clock).map { $0 / $1 })
    return [
      Finding(
        "a round for one changed record with \(sizes.store) records: \(format(median(sides[1].processor) * 1000, 2)) ms "
          + "of the device's processor; with \(sizes.storeSmall): \(format(median(sides[0].processor) * 1000, 2)) ms; "
          + "ratio \(format(ratio, 2)) (promised: no more, at most 1.2); by the clock, server included: \(format(byClock, 2))",
        holds: ratio <= 1.2)
    ]
  }

  private func pullOne(_ side: inout Side) async throws -> (processor: Double, clock: Double) {
    let remote = try side.access.remote()
    let area = SyncValue.integer(200 + side.version)
    let identifier = ServerFilling.identifier()
    let change = PushOperation(
      operationId: identifier, idempotencyKey: identifier, kind: .update, entityType: "Room",
      entityUuid: side.account.room, baseVersion: side.version, baseEpoch: try await remote.account().epoch,
      schemaVersion: 1,
      patch: RecordPatch(fields: ["squareFootage": area], updatedAt: Clock.system.now()))
    let response = try await remote.push(
      PushRequest(deviceId: identifier, deviceCounter: 1, cursor: nil, operations: [change]))
    guard case .accepted(let version, _, _) = response.results.first?.outcome else {
      throw BenchmarkFailure("the server does not take the change: \(response.results)")
    }
    side.version = version
    let (before, start) = (processorTime(), ContinuousClock.now)
    let report = try await side.worker.sync()
    let result = (processorTime() - before, (ContinuousClock.now - start).inSeconds)
    guard report.outcome == .done, report.pulled == 1 else { throw BenchmarkFailure("the round failed: \(report)") }
    return result
  }
}
