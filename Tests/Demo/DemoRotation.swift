import CipherSQL
import Foundation
import VaultStore
import RestorationModel
import Synchronization

/// Changes the key of a vault while two readers and a writer of the same process work with it.
enum DemoRotation {
  static func run(_ vault: Vault) async throws {
    let counts = Counts()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask {
          while !counts.isOver.load(ordering: .acquiring) {
            _ = try await vault.database.read { try AtmosphericLog.where { $0.temperature > 99 }.count($0) }
            counts.reads.add(1, ordering: .relaxed)
          }
        }
      }
      group.addTask {
        while !counts.isOver.load(ordering: .acquiring) {
          _ = try await vault.database.write { try $0.execute("UPDATE OfflineProject SET status = status") }
          counts.writes.add(1, ordering: .relaxed)
        }
      }
      let (before, written) = try await waiting(until: 20, counts)
      let plan = try await rotate(vault)
      let during = counts.reads.load(ordering: .acquiring) - before
      counts.isOver.store(true, ordering: .releasing)
      try await group.waitForAll()
      print("  Re-encrypted the database as generation \(plan.nextGeneration).")
      print(
        "  While it was rewritten, \(during) queries returned; a writer that had written \(written) times waited."
      )
      let count = try await vault.database.read { try AtmosphericLog.all.count($0) }
      print("  All \(count) readings are there, in the same open vault.")
    }
  }

  /// Waits until the readers are at work.
  private static func waiting(
    until wanted: Int, _ counts: Counts
  ) async throws -> (reads: Int, writes: Int) {
    while counts.reads.load(ordering: .acquiring) < wanted { try await Task.sleep(for: .milliseconds(1)) }
    return (counts.reads.load(ordering: .acquiring), counts.writes.load(ordering: .acquiring))
  }

  /// The rotation blocks its thread, so that it gets one of its own.
  private static func rotate(_ vault: Vault) async throws -> RotationPlan {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try vault.rotateKey(.databaseKey) }) }
    }
  }
}

/// What the readers and the writer have done so far.
private final class Counts: Sendable {
  let isOver = Atomic(false)
  let reads = Atomic(0)
  let writes = Atomic(0)
}
