/// One table of a join: ``Inner`` or ``Outer``.
public protocol JoinSide: Sendable {
  /// The record type of the table.
  associatedtype Base: Record
  /// The type of the table's part of a row: the record, or an Optional of it.
  associatedtype Element: Sendable
  /// The columns from which conditions are composed.
  associatedtype Columns
  /// Returns the columns under a name of the table.
  static func columns(of qualifier: String) -> Columns
  /// Reads the table's part of a row.
  static func decode(_ row: borrowing Row, at first: Int32) throws(SQLError) -> Element
}

/// A table that has a row in each row of the join.
public enum Inner<Base: Record>: JoinSide {
  /// Returns the columns of the record under a name of its table.
  public static func columns(of qualifier: String) -> Base.Columns { Base.Columns(qualifier: qualifier) }

  /// Reads the record whose columns begin at `first`, counted from 0.
  /// - Throws: ``SQLError`` with `typeMismatch` if the type of a value does not match.
  public static func decode(_ row: borrowing Row, at first: Int32) throws(SQLError) -> Base {
    try Base(from: row, at: first)
  }
}

/// A table on the right of a left join, which may have no row.
public enum Outer<Base: Record>: JoinSide {
  /// Returns the columns of the record under a name of its table, with values that may be NULL.
  public static func columns(of qualifier: String) -> OuterColumns<Base> {
    OuterColumns(columns: Base.Columns(qualifier: qualifier))
  }

  /// Reads the record whose columns begin at `first`, counted from 0; `nil` if all of them are NULL.
  /// - Throws: ``SQLError`` with `typeMismatch` if the type of a value does not match.
  public static func decode(_ row: borrowing Row, at first: Int32) throws(SQLError) -> Base? {
    // A row of a table has a key, so a row with NULL only is no record.
    let count = Int32(RecordShape.of(Base.self).columnNames.count)
    for index in first..<first + count where !row.isNull(index) { return try Base(from: row, at: first) }
    return nil
  }
}

/// The columns of a table on the right of a left join: all of them may be NULL.
@dynamicMemberLookup
public struct OuterColumns<Base: Record>: Sendable {
  let columns: Base.Columns

  /// A column of the record, as an expression that is NULL where the table has no row.
  public subscript<Value: SQLValue>(dynamicMember path: KeyPath<Base.Columns, Column<Base, Value>>)
    -> SQLTerm<Value.Bare?>
  { SQLTerm(columns[keyPath: path].node) }
}
