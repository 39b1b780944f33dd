extension Join {
  /// The statement that ``fetch(_:)`` runs: its text and its values.
  /// - Throws: ``SQLError`` with `misuse` when the query stands inside itself.
  public var sql: SQL {
    get throws(SQLError) { try statement(.records(and: [])) }
  }

  private func statement(_ result: SelectParts.Result) throws(SQLError) -> SQL {
    var writer = SQLWriter()
    writer.write(parts, result)
    return try writer.finish()
  }

  /// All rows, as tuples of records.
  /// - Throws: ``SQLError``: `typeMismatch` for a row that does not fit a type, `interrupted`.
  public func fetch(_ connection: Connection) throws -> [(repeat (each Side).Element)] {
    var rows: [(repeat (each Side).Element)] = []
    let counts = parts.sources.map { Int32($0.shape.columnNames.count) }
    try connection.forEach(try sql) { row in
      var index = -1
      var first: Int32 = 0
      func next<S: JoinSide>(_ side: S.Type, _ row: borrowing Row) throws -> S.Element {
        index += 1
        defer { first += counts[index] }
        return try S.decode(row, at: first)
      }
      rows.append((repeat try next((each Side).self, row)))
    }
    return rows
  }

  /// The first row; nil when there is none.
  public func fetchFirst(_ connection: Connection) throws -> (repeat (each Side).Element)? {
    try limit(1).fetch(connection).first
  }

  /// How many rows there are.
  public func count(_ connection: Connection) throws -> Int {
    try connection.fetchOne(try statement(.count), as: Int.self) ?? 0
  }
}
