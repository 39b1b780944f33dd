/// A query for records of one type, composed from its columns.
///
/// ```swift
/// let rooms = try Room.where { $0.projectId == id && $0.squareFootage > 10 }
///   .order { $0.updatedAt.descending }
///   .limit(50)
///   .fetch(db)
/// ```
///
/// A query is a value: each function returns a new one, and only functions such as `fetch` run it. Deleted rows
/// (``SoftDeletable``) are excluded without ``includingDeleted()``. A subquery may use columns of the outer query if it
/// is created within a closure of the outer query.
public struct Query<R: Record>: Sendable {
  var parts: SelectParts

  /// Creates a query for all records.
  public init() { parts = SelectParts(RecordShape.of(R.self), qualifier: SelectParts.freshQualifier()) }

  var columns: R.Columns { R.Columns(qualifier: parts.sources[0].qualifier) }

  func with(_ change: (inout SelectParts) -> Void) -> Query {
    var copy = self
    change(&copy.parts)
    return copy
  }

  /// Keeps the records that also fulfil a condition.
  public func `where`(_ condition: (R.Columns) -> some SQLExpression<Bool>) -> Query {
    let node = condition(columns).node
    return with { $0.filter = .and($0.filter, node) }
  }

  /// Appends terms to the ordering.
  public func order(@SQLOrderingBuilder _ terms: (R.Columns) -> [SQLOrdering]) -> Query {
    let terms = terms(columns)
    return with { $0.orderings += terms }
  }

  /// Limits the number of rows, after an offset. For pages prefer ``page(_:size:after:)``, which does not read the
  /// rows that it skips.
  public func limit(_ count: Int, offset: Int? = nil) -> Query { with { ($0.limit, $0.offset) = (count, offset) } }

  /// Removes duplicate rows.
  public func distinct() -> Query { with { $0.isDistinct = true } }

  /// Includes deleted rows.
  public func includingDeleted() -> Query { with { $0.includesDeleted = true } }

  /// Groups rows with equal values of an expression. `select` then returns aggregates over them.
  public func group(by term: (R.Columns) -> some SQLExpression) -> Self {
    let node = term(columns).node
    return with { $0.groups.append(node) }
  }

  /// Groups rows with equal values of some expressions. `select` then returns aggregates over them.
  @_disfavoredOverload
  public func group<each Term: SQLExpression>(
    by terms: (R.Columns) -> (repeat each Term)
  ) -> Self {
    let terms = terms(columns)
    var copy = self
    repeat copy.parts.groups.append((each terms).node)
    return copy
  }

  /// Keeps groups that fulfil a condition.
  public func having(_ condition: (R.Columns) -> some SQLExpression<Bool>) -> Query {
    let node = condition(columns).node
    return with { $0.having = .and($0.having, node) }
  }

  /// Returns an expression of each row instead of the records.
  public func select<Term: SQLExpression>(_ term: (R.Columns) -> Term) -> ValueSelection<Term.Value> {
    ValueSelection(parts, term(columns).node)
  }

  /// Returns some expressions of each row as tuples instead of the records.
  @_disfavoredOverload
  public func select<each Term: SQLExpression>(
    _ terms: (R.Columns) -> (repeat each Term)
  ) -> Selection<repeat (each Term).Value> {
    let terms = terms(columns)
    var nodes: [SQLNode] = []
    repeat nodes.append((each terms).node)
    return Selection(parts, nodes)
  }
}

extension Record {
  /// All records of the type.
  public static var all: Query<Self> { Query() }

  /// The records that fulfil a condition.
  public static func `where`(_ condition: (Columns) -> some SQLExpression<Bool>) -> Query<Self> {
    Query().where(condition)
  }
}

extension Query {
  /// The statement that ``fetch(_:)`` runs: its text and its values.
  /// - Throws: ``SQLError`` with `misuse` if the query is nested in itself.
  public var sql: SQL {
    get throws(SQLError) { try parts.statement(.records(and: [])) }
  }

  /// Returns all records.
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

  /// Returns whether a record exists. Reads at most one row.
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

  /// Returns the next record; `nil` after the last one.
  /// - Throws: the errors of ``Query/fetch(_:)``.
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

extension Query {
  /// Adds a table that must have a row for each record.
  public func join<Other: Record>(
    _ type: Other.Type, on condition: (R.Columns, Other.Columns) -> some SQLExpression<Bool>
  ) -> Join<Inner<R>, Inner<Other>> {
    let qualifier = SelectParts.freshQualifier()
    let node = condition(columns, Other.Columns(qualifier: qualifier)).node
    return Join(parts: parts.joining(type, " JOIN ", qualifier, on: node))
  }

  /// Adds a table that may have no row for a record.
  public func leftJoin<Other: Record>(
    _ type: Other.Type, on condition: (R.Columns, Other.Columns) -> some SQLExpression<Bool>
  ) -> Join<Inner<R>, Outer<Other>> {
    let qualifier = SelectParts.freshQualifier()
    let node = condition(columns, Other.Columns(qualifier: qualifier)).node
    return Join(parts: parts.joining(type, " LEFT JOIN ", qualifier, on: node))
  }
}

extension SelectParts {
  func joining<R: Record>(
    _ type: R.Type, _ kind: StaticString, _ qualifier: String, on condition: SQLNode
  ) -> SelectParts {
    var copy = self
    copy.sources.append(Source(shape: RecordShape.of(type), qualifier: qualifier, join: (kind, condition)))
    return copy
  }

  func statement(_ result: Result) throws(SQLError) -> SQL {
    var writer = SQLWriter()
    writer.write(self, result)
    return try writer.finish()
  }
}

/// A part of a query's result.
public struct Page<R: Record>: Sendable {
  /// The records, in the order of the query.
  public let records: [R]
  /// The cursor of the next page; `nil` after the last page.
  public let next: PageCursor?
}

extension Query where R: KeyedRecord {
  /// Returns one page of the result. The page is found by the values of the last record before it and not by counting.
  /// A late page costs as much as the first, and rows that are inserted or deleted elsewhere do not shift it.
  ///
  /// The primary key is added to the ordering in the direction of its last term, so that every record has a unique
  /// position.
  /// - Parameters:
  ///   - size: at most this many records, at least 1.
  ///   - cursor: ``Page/next`` of the previous page; `nil` for the first.
  /// - Throws: ``SQLError`` with `misuse` for a cursor of another ordering and for a query with a limit.
  public func page(_ connection: Connection, size: Int, after cursor: PageCursor? = nil) throws -> Page<R> {
    let (sql, ordering) = try pageStatement(size: size, after: cursor)
    let width = Int32(parts.sources[0].shape.columnNames.count)
    return try connection.withStatement(sql.text) { statement in
      try statement.bind(sql.arguments)
      var records: [R] = []
      var last: [SQLArgument] = []
      while try statement.step() {
        if records.count == size {
          return Page(records: records, next: PageCursor(ordering: ordering, values: last))
        }
        records.append(try R(from: statement.row, at: 0))
        if records.count == size {
          for index in width..<statement.columnCount { last.append(try statement.row.decode(at: index)) }
        }
      }
      return Page(records: records, next: nil)
    }
  }

  func pageStatement(size: Int, after cursor: PageCursor?) throws(SQLError) -> (SQL, ordering: UInt64) {
    guard parts.isPlain else {
      throw SQLError(.misuse, "a query with limit, distinct or group has no pages", hint: "pass the size to page")
    }
    guard size > 0 else { throw SQLError(.misuse, "the page size must be at least 1") }
    let terms = try totalOrdering()
    let ordering = try signature(of: terms)
    var paged = parts
    paged.orderings = terms
    paged.limit = size + 1
    if let cursor {
      guard cursor.ordering == ordering, cursor.values.count == terms.count else {
        throw SQLError(
          .misuse, "the page cursor belongs to another ordering", hint: "start again without a cursor")
      }
      paged.filter = .and(paged.filter, Keyset.condition(terms, behind: cursor.values))
    }
    var writer = SQLWriter()
    writer.write(paged, .records(and: terms.map(\.node)))
    return (try writer.finish(), ordering)
  }

  /// Returns the terms of the query, followed by the primary key.
  private func totalOrdering() throws(SQLError) -> [SQLOrdering] {
    let shape = parts.sources[0].shape
    guard !shape.keyColumns.isEmpty else { throw SQLError(.misuse, "\(shape.tableName) has no primary key") }
    var terms = parts.orderings
    let isDescending = terms.last?.isDescending ?? false
    for name in shape.keyColumns where !terms.contains(where: { $0.isColumn(name) }) {
      let node = SQLNode(.column(name, of: parts.sources[0].qualifier))
      terms.append(SQLOrdering(node: node, isDescending: isDescending, isNullable: false))
    }
    return terms
  }

  /// Returns FNV-1a of the ordering as SQL, which is the same in every process.
  private func signature(of terms: [SQLOrdering]) throws(SQLError) -> UInt64 {
    var writer = SQLWriter()
    writer.write(name: parts.sources[0].shape.tableName)
    for term in terms {
      writer.write(",")
      writer.write(term)
    }
    let sql = try writer.finish()
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    func mix(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    for byte in sql.text.utf8 { mix(byte) }
    for byte in PageCursor(ordering: 0, values: sql.arguments).description.utf8 { mix(byte) }
    return hash
  }
}

extension SQLOrdering {
  fileprivate func isColumn(_ name: StaticString) -> Bool {
    if case .column(let own, _) = node.kind { own.description == name.description } else { false }
  }
}

extension Query where R: InsertableRecord {
  /// Changes columns of all records of the query.
  ///
  /// ```swift
  /// try Room.where { $0.projectId == id }.update(db) { $0.squareFootage.set($0.squareFootage + 1) }
  /// ```
  /// - Returns: the number of changed rows.
  /// - Throws: ``SQLError`` with `constraint` if a rule of the schema refuses a change. No row is changed in this
  ///   case.
  @discardableResult
  public func update(
    _ connection: WriteConnection, @SQLAssignmentBuilder<R> _ changes: (R.Columns) -> [SQLAssignment<R>]
  ) throws -> Int {
    let assignments = changes(columns)
    guard !assignments.isEmpty else { return 0 }
    return try connection.execute(try updateStatement(assignments))
  }

  func updateStatement(_ assignments: [SQLAssignment<R>]) throws(SQLError) -> SQL {
    try writing("UPDATE ") { writer in
      var isFirst = true
      for assignment in assignments {
        writer.write(isFirst ? " SET " : ", ")
        writer.write(name: assignment.column)
        writer.write(" = ")
        writer.write(assignment.node)
        isFirst = false
      }
    }
  }

  /// Deletes all records of the query. If the schema marks rows as deleted instead, they are marked.
  /// - Returns: the number of deleted records, without cascaded ones.
  /// - Throws: ``SQLError`` with `constraint` if other rows reference a record. No row is deleted in this case.
  @discardableResult
  public func delete(_ connection: WriteConnection) throws -> Int {
    let sql = try writing("DELETE FROM ") { _ in }
    // A trigger that marks rows in place of deleting them leaves SQLite's own count at 0.
    let marked = parts.sources[0].shape.isSoftDeletable ? try count(connection) : nil
    let deleted = try connection.execute(sql)
    return marked ?? deleted
  }

  private func writing(
    _ verb: StaticString, _ changes: (inout SQLWriter) -> Void
  ) throws(SQLError) -> SQL {
    guard parts.groups.isEmpty, parts.having == nil, !parts.isDistinct else {
      throw SQLError(.misuse, "merged rows cannot be changed", hint: "omit group and distinct")
    }
    let source = parts.sources[0]
    var writer = SQLWriter()
    writer.scope = parts.limit == nil && parts.offset == nil ? [source.qualifier] : []
    writer.write(verb)
    writer.write(name: source.shape.tableName)
    writer.write(" AS ")
    writer.write(qualifier: source.qualifier)
    changes(&writer)
    if parts.limit != nil || parts.offset != nil {
      writer.write(" WHERE rowid IN ")
      writer.write(SQLNode(.select(parts, .values([SQLNode(.column("rowid", of: source.qualifier))]))))
    } else if let condition = parts.condition {
      writer.write(" WHERE ", condition)
    }
    return try writer.finish()
  }
}
