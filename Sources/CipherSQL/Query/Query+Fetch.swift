extension Query {
  /// The statement that ``fetch(_:)`` runs: its text and its values.
  /// - Throws: ``SQLError`` with `misuse` if the query is nested in itself.
  public var sql: SQL {
    get throws(SQLError) { try parts.statement(.records(and: [])) }
  }

  /// All records.
  /// - Throws: ``SQLError``: `typeMismatch` for a row that does not fit the type, `interrupted`.
  @inlinable
  public func fetch(_ connection: Connection) throws -> [R] {
    let sql = try sql
    return try connection.withStatement(sql.text) { statement in
      try statement.bind(sql.arguments)
      var records: [R] = []
      while try statement.step() { records.append(try R(from: statement.row, at: 0)) }
      return records
    }
  }

  @usableFromInline
  var firstSQL: SQL {
    get throws(SQLError) { try parts.firstOnly().statement(.records(and: [])) }
  }

  /// Returns the first record after the offset of the query, or `nil`.
  @inlinable
  public func fetchFirst(_ connection: Connection) throws -> R? {
    let sql = try firstSQL
    return try connection.withStatement(sql.text) { statement in
      try statement.bind(sql.arguments)
      return try statement.step() ? try R(from: statement.row, at: 0) : nil
    }
  }

  /// Returns the number of records.
  public func count(_ connection: Connection) throws -> Int {
    try connection.fetchOne(try parts.statement(.count), as: Int.self) ?? 0
  }

  /// True when there is a record. Looks at one row at most.
  public func exists(_ connection: Connection) throws -> Bool {
    var writer = SQLWriter()
    writer.write("SELECT ")
    writer.write(SQLNode(.exists(parts)))
    return try connection.fetchOne(try writer.finish(), as: Bool.self) ?? false
  }

  /// Calls a closure with each record, with one record in memory at a time.
  /// - Throws: the errors of ``fetch(_:)``; the errors of `body`, which end the loop.
  @inlinable
  public func forEach(_ connection: Connection, _ body: (R) throws -> Void) throws {
    try cursor(connection) { cursor in
      while let record = try cursor.next() { try body(record) }
    }
  }

  /// Calls a closure with a cursor that reads records one by one. The cursor is valid during the closure.
  ///
  /// ```swift
  /// try Room.all.cursor(db) { cursor in
  ///   while let room = try cursor.next() { if room.title == "Attic" { break } }
  /// }
  /// ```
  @inlinable
  public func cursor<Result>(
    _ connection: Connection, _ body: (inout RecordCursor<R>) throws -> Result
  ) throws -> Result {
    let sql = try sql
    return try connection.withStatement(sql.text) { statement in
      try statement.bind(sql.arguments)
      var cursor = RecordCursor<R>(statement: statement)
      return try body(&cursor)
    }
  }
}

/// Steps through the records of a query; see ``Query/cursor(_:_:)``.
public struct RecordCursor<R: Record>: ~Copyable {
  @usableFromInline let statement: Statement
  @usableFromInline var isAtEnd = false

  @usableFromInline
  init(statement: Statement) { self.statement = statement }

  /// The next record; nil behind the last.
  /// - Throws: ``SQLError`` as ``Query/fetch(_:)``.
  @inlinable
  public mutating func next() throws -> R? {
    // Stepping a statement after its last row would restart it.
    if isAtEnd { return nil }
    guard try statement.step() else {
      isAtEnd = true
      return nil
    }
    return try R(from: statement.row, at: 0)
  }
}
