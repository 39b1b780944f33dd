/// A query whose rows are single values; in an expression it is a subquery.
///
/// ```swift
/// let titles = try Room.where { $0.floor == 1 }.select { $0.title }.fetch(db)      // [String]
/// ```
public struct ValueSelection<Value: SQLValue>: Sendable {
  var parts: SelectParts
  let node: SQLNode

  init(_ parts: SelectParts, _ node: SQLNode) { (self.parts, self.node) = (parts, node) }

  /// The statement that ``fetch(_:)`` runs: its text and its values.
  /// - Throws: ``SQLError`` with `misuse` if the query is nested in itself.
  public var sql: SQL {
    get throws(SQLError) { try parts.statement(.values([node])) }
  }

  /// Removes duplicate values.
  public func distinct() -> ValueSelection {
    var copy = self
    copy.parts.isDistinct = true
    return copy
  }

  /// Limits the number of values, after an offset.
  public func limit(_ count: Int, offset: Int? = nil) -> ValueSelection {
    var copy = self
    (copy.parts.limit, copy.parts.offset) = (count, offset)
    return copy
  }

  /// Returns all values.
  /// - Throws: ``SQLError``: `typeMismatch` for a value that does not fit its type, `interrupted`.
  public func fetch(_ connection: Connection) throws -> [Value] { try connection.fetch(try sql, as: Value.self) }

  /// Returns the first value after the offset; `nil` without rows.
  public func fetchFirst(_ connection: Connection) throws -> Value? {
    var first = self
    first.parts = parts.firstOnly()
    return try connection.fetchOne(try first.sql, as: Value.self)
  }
}
