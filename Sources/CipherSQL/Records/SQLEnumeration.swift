import CSQLCipher

/// An enumeration that a `CHECK (column IN ('a', 'b'))` declares. The raw value is the value of the column.
public protocol SQLEnumeration: SQLValue, RawRepresentable, Hashable, Codable, CaseIterable
where RawValue == String {}

extension SQLEnumeration {
  /// Reads a raw value from a TEXT column, counted from 0.
  /// - Throws: ``SQLError`` with `typeMismatch` if the value is not TEXT or not a raw value.
  public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> Self {
    guard let value = Self(rawValue: try String.decode(from: row, at: index)) else {
      throw row.mismatch(index, expected: "one of \(allCases.map(\.rawValue))")
    }
    return value
  }

  /// Binds the raw value as TEXT to a placeholder, counted from 1.
  /// - Throws: ``SQLError`` with `misuse` for an unknown placeholder.
  @inlinable
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    try rawValue.bind(to: statement, at: index)
  }

  /// The raw value as TEXT.
  public var sqlArgument: SQLArgument { .text(rawValue) }
}
