import CipherSQL
import TestSupport
import VaultStore
import SyncEngine
import SyncModel

/// The vault of a device, opened by the orchestrator while the device's own process is gone.
struct OpenDevice: WatchedDevice {
  let seat: Seat
  var name: String { seat.name }
  var workload: Workload { seat.workload }
  let vault: Vault
  let remote: FieldVaultRemote
  let worker: SyncWorker
  let journal: Journal

  init(_ seat: Seat, url: String) throws {
    self.seat = seat
    do {
      vault = try DeviceVault.open(seat.folder, seat.workload, seed: 1)
    } catch {
      throw Violation(7, "the vault of \(seat.name) does not open: \(error)")
    }
    try CutTransfers.note(vault, seat.folder)
    remote = try DeviceVault.remote(seat.folder, vault, url: url, patience: 15)
    worker = DeviceVault.worker(vault, remote)
    journal = try Journal(at: DeviceVault.journal(seat.folder))
  }

  func close() {
    vault.close()
    journal.close()
  }

  func entries() throws -> (entries: [Journal.Entry], acknowledged: Set<Int>) { try Journal.read(journal.path) }

  func isSettled(_ index: Int) -> Bool { seat.settled.contains(index) }

  func settle(_ index: Int) { seat.settled.insert(index) }

  func mustCompare(_ photo: String) -> Bool { seat.seen.insert(photo).inserted }

  func decisions(_ seed: UInt64) throws -> Decisions {
    Decisions(
      vault: vault, journal: journal, name: seat.name, random: Seeded(seed),
      transaction: try Journal.next(journal.path))
  }

  /// The longest sync: without faults one takes seconds.
  private static let longestSync = Duration.seconds(180)

  /// A round that is cancelled after ``longestSync``.
  func round(_ request: RoundRequest) async throws -> SyncReport {
    let (worker, limit) = (worker, Self.longestSync)
    let report = try await withThrowingTaskGroup(of: SyncReport?.self) { group in
      group.addTask {
        do { return try await worker.sync(request) } catch is CancellationError { return nil }
      }
      group.addTask {
        try await Task.sleep(for: limit)
        return nil
      }
      defer { group.cancelAll() }
      return try await group.next() ?? nil
    }
    guard let report else {
      throw Violation(5, ["a sync of \(name) goes on after \(limit)"] + (try unfinished()))
    }
    return report
  }

  /// Makes operations due, as if the time had passed.
  func awaitRetries() async throws {
    try await vault.database.write { connection in
      _ = try connection.execute(
        "UPDATE OfflineSyncQueue SET scheduledAt = NULL WHERE status = 'pending' AND scheduledAt IS NOT NULL")
    }
  }

  func pause() async throws { try await Task.sleep(for: .milliseconds(50)) }
}
