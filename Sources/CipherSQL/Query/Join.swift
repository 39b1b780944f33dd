/// One table of a join: ``Inner`` or ``Outer``.
public protocol JoinSide: Sendable {
  /// The record type of the table.
  associatedtype Base: Record
  /// What a row of the join holds for the table: the record, or an Optional of it.
  associatedtype Element: Sendable
  /// The columns from which conditions are composed.
  associatedtype Columns
  /// The columns under a name of the table.
  static func columns(of qualifier: String) -> Columns
  /// Reads the table's part of a row.
  static func decode(_ row: borrowing Row, at first: Int32) throws(SQLError) -> Element
}

/// A table that has a row in each row of the join.
public enum Inner<Base: Record>: JoinSide {
  public static func columns(of qualifier: String) -> Base.Columns { Base.Columns(qualifier: qualifier) }

  public static func decode(_ row: borrowing Row, at first: Int32) throws(SQLError) -> Base {
    try Base(from: row, at: first)
  }
}

/// A table on the right of a left join, which may have no row.
public enum Outer<Base: Record>: JoinSide {
  public static func columns(of qualifier: String) -> OuterColumns<Base> {
    OuterColumns(columns: Base.Columns(qualifier: qualifier))
  }

  public static func decode(_ row: borrowing Row, at first: Int32) throws(SQLError) -> Base? {
    // A row of a table has a key, so one that is all NULL is none.
    let count = Int32(RecordShape.of(Base.self).columnNames.count)
    for index in first..<first + count where !row.isNull(index) { return try Base(from: row, at: first) }
    return nil
  }
}

/// The columns of a table on the right of a left join: all of them may be NULL.
@dynamicMemberLookup
public struct OuterColumns<Base: Record>: Sendable {
  let columns: Base.Columns

  public subscript<Value: SQLValue>(dynamicMember path: KeyPath<Base.Columns, Column<Base, Value>>)
    -> SQLTerm<Value.Bare?>
  { SQLTerm(columns[keyPath: path].node) }
}

/// A query over several tables; its rows are tuples of their records.
///
/// ```swift
/// let pairs = try Log.all
///   .join(Room.self) { log, room in log.roomId == room.roomId }
///   .where { log, room in room.title == "Attic" }
///   .fetch(db)                                        // [(Log, Room)]
/// ```
///
/// Rows that are marked as deleted are left out of all tables until `includingDeleted()`. A left join then has
/// nil in place of a deleted row and keeps the row on its left.
public struct Join<each Side: JoinSide>: Sendable {
  var parts: SelectParts

  init(_ parts: SelectParts) { self.parts = parts }

  func with(_ change: (inout SelectParts) -> Void) -> Join {
    var copy = self
    change(&copy.parts)
    return copy
  }

  var columns: (repeat (each Side).Columns) {
    var index = -1
    func next<S: JoinSide>(_ side: S.Type) -> S.Columns {
      index += 1
      return S.columns(of: parts.sources[index].qualifier)
    }
    return (repeat next((each Side).self))
  }

  func joining<R: Record>(_ type: R.Type, _ kind: StaticString, _ qualifier: String, on condition: SQLNode)
    -> SelectParts
  {
    var parts = parts
    parts.sources.append(
      SelectParts.Source(shape: RecordShape.of(type), qualifier: qualifier, join: (kind, condition)))
    return parts
  }

  /// Adds a table that must have a row for each row of the join.
  public func join<R: Record>(
    _ type: R.Type, on condition: ((repeat (each Side).Columns, R.Columns)) -> some SQLExpression<Bool>
  ) -> Join<repeat each Side, Inner<R>> {
    let qualifier = SelectParts.freshQualifier()
    let columns = columns
    let node = condition((repeat each columns, R.Columns(qualifier: qualifier))).node
    return Join<repeat each Side, Inner<R>>(joining(type, " JOIN ", qualifier, on: node))
  }

  /// Adds a table that may have no row for a row of the join.
  public func leftJoin<R: Record>(
    _ type: R.Type, on condition: ((repeat (each Side).Columns, R.Columns)) -> some SQLExpression<Bool>
  ) -> Join<repeat each Side, Outer<R>> {
    let qualifier = SelectParts.freshQualifier()
    let columns = columns
    let node = condition((repeat each columns, R.Columns(qualifier: qualifier))).node
    return Join<repeat each Side, Outer<R>>(joining(type, " LEFT JOIN ", qualifier, on: node))
  }
}

extension Query {
  /// Adds a table that must have a row for each record.
  public func join<Other: Record>(
    _ type: Other.Type, on condition: (R.Columns, Other.Columns) -> some SQLExpression<Bool>
  ) -> Join<Inner<R>, Inner<Other>> {
    let qualifier = SelectParts.freshQualifier()
    let node = condition(columns, Other.Columns(qualifier: qualifier)).node
    return Join(Join<Inner<R>>(parts).joining(type, " JOIN ", qualifier, on: node))
  }

  /// Adds a table that may have no row for a record.
  public func leftJoin<Other: Record>(
    _ type: Other.Type, on condition: (R.Columns, Other.Columns) -> some SQLExpression<Bool>
  ) -> Join<Inner<R>, Outer<Other>> {
    let qualifier = SelectParts.freshQualifier()
    let node = condition(columns, Other.Columns(qualifier: qualifier)).node
    return Join(Join<Inner<R>>(parts).joining(type, " LEFT JOIN ", qualifier, on: node))
  }
}
