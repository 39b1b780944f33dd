import CSQLCipher

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
      // A caller may compose the same text. A statement of a migration is not for callers, and whether they may run one that
      // depends on the schemas changes with these.
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

  /// Prepares one statement. More than one in the text is refused: nothing can ride on a composed text.
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
      throw SQLError(.invalidSQL, "there is no statement in the text", sql: sql)
    }
    // A pragma of a caller only returns values, and SQLite counts some as writes.
    let statement = Statement(
      handle: prepared, accessed: parsed.accessed, authorizer: authorizer,
      isReadOnly: sqlite3_stmt_readonly(prepared) != 0 || authorizer.isPragma && parsed.accessed.isEmpty)
    let rest = parsed.end
    guard SQLText.isBlank(sql.utf8.dropFirst(rest)) else {
      throw SQLError(
        .invalidSQL, "there is a second statement behind the first", hint: "run one statement at a time", sql: sql,
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
