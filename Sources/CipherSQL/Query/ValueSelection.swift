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

  /// Leaves out values that were there already.
  public func distinct() -> ValueSelection {
    var copy = self
    copy.parts.isDistinct = true
    return copy
  }

  /// Keeps at most a number of values, behind an offset.
  public func limit(_ count: Int, offset: Int? = nil) -> ValueSelection {
    var copy = self
    (copy.parts.limit, copy.parts.offset) = (count, offset)
    return copy
  }

  /// All values.
  /// - Throws: ``SQLError``: `typeMismatch` for a value that does not fit its type, `interrupted`.
  public func fetch(_ connection: Connection) throws -> [Value] { try connection.fetch(try sql, as: Value.self) }

  /// The first value behind the offset; nil when there is no row.
  public func fetchFirst(_ connection: Connection) throws -> Value? {
    var first = self
    first.parts = parts.firstOnly()
    return try connection.fetchOne(try first.sql, as: Value.self)
  }
}
