import CSQLCipher
import Dispatch
import Platform
import Synchronization

/// One connection to a database, for reading. The closures of `Database.read` receive it. It must not leave them.
public class Connection {
  @usableFromInline let handle: OpaquePointer
  @usableFromInline final var literalStatements: [UnsafePointer<UInt8>: Statement] = [:]
  final var composedStatements = ComposedStatementCache(capacity: 256)
  @usableFromInline final let authorizer = Authorizer()
  final let pageCacheBytes: Int
  /// The executor of asynchronous calls, a serial queue with a separate thread. On a concurrent queue, long calls could
  /// occupy every thread, and Swift's tasks could not cancel them.
  final let queue = DispatchQueue(label: "fieldvault.connection")
  // Set while a call that can be cancelled runs.
  @usableFromInline final var cancellation: Cancellation?
  /// Collects the tables that the statements of an observed query read.
  final var observedReads: AccessedRegion? { didSet { updateNoting() } }
  /// Collects the tables that the statements of a watched transaction write.
  final var watchedChanges: TransactionChanges? { didSet { updateNoting() } }
  // True while one of the two gathers, so that the usual case costs one comparison.
  @usableFromInline final var isNoting = false

  private final var isClosed = false
  /// The clock and the random source of the database.
  package final let environment: Environment
  /// The cache of the values that are derived from the schema of the database.
  package final let schemaCache: SchemaCache
  /// The catalogue that this connection has read last without the cache.
  final var lastCatalog: CatalogReading?
  // Released after the handle was closed. `nil` for the environment of the operating system.
  private final let sqlEnvironment: SQLEnvironment?

  private final func updateNoting() { isNoting = observedReads != nil || watchedChanges != nil }

  /// Opens a file, or a database in memory.
  /// - Parameters:
  ///   - path: the file; `nil` for a database in memory.
  ///   - key: the raw key; `nil` for a database in memory and for a ``PlainFile``, which cannot be written.
  ///   - isToExist: if `false`, creates a missing file.
  /// - Throws: ``SQLError`` with `misuse` for any other file without a key.
  init(path: String?, key: (any EncryptionKey)?, configuration: Configuration, isToExist: Bool = false) throws {
    guard path == nil || (key == nil) == (configuration.plainFileAccess != nil) else {
      throw SQLError(.misuse, "a database file needs a key", hint: "only files of other programs are read without one")
    }
    try Library.initialise()
    var opened: OpaquePointer?
    // Each connection is used by one thread at a time, which the pool guarantees; SQLite's own mutex would
    // only cost time.
    var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    flags |=
      configuration.isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | (isToExist ? 0 : SQLITE_OPEN_CREATE)
    environment = configuration.environment
    schemaCache = configuration.schemaCache
    sqlEnvironment = environment.isSystem ? nil : try SQLEnvironment(environment)
    var name = path ?? ":memory:"
    if let path, let access = configuration.plainFileAccess {
      name = access.address(of: path)
      flags |= SQLITE_OPEN_URI
    }
    let result =
      sqlEnvironment?.withName { sqlite3_open_v2(name, &opened, flags, $0) }
      ?? sqlite3_open_v2(name, &opened, flags, nil)
    guard let opened, result == SQLITE_OK else {
      let error = SQLError.last(opened, result: result)
      sqlite3_close_v2(opened)
      throw error
    }
    handle = opened
    pageCacheBytes = configuration.pageCacheBytes
    do {
      try configure(key: key, configuration: configuration)
      authorizer.install(on: opened)
    } catch {
      sqlite3_close_v2(opened)
      throw error
    }
    Self.open.withLock { $0 += 1 }
  }

  deinit { close() }

  /// Closes the file. The connection must not be used afterwards.
  final func close() {
    guard !isClosed else { return }
    isClosed = true
    literalStatements.removeAll()
    composedStatements.removeAll()
    sqlite3_close_v2(handle)
    Self.open.withLock { $0 -= 1 }
  }

  private static let open = Locked(0)

  /// The number of connections of this process that are not closed. The last one of a database removes its
  /// write-ahead log.
  package static var openCount: Int { open.withLock { $0 } }

  private func configure(key: (any EncryptionKey)?, configuration: Configuration) throws {
    if let key {
      try Library.check(cipherVersion: try pragmaText("PRAGMA cipher_version"))
      try key.withRawKeyText { text in
        let result = sqlite3_key_v2(handle, "main", text.baseAddress, Int32(text.count))
        guard result == SQLITE_OK else { throw SQLError.last(handle, result: result) }
      }
      // SQLCipher writes to standard error when a page fails its check, and the thrown error has the same
      // information. Setting the key resets the level, so this statement follows it.
      try pragma("PRAGMA cipher_log_level = NONE")
    }
    sqlite3_busy_timeout(handle, Int32(clamping: configuration.busyTimeout.milliseconds))
    if configuration.isForDamagedFile { try prepareForDamage() }
    if let access = configuration.plainFileAccess { try prepareForPlainFile(access) }
    try pragma("PRAGMA temp_store = MEMORY")
    try pragma("PRAGMA cache_size = -\(max(configuration.pageCacheBytes / 1024, 64))")
    try pragma("PRAGMA foreign_keys = \(configuration.enforcesForeignKeys ? "ON" : "OFF")")
    try pragma("PRAGMA trusted_schema = OFF")
    var result = csqlcipher_disable_double_quoted_strings(handle)
    if result == SQLITE_OK, let sqlEnvironment { result = sqlEnvironment.install(on: handle) }
    if result == SQLITE_OK, !configuration.isForDamagedFile { result = csqlcipher_enable_defensive(handle) }
    guard result == SQLITE_OK else { throw SQLError.last(handle, result: result) }
  }

  /// Runs a pragma that only the library may run.
  final func pragma(_ sql: String) throws(SQLError) {
    let result = authorizer.asLibrary { sqlite3_exec(handle, sql, nil, nil, nil) }
    guard result == SQLITE_OK else { throw SQLError.last(handle, result: result, sql: sql) }
  }

  /// Runs a statement that only the library may run. Returns the first column of its first row.
  final func pragmaText(_ sql: String) throws(SQLError) -> String? {
    try authorizer.asLibrary { () throws(SQLError) in try firstText(sql) }
  }

  private func firstText(_ sql: String) throws(SQLError) -> String? {
    var statement: OpaquePointer?
    let result = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
    guard result == SQLITE_OK, let statement else { throw SQLError.last(handle, result: result, sql: sql) }
    defer { sqlite3_finalize(statement) }
    let stepped = sqlite3_step(statement)
    guard stepped == SQLITE_ROW else {
      if stepped == SQLITE_DONE { return nil }
      throw SQLError.last(handle, result: stepped, sql: sql)
    }
    return sqlite3_column_text(statement, 0).map { String(cString: $0) }
  }

  /// Whether a transaction is open on this connection.
  public final var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }
}

extension Duration {
  /// The whole milliseconds of the duration.
  var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}

/// The request to stop a running call. Any thread sets it; the call checks it between statements.
@usableFromInline
final class Cancellation: Sendable {
  @usableFromInline let isCancelled = Atomic<Bool>(false)
  /// Counts the visited rows of the call, if its caller wants to know them.
  let visits: VisitCount?

  init(_ visits: VisitCount?) { self.visits = visits }
}

extension Connection {
  /// Prepares a statement whose text is a literal, or takes it from the cache, and resets it after use.
  ///
  /// Literals are found by the address of their text, without hashing it.
  @inlinable
  public final func withStatement<Result>(
    _ sql: StaticString, _ body: (Statement) throws -> Result
  ) throws -> Result {
    let statement: Statement
    if let cached = literalStatements[sql.utf8Start], !cached.isInUse {
      statement = cached
    } else {
      statement = try prepareLiteral(sql)
    }
    return try use(statement, body)
  }

  // Disfavored, because Swift prefers String for a literal.
  /// Prepares a statement whose text was composed at run time, or takes it from the cache.
  @_disfavoredOverload
  public final func withStatement<Result>(
    _ sql: String, _ body: (Statement) throws -> Result
  ) throws -> Result {
    let statement: Statement
    if let cached = composedStatements[sql], !cached.isInUse {
      statement = cached
    } else {
      statement = try prepare(sql)
      // A caller may compose the same text. A statement of a migration is not for callers, and whether they may run one
      // that depends on the schemas changes with these.
      if authorizer.isByCaller, !authorizer.dependsOnSchemas { composedStatements[sql] = statement }
    }
    return try use(statement, body)
  }

  @inlinable
  final func use<Result>(_ statement: Statement, _ body: (Statement) throws -> Result) throws -> Result {
    try willUse(statement)
    statement.isInUse = true
    defer {
      statement.reset()
      statement.isInUse = false
    }
    return try body(statement)
  }

  @inlinable
  final func willUse(_ statement: Statement) throws(SQLError) {
    if cancellation != nil { try checkCancellation() }
    if isNoting { noteUse(of: statement) }
  }

  @usableFromInline
  final func checkCancellation() throws(SQLError) {
    if isCancelled {
      throw SQLError(.interrupted, "the call was cancelled")
    }
  }

  @usableFromInline
  final func noteUse(of statement: Statement) {
    observedReads?.formUnion(statement.accessed)
    watchedChanges?.noteStatement(statement)
  }

  @usableFromInline
  final func prepareLiteral(_ sql: StaticString) throws(SQLError) -> Statement {
    let statement = try prepare(sql.description)
    if !authorizer.dependsOnSchemas { literalStatements[sql.utf8Start] = statement }
    return statement
  }

  /// Prepares one statement. Refuses a text with several statements, so that no statement can be appended to a composed
  /// text.
  final func prepare(_ sql: String) throws(SQLError) -> Statement {
    var parsed = parse(sql)
    if authorizer.dependsOnSchemas {
      // The names may have changed since they were read: another process migrates, too.
      sqlite3_finalize(parsed.statement)
      authorizer.schemaObjects = try SchemaObjects.names(in: self)
      parsed = parse(sql)
    }
    guard parsed.result == SQLITE_OK else {
      throw authorizer.refusalError(result: parsed.result, sql: sql)
        ?? SQLError.last(handle, result: parsed.result, sql: sql)
    }
    guard let prepared = parsed.statement else {
      throw SQLError(.invalidSQL, "the text contains no statement", sql: sql)
    }
    // A pragma of a caller only returns values, and SQLite counts some as writes.
    let statement = Statement(
      handle: prepared, accessed: parsed.accessed, authorizer: authorizer,
      isReadOnly: sqlite3_stmt_readonly(prepared) != 0 || authorizer.isPragma && parsed.accessed.isEmpty)
    let rest = parsed.end
    guard SQLText.isBlank(sql.utf8.dropFirst(rest)) else {
      throw SQLError(
        .invalidSQL, "the text contains more than one statement", hint: "run one statement at a time", sql: sql,
        offset: rest)
    }
    // SQLite asks the authorizer about VACUUM only when it runs, and first complains of the open transaction.
    if !statement.isReadOnly, parsed.accessed.isEmpty, SQLText.firstWord(of: Array(sql.utf8))?.word == "VACUUM" {
      throw Authorizer.vacuum(sql)
    }
    return statement
  }

  private func parse(_ sql: String) -> (result: Int32, statement: OpaquePointer?, end: Int, accessed: AccessedRegion) {
    authorizer.begin()
    var prepared: OpaquePointer?
    var end = 0
    var copy = sql
    let result = copy.withUTF8 { text in
      text.withMemoryRebound(to: CChar.self) { text -> Int32 in
        var tail: UnsafePointer<CChar>?
        let result = sqlite3_prepare_v3(
          handle, text.baseAddress, Int32(clamping: text.count), UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, &tail)
        if let tail, let start = text.baseAddress { end = tail - start }
        return result
      }
    }
    return (result, prepared, end, authorizer.end())
  }
}

/// The statements of composed texts. A new one replaces the least recently used one.
struct ComposedStatementCache {
  private var entries: [String: (statement: Statement, lastUse: UInt64)] = [:]
  private var clock: UInt64 = 0
  private let capacity: Int

  init(capacity: Int) { self.capacity = capacity }

  subscript(sql: String) -> Statement? {
    mutating get {
      guard let index = entries.index(forKey: sql) else { return nil }
      clock += 1
      entries.values[index].lastUse = clock
      return entries.values[index].statement
    }
    set {
      clock += 1
      guard let newValue else {
        entries[sql] = nil
        return
      }
      if entries.count >= capacity, entries[sql] == nil,
        let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })
      {
        entries[oldest.key] = nil
      }
      entries[sql] = (newValue, clock)
    }
  }

  mutating func removeAll() { entries.removeAll() }
}

extension Connection {
  /// Ends a long loop if its call was cancelled.
  /// - Throws: ``SQLError`` with `interrupted`.
  public final func throwIfCancelled() throws { try checkCancellation() }
}
