import CSQLCipher

/// The connection that writes. Received by the closures of `Database.write`, inside a transaction.
public final class WriteConnection: Connection {
  @usableFromInline let changes = TransactionChanges()
  /// The length of the log, in bytes, at which the next waiting checkpoint is tried after one has failed.
  var nextForcedCheckpoint = 0
  let busyTimeoutMilliseconds: Int32
  // The result of `schemaFacts()` and the version of the schema that it belongs to.
  var knownFacts: (schemaVersion: String?, facts: SchemaFacts)?
  /// SQLite's number for the content as this connection last saw it; only commits of other connections change it.
  var knownDataVersion: String?
  /// The word that `char()` without arguments returns on this connection.
  private let context = WriteContextValue()

  override init(path: String?, key: (any EncryptionKey)?, configuration: Configuration, isToExist: Bool = false) throws
  {
    busyTimeoutMilliseconds = Int32(clamping: configuration.busyTimeout.milliseconds)
    var own = configuration
    // In memory this connection also reads.
    if path != nil { own.pageCacheBytes = configuration.writerPageCacheBytes }
    try super.init(path: path, key: key, configuration: own, isToExist: isToExist)
    let result = csqlcipher_install_context(handle, context.place)
    guard result == SQLITE_OK else { throw SQLError.last(handle, result: result) }
    if path != nil, !configuration.isReadOnly { try useWriteAheadLog() }
    if path != nil { knownDataVersion = try pragmaText("PRAGMA data_version") }
  }

  /// Runs a closure during which the SQL function `char()`, called without arguments, returns a word on this
  /// connection. Triggers read the author of a write from it. Elsewhere, as in the sqlcipher shell, `char()` returns
  /// the empty text.
  ///
  /// The word is not part of the database: it ends with the closure in any case, and SQL cannot set it.
  package func withContext<Result>(_ word: StaticString?, _ body: () throws -> Result) rethrows -> Result {
    let before = context.place.pointee
    context.place.pointee = word?.utf8Start
    defer { context.place.pointee = before }
    return try body()
  }

  /// Runs a closure of the library that changes objects of a schema or of FieldVault, as a migration does.
  package func asMigration<Result>(_ body: () throws -> Result) rethrows -> Result {
    try authorizer.asMigration(body)
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

  /// The number of rows that the last statement changed, without changes by triggers and cascades.
  @inlinable
  public var changedRowCount: Int { Int(sqlite3_changes64(handle)) }

  /// The number of rows that this connection has changed since it was opened, including changes by triggers and
  /// cascades.
  @inlinable
  public var totalChangeCount: Int { Int(sqlite3_total_changes64(handle)) }
}

/// The place from which SQLite reads the word of ``WriteConnection/withContext(_:_:)``.
private final class WriteContextValue {
  let place: UnsafeMutablePointer<UnsafePointer<UInt8>?>

  init() {
    place = .allocate(capacity: 1)
    place.initialize(to: nil)
  }

  deinit { place.deallocate() }
}
