/// A query whose rows are tuples of values.
///
/// ```swift
/// let areas = try Room.all.group { $0.projectId }
///   .select { ($0.projectId, $0.squareFootage.sum()) }
///   .fetch(db)                                        // [(Int64, Double?)]
/// ```
public struct Selection<each Value: SQLValue>: Sendable {
  var parts: SelectParts
  let nodes: [SQLNode]

  init(_ parts: SelectParts, _ nodes: [SQLNode]) { (self.parts, self.nodes) = (parts, nodes) }

  /// The statement that ``fetch(_:)`` runs: its text and its values.
  /// - Throws: ``SQLError`` with `misuse` if the query is nested in itself.
  public var sql: SQL {
    get throws(SQLError) { try parts.statement(.values(nodes)) }
  }

  /// Removes duplicate rows.
  public func distinct() -> Self {
    var copy = self
    copy.parts.isDistinct = true
    return copy
  }

  /// Limits the number of rows, after an offset.
  public func limit(_ count: Int, offset: Int? = nil) -> Self {
    var copy = self
    (copy.parts.limit, copy.parts.offset) = (count, offset)
    return copy
  }

  /// Returns all rows.
  /// - Throws: ``SQLError``: `typeMismatch` for a value that does not fit its type, `interrupted`.
  public func fetch(_ connection: Connection) throws -> [(repeat each Value)] {
    try connection.fetchRows(try sql, as: repeat (each Value).self)
  }

  /// Returns the first row after the offset, or `nil`.
  public func fetchFirst(_ connection: Connection) throws -> (repeat each Value)? {
    var first = self
    first.parts = parts.firstOnly()
    return try first.fetch(connection).first
  }
}
