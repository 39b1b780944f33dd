/// SQL text with separate values, so that no value can change the meaning of the text.
///
/// ```swift
/// let name = "O'Hara"
/// let query: SQL = "SELECT title FROM OfflineRoom WHERE title = \(name)"   // title = ?
/// ```
///
/// Values in an interpolation are bound. `\(identifier:)` quotes a name. Another `SQL` is inserted with its values.
/// `\(raw:)` inserts text unchanged and must never contain user input.
public struct SQL: Sendable, Hashable, ExpressibleByStringInterpolation {
  /// The text, with a `?` for each value.
  public internal(set) var text: String
  /// The values, in the order of the placeholders.
  public internal(set) var arguments: [SQLArgument]

  /// Creates SQL text without values.
  public init(stringLiteral text: String) { (self.text, arguments) = (text, []) }

  /// Creates a piece of SQL from its parts.
  public init(raw text: String, arguments: [SQLArgument] = []) { (self.text, self.arguments) = (text, arguments) }

  /// Creates a piece of SQL from an interpolated literal, with its values bound.
  public init(stringInterpolation: StringInterpolation) { self = stringInterpolation.sql }

  /// Gathers the parts of an interpolated literal.
  public struct StringInterpolation: StringInterpolationProtocol, Sendable {
    var sql = SQL(raw: "")

    /// Begins a literal. The counts only reserve memory.
    public init(literalCapacity: Int, interpolationCount: Int) {
      sql.text.reserveCapacity(literalCapacity + interpolationCount)
      sql.arguments.reserveCapacity(interpolationCount)
    }

    /// Inserts the text of the literal.
    public mutating func appendLiteral(_ literal: String) { sql.text += literal }

    /// Binds a value.
    public mutating func appendInterpolation(_ value: some SQLValue) {
      sql.text += "?"
      sql.arguments.append(value.sqlArgument)
    }

    /// Inserts another piece of SQL with its values.
    public mutating func appendInterpolation(_ other: SQL) { sql.append(other) }

    /// Inserts a quoted name.
    public mutating func appendInterpolation(identifier name: String) { sql.text += SQL.quoted(name) }

    /// Binds each value of a list: `IN (\(list: ids))`.
    public mutating func appendInterpolation(list values: some Sequence<some SQLValue>) {
      var isFirst = true
      for value in values {
        sql.text += isFirst ? "?" : ", ?"
        sql.arguments.append(value.sqlArgument)
        isFirst = false
      }
    }

    /// Inserts text unchanged. It must never contain user input.
    public mutating func appendInterpolation(raw text: String) { sql.text += text }
  }

  /// Appends another piece.
  public mutating func append(_ other: SQL) {
    text += other.text
    arguments += other.arguments
  }

  /// Returns the concatenation of two pieces.
  public static func + (left: SQL, right: SQL) -> SQL {
    var result = left
    result.append(right)
    return result
  }

  /// Returns a name in double quotes, with its quotes doubled.
  public static func quoted(_ name: String) -> String {
    // By scalars: a quote with a combining accent behind it is another Character, and still a quote for SQLite.
    var result: String.UnicodeScalarView = "\"".unicodeScalars
    for scalar in name.unicodeScalars {
      if scalar == "\"" { result.append("\"") }
      result.append(scalar)
    }
    result.append("\"")
    return String(result)
  }

  /// Returns the concatenation of pieces with a separator between them.
  public static func joined(_ parts: [SQL], separator: String = ", ") -> SQL {
    var result = SQL(raw: "")
    for (index, part) in parts.enumerated() {
      if index > 0 { result.text += separator }
      result.append(part)
    }
    return result
  }
}

extension Statement {
  /// Binds all values of a piece of SQL.
  /// - Throws: ``SQLError`` with `misuse` if their number differs from the number of placeholders.
  public func bind(_ arguments: [SQLArgument]) throws(SQLError) {
    guard arguments.count == Int(parameterCount) else {
      throw SQLError(
        .misuse, "the statement has \(parameterCount) parameters, but \(arguments.count) values were given", sql: sql)
    }
    for (index, argument) in arguments.enumerated() { try argument.bind(to: self, at: Int32(index + 1)) }
  }
}

extension String {
  /// The text for single quotes in SQL: with each quote doubled.
  package var replacingQuotes: String {
    // By scalars, as in ``SQL/quoted(_:)``.
    var result = String.UnicodeScalarView()
    for scalar in unicodeScalars {
      if scalar == "'" { result.append("'") }
      result.append(scalar)
    }
    return String(result)
  }
}
