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
    guard selection.condition != nil else { return try connection.forEach(query, body) }
    do {
      try connection.forEach(query, body)
    } catch let error as SQLError {
      guard let name = error.unknownColumn, entity.table.column(name) == nil else { throw error }
      throw entity.unknownField(name)
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
