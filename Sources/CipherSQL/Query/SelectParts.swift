import Synchronization

/// The clauses of a SELECT.
struct SelectParts: Sendable {
  /// A table of the FROM clause.
  struct Source: Sendable {
    let shape: RecordShape
    let qualifier: String
    /// The join with the tables before it; `nil` for the first.
    var join: (kind: StaticString, condition: SQLNode)?
  }

  /// The expressions of a row.
  enum Result: Sendable {
    /// All columns of all tables, followed by further expressions.
    case records(and: [SQLNode])
    case values([SQLNode])
    case count
    case one
  }

  var sources: [Source]
  var filter: SQLNode?
  var groups: [SQLNode] = []
  var having: SQLNode?
  var orderings: [SQLOrdering] = []
  var limit: Int?
  var offset: Int?
  var isDistinct = false
  var includesDeleted = false

  init(_ shape: RecordShape, qualifier: String) {
    sources = [Source(shape: shape, qualifier: qualifier, join: nil)]
  }

  /// Whether the rows are the rows of the tables, neither grouped nor limited.
  var isPlain: Bool { groups.isEmpty && having == nil && !isDistinct && limit == nil && offset == nil }

  /// Returns the query for only the first row. The offset stays, and so does a limit of 0.
  func firstOnly() -> SelectParts {
    var copy = self
    copy.limit = limit == 0 ? 0 : 1
    return copy
  }

  private static let counter = Atomic<Int>(0)

  /// Returns a name for a table that no other query uses.
  static func freshQualifier() -> String {
    String(counter.wrappingAdd(1, ordering: .relaxed).newValue, radix: 36)
  }

  /// Returns the condition that excludes deleted rows; `nil` if it is not needed.
  func deletedCondition(of source: Source) -> SQLNode? {
    guard source.shape.isSoftDeletable, !includesDeleted else { return nil }
    return .binary(
      SQLNode(.column("isDeleted", of: source.qualifier)), " = ", SQLNode(.word("0")), .equality)
  }

  /// The condition of the WHERE clause.
  var condition: SQLNode? {
    guard let kept = deletedCondition(of: sources[0]) else { return filter }
    return .and(filter, kept)
  }
}

extension SQLWriter {
  mutating func write(_ parts: SelectParts, _ result: SelectParts.Result) {
    enter(parts)
    if case .count = result, !parts.isPlain {
      // Grouped or limited rows are counted in a subquery.
      write("SELECT count(*) FROM (")
      write(select: parts, parts.groups.isEmpty ? .records(and: []) : .one)
      write(")")
    } else {
      write(select: parts, result)
    }
    scope.removeLast(parts.sources.count)
  }

  private mutating func enter(_ parts: SelectParts) {
    for source in parts.sources {
      if scope.contains(source.qualifier) {
        problem = SQLError(
          .misuse, "a query contains itself, so its inner and outer columns are ambiguous",
          hint: "create a new query for the inner one")
      }
      scope.append(source.qualifier)
    }
  }

  private mutating func write(select parts: SelectParts, _ result: SelectParts.Result) {
    write(parts.isDistinct ? "SELECT DISTINCT " : "SELECT ")
    write(result, of: parts)
    write(" FROM ")
    for source in parts.sources { write(source, of: parts) }
    if let condition = parts.condition { write(" WHERE ", condition) }
    if !parts.groups.isEmpty {
      write(" GROUP BY ")
      write(list: parts.groups)
    }
    if let having = parts.having { write(" HAVING ", having) }
    if case .count = result { return }
    write(orderings: parts.orderings)
    writeLimit(of: parts)
  }

  mutating func write(_ keyword: StaticString, _ condition: SQLNode) {
    write(keyword)
    write(condition)
  }

  private mutating func write(_ result: SelectParts.Result, of parts: SelectParts) {
    switch result {
    case .records(let more):
      for (index, source) in parts.sources.enumerated() {
        if index > 0 { write(", ") }
        write(bytes: source.shape.columnList(number: number(of: source.qualifier)))
      }
      for node in more {
        write(", ")
        write(node)
      }
    case .values(let nodes): write(list: nodes)
    case .count: write("count(*)")
    case .one: write("1")
    }
  }

  private mutating func write(_ source: SelectParts.Source, of parts: SelectParts) {
    if let join = source.join { write(join.kind) }
    write(name: source.shape.tableName)
    write(" AS ")
    write(qualifier: source.qualifier)
    guard let join = source.join else { return }
    // In ON, so that a left join keeps the row on its left if the row on its right is deleted.
    if let kept = parts.deletedCondition(of: source) {
      write(" ON ", .and(join.condition, kept))
    } else {
      write(" ON ", join.condition)
    }
  }

  private mutating func write(orderings: [SQLOrdering]) {
    var isFirst = true
    for ordering in orderings {
      write(isFirst ? " ORDER BY " : ", ")
      write(ordering)
      isFirst = false
    }
  }

  private mutating func writeLimit(of parts: SelectParts) {
    guard parts.limit != nil || parts.offset != nil else { return }
    write(" LIMIT ")
    bind(.integer(Int64(parts.limit ?? -1)))
    if let offset = parts.offset {
      write(" OFFSET ")
      bind(.integer(Int64(offset)))
    }
  }
}
