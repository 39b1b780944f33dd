extension Query {
  /// The statement that ``fetch(_:)`` runs: its text and its values.
  /// - Throws: ``SQLError`` with `misuse` when the query stands inside itself.
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

  /// The first record behind the offset of the query; nil when there is none.
  @inlinable
  public func fetchFirst(_ connection: Connection) throws -> R? {
    let sql = try firstSQL
    return try connection.withStatement(sql.text) { statement in
      try statement.bind(sql.arguments)
      return try statement.step() ? try R(from: statement.row, at: 0) : nil
    }
  }

  /// How many records there are.
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

  /// Runs a body for each record, with one record in memory at a time.
  /// - Throws: as ``fetch(_:)``; what `body` throws, which ends the loop.
  @inlinable
  public func forEach(_ connection: Connection, _ body: (R) throws -> Void) throws {
    try cursor(connection) { cursor in
      while let record = try cursor.next() { try body(record) }
    }
  }

  /// Takes records one by one, as many as are wanted. The cursor ends with the closure.
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
    // A statement that is stepped behind its end would begin anew.
    if isAtEnd { return nil }
    guard try statement.step() else {
      isAtEnd = true
      return nil
    }
    return try R(from: statement.row, at: 0)
  }
}
