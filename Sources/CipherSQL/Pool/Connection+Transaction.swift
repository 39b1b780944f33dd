import CSQLCipher

extension Connection {
  /// Runs a body in a read transaction: all its statements see the same state.
  package final func inSnapshot<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    if isInTransaction { return try body(self) }
    try control("BEGIN DEFERRED")
    do {
      let result = try body(self)
      try control("COMMIT")
      return result
    } catch {
      rollBack()
      throw error
    }
  }

  /// Runs a body in a read transaction on the connection that also writes. Changes are rolled back and refused.
  ///
  /// Reading connections refuse changes by `query_only`. On this connection, the pragma would make SQLite prepare all
  /// statements again.
  final func inReadOnlySnapshot<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    try inSnapshot { connection in
      let result = try body(connection)
      guard sqlite3_txn_state(handle, nil) != SQLITE_TXN_WRITE else {
        throw SQLError(.readOnly, "a read cannot change the database", hint: "use the closure of a write")
      }
      return result
    }
  }

  /// Runs BEGIN, COMMIT and similar statements, which callers may not run.
  ///
  /// A cancellation does not reach them: SQLite calls the handler again after such a statement has taken effect, and
  /// would report an open or committed transaction as interrupted.
  final func control(_ sql: StaticString) throws {
    try uncancelled {
      try authorizer.asLibrary {
        let statement = try literalStatements[sql.utf8Start] ?? prepareLiteral(sql)
        defer { statement.reset() }
        try statement.run()
      }
    }
  }

  final func rollBack() {
    // SQLite has rolled back already after some errors, such as a full disk or an I/O error.
    guard isInTransaction else { return }
    // A rollback can only fail when there is no transaction, which was just looked at.
    uncancelled { authorizer.asLibrary { _ = sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) } }
  }
}

extension WriteConnection {
  final func inTransaction<Result>(_ body: () throws -> Result) throws -> Result {
    try control("BEGIN IMMEDIATE")
    do {
      let result = try body()
      guard isInTransaction else {
        throw SQLError(
          .misuse, "the body of the transaction ended the transaction",
          hint: "throw an error to roll back; return to commit")
      }
      try checkCancellation()
      try control("COMMIT")
      return result
    } catch {
      rollBack()
      throw error
    }
  }

  /// Runs a body in a transaction of its own, and undoes its changes in any case.
  package final func undoing<Result>(_ body: () throws -> Result) throws -> Result {
    try control("BEGIN")
    do {
      let result = try body()
      // A trigger may have rolled back, although its error was handled.
      if isInTransaction { try control("ROLLBACK") }
      return result
    } catch {
      rollBack()
      throw error
    }
  }

  /// Runs a part of a transaction that may fail alone: if `body` throws, its changes are undone and the transaction
  /// continues. Savepoints nest.
  /// - Throws: the errors of `body`; ``SQLError`` with `misuse` without a transaction. A full or failing disk rolls
  ///   back the whole transaction, and later statements would commit one by one.
  @discardableResult
  public func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
    guard isInTransaction else {
      throw SQLError(.misuse, "the transaction is over", hint: "rethrow the error that rolled it back")
    }
    try control("SAVEPOINT fieldvault")
    do {
      let result = try body()
      try control("RELEASE fieldvault")
      return result
    } catch {
      if isInTransaction {
        try control("ROLLBACK TO fieldvault")
        try control("RELEASE fieldvault")
      }
      throw error
    }
  }

  /// Runs a part of a transaction as ``savepoint(_:)`` does, and refuses changes that violate a deferred foreign key.
  /// Otherwise only the commit would fail, and with it the whole transaction.
  ///
  /// A transaction that had a violation before is not checked, because SQLite does not tell how many there are.
  /// - Throws: the errors of `body`; ``SQLError`` with `constraint`.
  @discardableResult
  package func checkedSavepoint<Result>(_ body: () throws -> Result) throws -> Result {
    let wasViolated = hasViolatedForeignKeys
    return try savepoint {
      let result = try body()
      if !wasViolated, hasViolatedForeignKeys { throw SQLError.violatedForeignKey }
      return result
    }
  }

  /// Runs a closure whose foreign keys are checked at its end.
  /// - Throws: the errors of `body`; ``SQLError`` with `constraint`.
  package func deferringForeignKeys<Result>(_ body: () throws -> Result) throws -> Result {
    guard !isDeferringForeignKeys else { return try body() }
    isDeferringForeignKeys = true
    defer { isDeferringForeignKeys = false }
    return try switching("defer_foreign_keys", to: true) {
      let result = try body()
      // SQLite forgets the violations when the setting ends.
      if hasViolatedForeignKeys { throw SQLError.violatedForeignKey }
      return result
    }
  }

  /// Whether a deferred foreign key is violated at the moment.
  private var hasViolatedForeignKeys: Bool {
    var (current, highest): (Int32, Int32) = (0, 0)
    let result = sqlite3_db_status(handle, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
    return result == SQLITE_OK && current != 0
  }
}
