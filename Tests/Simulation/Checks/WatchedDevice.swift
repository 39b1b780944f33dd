import CipherSQL
import SyncEngine
import VaultStore

/// A device whose vault is open for checks.
protocol WatchedDevice {
  var name: String { get }
  var workload: Workload { get }
  var vault: Vault { get }

  /// The intended writes of the device in their order, and the acknowledged transactions.
  func entries() throws -> (entries: [Journal.Entry], acknowledged: Set<Int>)

  /// Whether an entry of the journal needs no further look.
  func isSettled(_ index: Int) -> Bool

  /// Notes that an entry needs no further look.
  func settle(_ index: Int)

  /// Performs a round without faults, or throws a ``Violation`` with invariant 5 if it does not end.
  func round(_ request: RoundRequest) async throws -> SyncReport

  /// Waits until all operations that wait for their next attempt are due.
  func awaitRetries() async throws

  /// Lets a moment pass.
  func pause() async throws

  /// Whether the bytes of a photo have to be compared with the added ones. This is so once.
  func mustCompare(_ photo: String) -> Bool

  /// Returns the decisions of its user.
  func decisions(_ seed: UInt64) throws -> Decisions
}

extension WatchedDevice {
  func read<Result>(_ body: (Connection) throws -> Result) throws -> Result { try vault.database.read(body) }

  /// The number of records that wait for a user's decision, or for another record that does.
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
        WHERE resolvedBy = 'policy' AND resolution IN ('local_wins', 'merge') AND base IS NULL
        """, as: String.self)
    }
  }

  /// A line for each record, which changes with each version that comes from the server.
  func states() throws -> Set<String> {
    var states: Set<String> = []
    for kind in workload.kinds {
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

  /// A readable list of the open conflicts.
  func conflictNames() throws -> String {
    try vault.conflicts(resolved: false).map { "\($0.conflictType) \($0.fields): \($0.entityType) \($0.entityUuid)" }
      .joined(separator: ", ")
  }
}
