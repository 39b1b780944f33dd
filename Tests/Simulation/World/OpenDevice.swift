import CipherSQL
import TestSupport
import VaultStore
import SyncEngine
import SyncModel

/// The vault of a device, opened by the orchestrator while the device's own process is gone.
struct OpenDevice {
  let seat: Seat
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

  func decisions(_ seed: UInt64) throws -> Decisions {
    Decisions(
      vault: vault, journal: journal, name: seat.name, random: Seeded(seed),
      transaction: try Journal.next(journal.path))
  }

  /// How many of its records wait for a user's decision, or for one that does.
  func undecided() throws -> Int {
    try read { connection in
      try connection.fetchOne(
        """
        SELECT (SELECT count(*) FROM OfflineSyncQueue WHERE completedAt IS NULL)
          + (SELECT count(*) FROM OfflineConflictResolution WHERE resolvedAt IS NULL) + (SELECT count(*) FROM SyncInbox)
        """, as: Int.self) ?? 0
    }
  }

  /// The first operations and transfers that remain, a line for each.
  func unfinished() throws -> [String] {
    try read { connection in
      try connection.fetch(
        """
        SELECT * FROM (SELECT 'operation ' || status || ': ' || entityType || ' ' || entityUuid FROM OfflineSyncQueue
            WHERE completedAt IS NULL LIMIT 6)
          UNION ALL SELECT * FROM (SELECT 'transfer ' || direction || ' ' || status || ': ' || contentUuid FROM AttachmentTransfer
            LIMIT 6)
        """, as: String.self)
    }
  }

  /// The records that a policy decided about without a common version.
  func decidedWithoutBase() throws -> [String] {
    try read { connection in
      try connection.fetch(
        """
        SELECT entityUuid FROM OfflineConflictResolution
        WHERE resolvedBy = 'policy' AND resolution = 'local_wins' AND base IS NULL
        """, as: String.self)
    }
  }

  /// A line for each record, which changes with each version that comes from the server.
  func states() throws -> Set<String> {
    var states: Set<String> = []
    for kind in seat.workload.kinds {
      let lines = try read { connection in
        try connection.fetch(
          """
          SELECT uuid || ' had version ' || syncVersion || ', made ' || createdAt || ', edited ' || updatedAt
            || coalesce(', synced ' || lastSyncedAt, '')
          FROM \(identifier: kind.table)
          """, as: String.self)
      }
      states.formUnion(lines.map { "\(kind.entity) \($0)" })
    }
    return states
  }

  /// Makes operations due that wait for their next attempt, as if that time had passed.
  func hasten() throws {
    try vault.database.write { connection in
      _ = try connection.execute(
        "UPDATE OfflineSyncQueue SET scheduledAt = NULL WHERE status = 'pending' AND scheduledAt IS NOT NULL")
    }
  }

  func read<Result>(_ body: (Connection) throws -> Result) throws -> Result { try vault.database.read(body) }
}
