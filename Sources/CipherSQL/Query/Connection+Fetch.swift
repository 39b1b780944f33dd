extension Connection {
  /// Calls a closure with each row of a composed statement.
  /// - Throws: ``SQLError``; the errors of `body`.
  public final func forEach(_ sql: SQL, _ body: (borrowing Row) throws -> Void) throws {
    try withStatement(sql.text) { statement in
      try statement.bind(sql.arguments)
      while try statement.step() {
        try checkCancellation()
        try body(statement.row)
      }
    }
  }

  /// Returns the first column of all rows of a statement.
  public final func fetch<Value: SQLValue>(_ sql: SQL, as type: Value.Type) throws -> [Value] {
    var values: [Value] = []
    try forEach(sql) { row in values.append(try row.decode(at: 0)) }
    return values
  }

  /// Returns the first column of the first row; `nil` without rows.
  public final func fetchOne<Value: SQLValue>(_ sql: SQL, as type: Value.Type) throws -> Value? {
    try withStatement(sql.text) { statement in
      try statement.bind(sql.arguments)
      return try statement.step() ? try statement.row.decode(Value.self, at: 0) : nil
    }
  }

  /// Returns all rows of a statement as records. Its columns must be the columns of the record, in the same order.
  public final func fetch<R: Record>(_ sql: SQL, as type: R.Type) throws -> [R] {
    var records: [R] = []
    try forEach(sql) { row in records.append(try R(from: row, at: 0)) }
    return records
  }

  /// Returns all rows of a statement as tuples of typed values.
  public final func fetchRows<each Value: SQLValue>(
    _ sql: SQL, as types: repeat (each Value).Type
  ) throws -> [(repeat each Value)] {
    var rows: [(repeat each Value)] = []
    try forEach(sql) { row in
      var index: Int32 = -1
      func next<V: SQLValue>(_ type: V.Type, _ row: borrowing Row) throws -> V {
        index += 1
        return try row.decode(V.self, at: index)
      }
      rows.append((repeat try next((each Value).self, row)))
    }
    return rows
  }

  /// Returns the record with a key; `nil` if it does not exist or is deleted.
  @inlinable
  public final func find<R: KeyedRecord>(_ type: R.Type, _ key: R.Key) throws -> R? {
    try withStatement(R.findSQL) { statement in
      try key.bind(to: statement, from: 1)
      return try statement.step() ? try R(from: statement.row, at: 0) : nil
    }
  }

  /// Returns all rows of a statement with a literal text. `bind` binds the parameters.
  @inlinable
  public final func fetchAll<R: Record>(
    _ type: R.Type, _ sql: StaticString, bind: (Statement) throws -> Void
  ) throws -> [R] {
    try withStatement(sql) { statement in
      try bind(statement)
      var records: [R] = []
      while try statement.step() { records.append(try R(from: statement.row, at: 0)) }
      return records
    }
  }

  /// Returns the first row of a statement with a literal text, or `nil`. `bind` binds the parameters.
  @inlinable
  public final func fetchFirst<R: Record>(
    _ type: R.Type, _ sql: StaticString, bind: (Statement) throws -> Void
  ) throws -> R? {
    try withStatement(sql) { statement in
      try bind(statement)
      return try statement.step() ? try R(from: statement.row, at: 0) : nil
    }
  }
}
