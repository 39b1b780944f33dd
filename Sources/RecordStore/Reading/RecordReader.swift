import CipherSQL
import SchemaModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A selection of an entity's records, and their order.
public struct RecordSelection: Sendable {
  /// An SQL expression over the columns that must be true for each record.
  public var condition: String?
  /// The fields to order by, and whether the order is descending.
  public var order: [(field: String, isDescending: Bool)] = []
  /// The maximum number of records.
  public var limit: Int?
  /// Whether to include deleted records.
  public var includesDeleted = false

  /// All records that are not deleted, in no particular order.
  public init() {}
}

/// A page of the records of an entity, after another record in the order of one field.
public struct RecordPageRequest: Sendable {
  /// A comparison of a field with a value.
  public struct Filter: Sendable, Hashable {
    /// How a field is compared.
    public enum Comparison: String, Sendable, CaseIterable {
      case equals, differs, atLeast, atMost, contains, begins, isEmpty, hasValue
    }

    /// The name of the field.
    public let field: String
    /// The comparison.
    public let comparison: Comparison
    /// The value as text; ignored by `isEmpty` and `hasValue`.
    public let text: String

    /// Creates a filter.
    public init(_ field: String, _ comparison: Comparison, _ text: String) {
      (self.field, self.comparison, self.text) = (field, comparison, text)
    }
  }

  /// All of them must be true.
  public var filters: [Filter] = []
  /// The field to order by; `nil` for the order in which the records were added on this device.
  public var order: String?
  /// Whether the greatest value comes first.
  public var isDescending = false
  /// Whether to include deleted records.
  public var includesDeleted = false
  /// The UUID of the last record of the page before; `nil` for the first page.
  public var after: UUID?
  /// The greatest number of records.
  public var limit = 50

  /// The first page of all records that are not deleted.
  public init() {}
}

/// Reads records of entities that are known only at run time.
public struct RecordReader {
  package let connection: Connection

  /// Creates a reader over a connection. It is valid as long as the connection.
  public init(_ connection: Connection) { self.connection = connection }

  /// Calls a closure with each record and its `Entity.shownColumns`.
  /// - Throws: ``VaultError`` with `noSuchField` for an unknown field of the condition or the order, with `refused` for
  ///   a condition that is not a single expression; ``SQLError`` for a condition that SQLite cannot compile.
  public func forEach(
    _ entity: Entity, _ selection: RecordSelection, _ body: (borrowing Row) throws -> Void
  ) throws {
    let query = try sql(entity, selection)
    guard let condition = selection.condition else { return try connection.forEach(query, body) }
    do {
      try connection.forEach(query, body)
    } catch let error as SQLError {
      if let name = error.unknownColumn, entity.table.column(name) == nil, !ConditionText(condition).hasQuery {
        throw entity.unknownField(name)
      }
      throw try mistake(in: condition, entity) ?? error
    }
  }

  /// Returns the error of a condition without the parentheses around it, which a message about its syntax would name.
  private func mistake(in condition: String, _ entity: Entity) throws -> SQLError? {
    do {
      // Compiled, and not performed.
      try connection.forEach("EXPLAIN SELECT 1 FROM \(identifier: entity.table.name) WHERE \(raw: condition)") { _ in }
      return nil
    } catch let error as SQLError {
      return error
    }
  }

  /// Returns one record with its `Entity.shownColumns`.
  /// - Throws: ``VaultError`` with `noSuchRecord`, also for a deleted record.
  public func record(_ entity: Entity, _ uuid: UUID, _ body: (borrowing Row) throws -> Void) throws {
    var query: SQL = "SELECT \(columns(of: entity)) FROM \(identifier: entity.table.name) WHERE uuid = \(uuid)"
    if entity.marksDeletion { query.append(" AND isDeleted = 0") }
    var isFound = false
    try connection.forEach(query) { row in
      isFound = true
      try body(row)
    }
    if !isFound { throw Self.missing(entity) }
  }

  /// Returns the local id of a record, and whether the record is deleted.
  /// - Throws: ``VaultError`` with `noSuchRecord`.
  package func find(_ entity: Entity, _ uuid: UUID) throws -> (key: Int64, isDeleted: Bool) {
    let deleted: SQL = entity.marksDeletion ? "isDeleted" : "0"
    let query: SQL = """
      SELECT \(identifier: entity.key), \(deleted) FROM \(identifier: entity.table.name) WHERE uuid = \(uuid)
      """
    guard let (key, isDeleted) = try connection.fetchRows(query, as: Int64.self, Bool.self).first else {
      throw Self.missing(entity)
    }
    return (key, isDeleted)
  }

  /// Returns the local id of a record that is not deleted.
  /// - Throws: ``VaultError`` with `noSuchRecord`.
  package func requireLive(_ entity: Entity, _ uuid: UUID) throws -> Int64 {
    let record = try find(entity, uuid)
    guard !record.isDeleted else {
      throw VaultError(
        .noSuchRecord, "this \(entity.type) is already deleted",
        remedy: .restoreRecord(entity: entity.type, uuid: uuid.sqlText))
    }
    return record.key
  }

  package static func missing(_ entity: Entity) -> VaultError {
    VaultError(
      .noSuchRecord, "no \(entity.type) with this uuid",
      remedy: .showRecords(entity: entity.type))
  }

  /// Calls a closure with each record of a page and its `Entity.shownColumns`.
  ///
  /// With an index that begins with the field of the order, and without filters, the cost does not depend on the number of records
  /// before the page.
  /// - Throws: ``VaultError`` with `noSuchField` or `badValue` for a filter; with `noSuchRecord` if the last record of the page before
  ///   no longer exists.
  public func forEach(
    _ entity: Entity, page: RecordPageRequest, _ body: (borrowing Row) throws -> Void
  ) throws {
    var left = page.limit
    for part in try parts(of: page, entity) where left > 0 {
      var query = part
      query.append(" LIMIT \(left)")
      try connection.forEach(query) { row in
        left -= 1
        try body(row)
      }
    }
  }

  /// Returns the queries whose rows, one behind the other, are the rest of the records after a page. Records without a value in the
  /// field of the order have a query of their own, because no comparison is true for NULL.
  package func parts(of page: RecordPageRequest, _ entity: Entity) throws -> [SQL] {
    try parts(of: page, entity, indexes: "")
  }

  /// Calls a closure with each record of a selection and its `Entity.shownColumns`, in the order in which the records were added on this
  /// device. The limit, the order and the page before are ignored.
  ///
  /// The memory does not depend on the number of records.
  /// - Throws: the errors of ``forEach(_:page:_:)``.
  package func forEachAdded(
    _ entity: Entity, _ selection: RecordPageRequest, _ body: (borrowing Row) throws -> Void
  ) throws {
    try connection.forEach(try additions(entity, selection), body)
  }

  /// Returns the query of ``forEachAdded(_:_:_:)``.
  package func additions(_ entity: Entity, _ selection: RecordPageRequest) throws -> SQL {
    var all = selection
    (all.order, all.isDescending, all.after) = (nil, false, nil)
    let query = SQL.joined(try parts(of: all, entity))
    let plan = try connection.fetchRows("EXPLAIN QUERY PLAN \(query)", as: Int.self, Int.self, Int.self, String.self)
    // A sort would keep all records in memory. The table itself is in the order that is wanted.
    guard plan.contains(where: { $0.3.contains("TEMP B-TREE") }) else { return query }
    return SQL.joined(try parts(of: all, entity, indexes: " NOT INDEXED"))
  }

  /// - Parameter indexes: the clause of SQLite that forbids or selects an index; empty to let SQLite choose.
  private func parts(of page: RecordPageRequest, _ entity: Entity, indexes: SQL) throws -> [SQL] {
    let filters = try conditions(of: page, entity)
    let key: SQL = "\(identifier: entity.key)"
    let (after, direction): (SQL, SQL) = page.isDescending ? ("<", " DESC") : (">", "")
    func query(_ conditions: [SQL], _ order: SQL) -> SQL {
      var query: SQL = "SELECT \(columns(of: entity)) FROM \(identifier: entity.table.name)\(indexes)"
      let all = filters + conditions
      if !all.isEmpty { query.append(" WHERE " + SQL.joined(all, separator: " AND ")) }
      query.append(" ORDER BY \(order)")
      return query
    }
    guard let field = page.order, field != entity.key else {
      let last = try page.after.map { try position(of: $0, key, entity) }
      return [query(last.map { ["\(key) \(after) \($0.key)"] } ?? [], "\(key)\(direction)")]
    }
    let column: SQL = "\(identifier: try entity.column(field).name)"
    let order: SQL = "\(column)\(direction), \(key)\(direction)"
    let last = try page.after.map { try position(of: $0, column, entity) }
    func empty(after key: SQLArgument?) -> SQL {
      query(
        ["\(column) IS NULL"] + (key.map { ["\(identifier: entity.key) \(after) \($0)"] } ?? []),
        "\(identifier: entity.key)\(direction)")
    }
    let filled = query(
      ["\(column) IS NOT NULL"]
        + (last.map { $0.value == .null ? [] : ["(\(column), \(key)) \(after) (\($0.value), \($0.key))"] } ?? []), order
    )
    // NULL precedes every value.
    guard let last else { return page.isDescending ? [filled, empty(after: nil)] : [empty(after: nil), filled] }
    if last.value == .null { return page.isDescending ? [empty(after: last.key)] : [empty(after: last.key), filled] }
    return page.isDescending ? [filled, empty(after: nil)] : [filled]
  }

  private func position(
    of uuid: UUID, _ column: SQL, _ entity: Entity
  ) throws -> (value: SQLArgument, key: SQLArgument) {
    let query: SQL =
      "SELECT \(column), \(identifier: entity.key) FROM \(identifier: entity.table.name) WHERE uuid = \(uuid)"
    guard let found = try connection.fetchRows(query, as: SQLArgument.self, SQLArgument.self).first else {
      throw Self.missing(entity)
    }
    return (found.0, found.1)
  }

  private func conditions(of page: RecordPageRequest, _ entity: Entity) throws -> [SQL] {
    var conditions: [SQL] = entity.marksDeletion && !page.includesDeleted ? ["isDeleted = 0"] : []
    for filter in page.filters { conditions.append(try condition(filter, entity)) }
    return conditions
  }

  private func condition(_ filter: RecordPageRequest.Filter, _ entity: Entity) throws -> SQL {
    let column = try entity.column(filter.field)
    let name: SQL = "\(identifier: column.name)"
    func value() throws -> SQLArgument {
      do {
        return try FieldInput.text(filter.text).argument(for: column)
      } catch let problem as FieldProblem {
        throw VaultError(.badValue, "\(entity.type).\(column.name) \(problem.message)", name: column.name)
      }
    }
    switch filter.comparison {
    case .equals: return "\(name) = \(try value())"
    case .differs: return "\(name) IS NOT \(try value())"
    case .atLeast: return "\(name) >= \(try value())"
    case .atMost: return "\(name) <= \(try value())"
    case .contains: return "instr(\(name), \(filter.text)) > 0"
    case .begins: return "substr(\(name), 1, length(\(filter.text))) = \(filter.text)"
    case .isEmpty: return "\(name) IS NULL"
    case .hasValue: return "\(name) IS NOT NULL"
    }
  }

  private func columns(of entity: Entity) -> SQL {
    SQL.joined(entity.shownColumns.map { column -> SQL in "\(identifier: column.name)" })
  }

  private func sql(_ entity: Entity, _ selection: RecordSelection) throws -> SQL {
    var query: SQL = "SELECT \(columns(of: entity)) FROM \(identifier: entity.table.name)"
    var conditions: [SQL] = []
    if entity.marksDeletion, !selection.includesDeleted { conditions.append("isDeleted = 0") }
    if let condition = selection.condition {
      try Self.checkExpression(condition)
      // On a line of its own, so that a comment cannot hide the closing parenthesis.
      conditions.append(SQL(raw: "(\(condition)\n)"))
    }
    if !conditions.isEmpty { query.append(" WHERE " + SQL.joined(conditions, separator: " AND ")) }
    let order = try selection.order.map { field, isDescending -> SQL in
      let column = try entity.column(field)
      return isDescending ? "\(identifier: column.name) DESC" : "\(identifier: column.name)"
    }
    if !order.isEmpty { query.append(" ORDER BY " + SQL.joined(order)) }
    if let limit = selection.limit { query.append(" LIMIT \(limit)") }
    return query
  }

  /// Checks that a text is one expression, and that it cannot end the statement and begin another.
  package static func checkExpression(_ text: String) throws(VaultError) {
    let bytes = Array(text.utf8)
    var depth = 0
    var isEmpty = true
    for token in SQLText.tokens(of: bytes) {
      switch token.kind {
      case .space: continue
      case .comment, .parameter, .unfinished: throw notAnExpression
      case .symbol:
        switch bytes[token.range.lowerBound] {
        case UInt8(ascii: "("): depth += 1
        case UInt8(ascii: ")"): depth -= 1
        case UInt8(ascii: ";"), 0: throw notAnExpression
        default: break
        }
        if depth < 0 { throw notAnExpression }
      default: break
      }
      isEmpty = false
    }
    if depth != 0 || isEmpty { throw notAnExpression }
  }

  private static var notAnExpression: VaultError {
    VaultError(
      .refused, "the condition is not a single SQL expression",
      hint: "write it as behind WHERE, such as \"relativeHumidity > 90 AND roomId IS NOT NULL\"")
  }
}

extension SQL {
  static func + (left: String, right: SQL) -> SQL { SQL(raw: left) + right }
}
