import CSQLCipher

extension Connection {
  /// Runs a body in a read transaction: all its statements see the same state.
  final func inSnapshot<Result>(_ body: (Connection) throws -> Result) throws -> Result {
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

  /// Runs BEGIN, COMMIT and their like, which callers may not run.
  ///
  /// A cancellation does not reach them: SQLite asks about it once more when such a statement has taken effect, and would
  /// report as interrupted a transaction that is open, or one that stands.
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
    // SQLite has rolled back by itself after some errors (full disk, I/O); then there is nothing to do.
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
          .misuse, "the transaction was ended inside its own body",
          hint: "throw an error to roll back, return to commit")
      }
      try checkCancellation()
      try control("COMMIT")
      return result
    } catch {
      rollBack()
      throw error
    }
  }

  /// Runs a part of a transaction that may fail by itself: when `body` throws, what it did is undone and the
  /// transaction goes on. Savepoints nest.
  /// - Throws: what `body` throws; ``SQLError`` with `misuse` when there is no transaction (any more): a full or failing disk
  ///   undoes all of it, and what went on would be committed part by part.
  @discardableResult
  public func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
    guard isInTransaction else {
      throw SQLError(.misuse, "the transaction is over", hint: "let the error before this one end it")
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
}
