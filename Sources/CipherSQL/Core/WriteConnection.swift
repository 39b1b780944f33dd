import CSQLCipher

/// The connection that writes. Received by the closures of ``Database/write(_:)``, inside a transaction.
public final class WriteConnection: Connection {
  @usableFromInline let changes = TransactionChanges()
  /// The length of the log, in bytes, at which the next waiting checkpoint is tried after one has failed.
  var nextForcedCheckpoint = 0
  let busyTimeoutMilliseconds: Int32
  // What `virtualTables()` found, and for which version of the schema.
  var knownVirtualTables: Set<String> = []
  var knownSchemaVersion: String?

  override init(path: String?, key: (any EncryptionKey)?, configuration: Configuration, isToExist: Bool = false) throws
  {
    busyTimeoutMilliseconds = Int32(clamping: configuration.busyTimeout.milliseconds)
    try super.init(path: path, key: key, configuration: configuration, isToExist: isToExist)
    if path != nil, !configuration.isReadOnly { try useWriteAheadLog() }
  }

  private func useWriteAheadLog() throws {
    // WAL with FULL: the log is synced at every commit, so an acknowledged write survives a power cut.
    let mode = try pragmaText("PRAGMA journal_mode = WAL")
    guard mode == "wal" else {
      throw SQLError(
        .cannotOpen, "the database cannot use a write-ahead log here (its journal mode is \(mode ?? "unknown"))",
        hint: "put it on a local disk")
    }
    try pragma("PRAGMA synchronous = FULL")
    changes.watchLog(of: handle)
  }

  /// The rowid that the last INSERT gave.
  @inlinable
  public var lastInsertedRowID: Int64 { sqlite3_last_insert_rowid(handle) }

  /// How many rows the last statement changed, without those that triggers and cascades changed.
  @inlinable
  public var changedRowCount: Int { Int(sqlite3_changes64(handle)) }

  /// How many rows this connection has changed since it was opened, by triggers and cascades too.
  @inlinable
  public var totalChangeCount: Int { Int(sqlite3_total_changes64(handle)) }
}
