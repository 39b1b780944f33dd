import Platform

extension CalendarDay: SQLValue {
  /// Reads `YYYY-MM-DD` from a TEXT column, counted from 0.
  /// - Throws: ``SQLError`` with `typeMismatch` when the column holds no TEXT or no day.
  public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> CalendarDay {
    guard let day = CalendarDay(try String.decode(from: row, at: index)) else {
      throw row.mismatch(index, expected: "day as TEXT")
    }
    return day
  }

  /// Binds `YYYY-MM-DD` as TEXT to a placeholder, counted from 1.
  /// - Throws: ``SQLError`` with `misuse` when the statement has no such placeholder.
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    try description.bind(to: statement, at: index)
  }

  /// `YYYY-MM-DD` as TEXT.
  public var sqlArgument: SQLArgument { .text(description) }
}
