import Foundation
import VaultStore
import SyncEngine

/// Choosing the next batch from a short and from a long outbox.
struct BatchBenchmark {
  let folder: String
  let rounds: Int
  let count: Int

  func findings() throws -> [Finding] {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let vaults = try [100, count].map { count in
      let vault = try BenchmarkVault.make(folder + "/\(count).vault")
      try BenchmarkVault.write(count, to: vault)
      try vault.database.withWriter { _ = try $0.checkpoint() }
      return vault
    }
    var times: [[Double]] = [[], []]
    for round in -5..<rounds {
      for index in round % 2 == 0 ? [0, 1] : [1, 0] {
        let time = try choose(vaults[index])
        if round >= 0 { times[index].append(time) }
      }
    }
    for vault in vaults { vault.close() }
    let ratio = median(times[1]) / median(times[0])
    return [
      Finding(
        "choosing the next batch of \(count): \(format(median(times[1]) * 1000, 3)) ms of processor time; of 100: "
          + "\(format(median(times[0]) * 1000, 3)) ms; ratio \(format(ratio, 2)) (promised: near 1, at most 1.2)",
        holds: ratio <= 1.2)
    ]
  }

  private struct Undo: Error {}

  /// In a transaction that is undone.
  private func choose(_ vault: Vault) throws -> Double {
    var time = 0.0
    do {
      try vault.syncNow { transaction in
        time = try processorTime {
          let batch = try transaction.nextBatch(limit: RoundPlan.batchLimit).operations
          guard batch.count == RoundPlan.batchLimit else { throw BenchmarkFailure("a batch of \(batch.count)") }
        }
        throw Undo()
      }
    } catch is Undo {
      return time
    }
    return time
  }
}
