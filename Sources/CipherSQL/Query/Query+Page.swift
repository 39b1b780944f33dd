/// A part of a query's result.
public struct Page<R: Record>: Sendable {
  /// The records, in the order of the query.
  public let records: [R]
  /// The cursor of the next page; `nil` after the last page.
  public let next: PageCursor?
}

extension Query where R: KeyedRecord {
  /// One page of the result, found by the values of the last record before it and not by counting: a page deep
  /// in the result costs as much as the first, and rows that come or go elsewhere do not shift it.
  ///
  /// The primary key is added to the ordering in the direction of its last term, so that every record has one
  /// place.
  /// - Parameters:
  ///   - size: at most this many records, at least 1.
  ///   - cursor: ``Page/next`` of the page before; nil for the first.
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
      throw SQLError(.misuse, "a query with limit, distinct or group has no pages", hint: "give the size to page")
    }
    guard size > 0 else { throw SQLError(.misuse, "a page has at least one record") }
    let terms = try totalOrdering()
    let ordering = try signature(of: terms)
    var paged = parts
    paged.orderings = terms
    paged.limit = size + 1
    if let cursor {
      guard cursor.ordering == ordering, cursor.values.count == terms.count else {
        throw SQLError(
          .misuse, "this page cursor belongs to another ordering", hint: "begin again without a cursor")
      }
      paged.filter = .and(paged.filter, Keyset.condition(terms, behind: cursor.values))
    }
    var writer = SQLWriter()
    writer.write(paged, .records(and: terms.map(\.node)))
    return (try writer.finish(), ordering)
  }

  /// The terms of the query and the primary key behind them.
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

  /// FNV-1a over the ordering as SQL, the same in every process.
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
