/// A query over three tables; see ``Join``. For more tables write the SQL.
public struct Join3<First: JoinSide, Second: JoinSide, Third: JoinSide>: Sendable {
  var parts: SelectParts

  private var columns: (First.Columns, Second.Columns, Third.Columns) {
    (
      First.columns(of: parts.sources[0].qualifier), Second.columns(of: parts.sources[1].qualifier),
      Third.columns(of: parts.sources[2].qualifier)
    )
  }

  private func with(_ change: (inout SelectParts) -> Void) -> Self {
    var copy = self
    change(&copy.parts)
    return copy
  }

  /// Keeps the rows that also fulfil a condition.
  public func `where`(_ condition: (First.Columns, Second.Columns, Third.Columns) -> some SQLExpression<Bool>) -> Self {
    let columns = columns
    let node = condition(columns.0, columns.1, columns.2).node
    return with { $0.filter = .and($0.filter, node) }
  }

  /// Appends terms to the ordering.
  public func order(@SQLOrderingBuilder _ terms: (First.Columns, Second.Columns, Third.Columns) -> [SQLOrdering])
    -> Self
  {
    let columns = columns
    let terms = terms(columns.0, columns.1, columns.2)
    return with { $0.orderings += terms }
  }

  /// Limits the number of rows, after an offset.
  public func limit(_ count: Int, offset: Int? = nil) -> Self { with { ($0.limit, $0.offset) = (count, offset) } }

  /// Removes duplicate rows.
  public func distinct() -> Self { with { $0.isDistinct = true } }

  /// Includes deleted rows.
  public func includingDeleted() -> Self { with { $0.includesDeleted = true } }

  /// Groups rows with equal values of an expression. `select` then returns aggregates over them.
  public func group(by term: (First.Columns, Second.Columns, Third.Columns) -> some SQLExpression) -> Self {
    let columns = columns
    let node = term(columns.0, columns.1, columns.2).node
    return with { $0.groups.append(node) }
  }

  /// Keeps groups that fulfil a condition.
  public func having(_ condition: (First.Columns, Second.Columns, Third.Columns) -> some SQLExpression<Bool>) -> Self {
    let columns = columns
    let node = condition(columns.0, columns.1, columns.2).node
    return with { $0.having = .and($0.having, node) }
  }

  /// Returns an expression of each row instead of the records.
  public func select<Term: SQLExpression>(
    _ term: (First.Columns, Second.Columns, Third.Columns) -> Term
  ) -> ValueSelection<Term.Value> {
    let columns = columns
    return ValueSelection(parts, term(columns.0, columns.1, columns.2).node)
  }

  /// Returns some expressions of each row as tuples instead of the records.
  @_disfavoredOverload
  public func select<each Term: SQLExpression>(
    _ terms: (First.Columns, Second.Columns, Third.Columns) -> (repeat each Term)
  ) -> Selection<repeat (each Term).Value> {
    let columns = columns
    let terms = terms(columns.0, columns.1, columns.2)
    var nodes: [SQLNode] = []
    repeat nodes.append((each terms).node)
    return Selection(parts, nodes)
  }
}

extension Join3 {
  /// The statement that ``fetch(_:)`` runs: its text and its values.
  /// - Throws: ``SQLError`` with `misuse` if the query is nested in itself.
  public var sql: SQL {
    get throws(SQLError) { try parts.statement(.records(and: [])) }
  }

  /// Returns all rows as tuples of records.
  /// - Throws: ``SQLError``: `typeMismatch` for a row that does not fit a type, `interrupted`.
  public func fetch(_ connection: Connection) throws -> [(First.Element, Second.Element, Third.Element)] {
    let second = Int32(parts.sources[0].shape.columnNames.count)
    let third = second + Int32(parts.sources[1].shape.columnNames.count)
    var rows: [(First.Element, Second.Element, Third.Element)] = []
    try connection.forEach(try sql) { row in
      rows.append((try First.decode(row, at: 0), try Second.decode(row, at: second), try Third.decode(row, at: third)))
    }
    return rows
  }

  /// Returns the first row after the offset, or `nil`.
  public func fetchFirst(_ connection: Connection) throws -> (First.Element, Second.Element, Third.Element)? {
    var first = self
    first.parts = parts.firstOnly()
    return try first.fetch(connection).first
  }

  /// Returns the number of rows.
  public func count(_ connection: Connection) throws -> Int {
    try connection.fetchOne(try parts.statement(.count), as: Int.self) ?? 0
  }
}
