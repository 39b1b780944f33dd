import CSQLCipher

/// An enumeration that a `CHECK (column IN ('a', 'b'))` declares; the raw value is what stands in the column.
public protocol SQLEnumeration: SQLValue, RawRepresentable, Hashable, Codable, CaseIterable
where RawValue == String {}

extension SQLEnumeration {
  public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> Self {
    guard let value = Self(rawValue: try String.decode(from: row, at: index)) else {
      throw row.mismatch(index, expected: "one of \(allCases.map(\.rawValue))")
    }
    return value
  }

  @inlinable
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    try rawValue.bind(to: statement, at: index)
  }

  public var sqlArgument: SQLArgument { .text(rawValue) }
}
