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

  /// Inserts a record and puts the rowid that the database gave into it.
  /// - Throws: ``SQLError`` with `constraint` when a rule of the schema refuses it.
  @inlinable
  public func insert<R: InsertableRecord>(_ record: inout R) throws {
    try withStatement(R.insertSQL) { statement in
      try record.bindInsert(to: statement)
      try statement.run()
    }
    record.didInsert(rowID: lastInsertedRowID)
  }

  /// Inserts a record.
  /// - Returns: the record with the rowid that the database gave.
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

  /// Writes all columns of a record over the row of its key.
  /// - Throws: ``SQLError`` with `notFound` when there is no such row, with `constraint` when a rule refuses it.
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
