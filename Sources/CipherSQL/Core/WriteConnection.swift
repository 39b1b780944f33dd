import CSQLCipher

/// The connection that writes. The closures of `Database.write` receive it, inside a transaction.
public final class WriteConnection: Connection {
  @usableFromInline let changes = TransactionChanges()
  /// The length of the log, in bytes, at which the next waiting checkpoint is tried after one has failed.
  var nextForcedCheckpoint = 0
  let busyTimeoutMilliseconds: Int32
  // The values of `ofSchema(_:_:)` and the version of the schema that they belong to.
  var schemaValues: (version: String?, values: [String: any Sendable]) = (nil, [:])
  /// SQLite's version number of the content that this connection last read. Only commits of other connections change
  /// it.
  var knownDataVersion: String?
  /// Whether foreign keys are checked at the end of a closure.
  var isDeferringForeignKeys = false
  /// The word that `char()` without arguments returns on this connection.
  private let context = WriteContextValue()

  override init(path: String?, key: (any EncryptionKey)?, configuration: Configuration, isToExist: Bool = false) throws
  {
    busyTimeoutMilliseconds = Int32(clamping: configuration.busyTimeout.milliseconds)
    var own = configuration
    // Without readers this connection also reads.
    if configuration.readerLimit(of: path) != nil { own.pageCacheBytes = configuration.writerPageCacheBytes }
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

  /// The rowid of the last INSERT.
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

/// The memory from which SQLite reads the word of ``WriteConnection/withContext(_:_:)``.
private final class WriteContextValue {
  let place: UnsafeMutablePointer<UnsafePointer<UInt8>?>

  init() {
    place = .allocate(capacity: 1)
    place.initialize(to: nil)
  }

  deinit { place.deallocate() }
}

/// Writes of single records by chosen columns.
extension WriteConnection {
  /// Writes chosen columns of a record to the row with its key. The other columns stay unchanged.
  ///
  /// ```swift
  /// try db.update(room) { [$0.title, $0.status] }
  /// ```
  /// - Throws: ``SQLError`` with `notFound` if no row has the key, with `constraint` if a rule refuses the change.
  public func update<R: KeyedRecord>(_ record: R, _ columns: (R.Columns) -> [any SQLColumn<R>]) throws {
    let shape = RecordShape.of(R.self)
    let names = columns(R.Columns(qualifier: "")).map(\.name)
    guard !names.isEmpty else { return }
    var writer = SQLWriter()
    writer.write("UPDATE ")
    writer.write(name: shape.tableName)
    writer.write(" SET ")
    try write(names, &writer, shape, separator: ", ")
    writer.write(" WHERE ")
    try write(shape.keyColumns, &writer, shape, separator: " AND ")
    // The record binds all of its columns by number. The statement mentions the last one so that SQLite accepts them.
    writer.write(" AND ?")
    writer.write(number: shape.insertedColumns.count)
    writer.write(" IS ?")
    writer.write(number: shape.insertedColumns.count)
    try withStatement(try writer.finish().text) { statement in
      try record.bindInsert(to: statement)
      try statement.run()
    }
    if changedRowCount == 0 { throw missing(R.self) }
  }

  /// Inserts a record, or writes chosen columns of it to the row with the same unique values. All other columns of
  /// that row stay unchanged.
  ///
  /// ```swift
  /// let renamed = try db.upsert(room, onConflict: { [$0.uuid] }, updating: { [$0.title] })
  /// ```
  /// - Parameters:
  ///   - target: the columns that the schema declares as unique together.
  ///   - chosen: the columns to write; an empty list leaves the row unchanged.
  /// - Returns: the row after the statement, without later changes by triggers.
  /// - Throws: ``SQLError`` with `constraint` if another rule refuses it.
  @discardableResult
  public func upsert<R: InsertableRecord>(
    _ record: R, onConflict target: (R.Columns) -> [any SQLColumn<R>],
    updating chosen: (R.Columns) -> [any SQLColumn<R>]
  ) throws -> R {
    let shape = RecordShape.of(R.self)
    let columns = R.Columns(qualifier: "")
    let target = target(columns).map(\.name)
    let updated = chosen(columns).map(\.name)
    var writer = SQLWriter()
    writer.write(R.insertSQL)
    writer.write(" ON CONFLICT (")
    writer.write(names: target, separator: ", ") { $0.write(name: $1) }
    // Without a change there would be no row to return.
    writer.write(") DO UPDATE SET ")
    writer.write(names: updated.isEmpty ? target : updated, separator: ", ") { writer, name in
      writer.write(name: name)
      writer.write(" = excluded.")
      writer.write(name: name)
    }
    writer.write(" RETURNING ")
    writer.write(names: shape.columnNames, separator: ", ") { $0.write(name: $1) }
    return try withStatement(try writer.finish().text) { statement in
      try record.bindInsert(to: statement)
      guard try statement.step() else { throw missing(R.self) }
      let stored = try R(from: statement.row, at: 0)
      try statement.run()
      return stored
    }
  }

  /// Inserts a record unless a row with the same unique values exists.
  /// - Returns: `false` if nothing was inserted.
  /// - Throws: ``SQLError`` with `constraint` if a rule other than uniqueness refuses it.
  @discardableResult
  public func insertOrIgnore<R: InsertableRecord>(_ record: R) throws -> Bool {
    var writer = SQLWriter()
    writer.write(R.insertSQL)
    writer.write(" ON CONFLICT DO NOTHING")
    try withStatement(try writer.finish().text) { statement in
      try record.bindInsert(to: statement)
      try statement.run()
    }
    return changedRowCount > 0
  }

  private func write(
    _ names: [StaticString], _ writer: inout SQLWriter, _ shape: RecordShape, separator: StaticString
  ) throws(SQLError) {
    var failure: SQLError? = names.isEmpty ? SQLError(.misuse, "\(shape.tableName) has no primary key") : nil
    writer.write(names: names, separator: separator) { writer, name in
      guard let index = shape.insertedColumns.firstIndex(where: { $0.description == name.description }) else {
        failure = SQLError(.misuse, "the column \(name) cannot be written", hint: "it is computed by the schema")
        return
      }
      writer.write(name: name)
      writer.write(" = ?")
      writer.write(number: index + 1)
    }
    if let failure { throw failure }
  }
}

extension SQLWriter {
  mutating func write(number: Int) { splice(SQL(raw: String(number))) }

  mutating func write(
    names: [StaticString], separator: StaticString, _ body: (inout SQLWriter, StaticString) -> Void
  ) {
    for (index, name) in names.enumerated() {
      if index > 0 { write(separator) }
      body(&self, name)
    }
  }
}

extension WriteConnection {
  /// Runs a composed statement without result.
  /// - Returns: the number of changed rows, without changes by triggers and cascades.
  @discardableResult
  public func execute(_ sql: SQL) throws -> Int {
    try withStatement(sql.text) { statement in
      try statement.bind(sql.arguments)
      try statement.run()
      return statement.isReadOnly ? 0 : changedRowCount
    }
  }

  /// Inserts a record and stores the assigned rowid in it.
  /// - Throws: ``SQLError`` with `constraint` if a rule of the schema refuses it.
  @inlinable
  public func insert<R: InsertableRecord>(_ record: inout R) throws {
    try withStatement(R.insertSQL) { statement in
      try record.bindInsert(to: statement)
      try statement.run()
    }
    record.didInsert(rowID: lastInsertedRowID)
  }

  /// Inserts a record.
  /// - Returns: the record with the assigned rowid.
  @inlinable
  @discardableResult
  public func insert<R: InsertableRecord>(_ record: R) throws -> R {
    var copy = record
    try insert(&copy)
    return copy
  }

  /// Inserts many records with one prepared statement.
  @inlinable
  public func insert<R: InsertableRecord>(contentsOf records: some Sequence<R>) throws {
    try withStatement(R.insertSQL) { statement in
      for record in records {
        try record.bindInsert(to: statement)
        try statement.run()
        statement.reset()
      }
    }
  }

  /// Writes all columns of a record to the row with its key.
  /// - Throws: ``SQLError`` with `notFound` if no row has the key, with `constraint` if a rule refuses the change.
  @inlinable
  public func update<R: KeyedRecord>(_ record: R) throws {
    try withStatement(R.updateSQL) { statement in
      try record.bindUpdate(to: statement)
      try statement.run()
    }
    if changedRowCount == 0 { throw missing(R.self) }
  }

  /// Deletes the row with a key.
  /// - Returns: `false` if no row has the key.
  @inlinable
  @discardableResult
  public func delete<R: KeyedRecord>(_ type: R.Type, _ key: R.Key) throws -> Bool {
    let before = totalChangeCount
    try withStatement(R.deleteSQL) { statement in
      try key.bind(to: statement, from: 1)
      try statement.run()
    }
    return totalChangeCount > before
  }

  /// Deletes the row of a record.
  /// - Returns: `false` if it does not exist.
  @inlinable
  @discardableResult
  public func delete<R: KeyedRecord>(_ record: R) throws -> Bool { try delete(R.self, record.key) }

  @usableFromInline
  func missing<R: Record>(_ type: R.Type) -> SQLError {
    SQLError(.notFound, "no row of \(R.tableName) has this key", hint: "insert it, or fetch it again")
  }
}
