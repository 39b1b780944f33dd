import CipherSQL
import SchemaModel

/// SQL expressions for the shared values of a row as a JSON object. They use built-in functions only, so that
/// triggers work in the sqlcipher shell.
package enum RowJSON {
  /// - Parameters:
  ///   - row: the prefix of the column names, such as `OLD`.
  ///   - computed: the columns that are replaced by their expressions.
  package static func object(_ columns: [SharedColumn], row: String, computed: ComputedColumns? = nil) -> String {
    // In the order of the members of all objects, so that equal content has equal text.
    let ordered = columns.sorted { $0.name.utf16.lexicographicallyPrecedes($1.name.utf16) }
    let members = ordered.map { column in
      let isComputed = computed?.names.contains(column.name) == true
      let expression = isComputed ? computed?.value(of: column.name, row: row) : nil
      return "'\(column.name.replacingQuotes)', \(value(column, expression ?? "\(row).\(SQL.quoted(column.name))"))"
    }
    return "json_object(\(members.joined(separator: ", ")))"
  }

  private static func value(_ column: SharedColumn, _ expression: String) -> String {
    if let reference = column.reference {
      let (table, key) = (SQL.quoted(reference.table), SQL.quoted(reference.key))
      let uuid = "SELECT uuid FROM \(table) AS target WHERE target.\(key) = \(expression)"
      return "CASE WHEN \(expression) IS NOT NULL THEN (\(uuid)) END"
    }
    if !column.isStrict, let expression = loose(column, expression) { return expression }
    switch column.column.type {
    // The JSONB forms of true and false, which need no parsing.
    case .bool: return "CASE \(expression) WHEN 1 THEN json(x'01') WHEN 0 THEN json(x'02') END"
    case .json: return "json(\(expression))"
    case .real: return real(expression)
    case .blob: return base64(expression)
    case .any: return ofAnyType(expression)
    case .integer, .text, .timestamp, .day, .uuid, .enumeration: return expression
    }
  }

  private static func ofAnyType(_ expression: String) -> String {
    let bytes = "json_object('\(SharedColumn.bytesMember)', \(base64(expression)))"
    return """
      CASE typeof(\(expression)) WHEN 'blob' THEN \(bytes) WHEN 'real' THEN \(real(expression)) ELSE \(expression) END
      """
  }

  /// Returns the expression for a value of any type in a table that is not STRICT; `nil` if the column is an ordinary
  /// one there as well.
  private static func loose(_ column: SharedColumn, _ expression: String) -> String? {
    switch column.column.type {
    case .bool: nil
    case .json:
      "CASE typeof(\(expression)) WHEN 'real' THEN \(real(expression)) ELSE json(\(expression)) END"
    case .blob:
      """
      CASE typeof(\(expression)) WHEN 'blob' THEN \(base64(expression)) \
      WHEN 'text' THEN json_object('\(SharedColumn.textMember)', \(expression)) \
      WHEN 'real' THEN \(real(expression)) ELSE \(expression) END
      """
    default: ofAnyType(expression)
    }
  }

  /// Returns the expression for a number that reads back as the same number. json_object writes 15 digits, which
  /// suffice for a decimal of that many digits: a division of integers gives the number next to the quotient (IEEE
  /// 754). Other numbers get 17 digits. A CAST cannot test whether fewer digits suffice, because SQLite reads some
  /// texts as the neighbouring number.
  private static func real(_ expression: String) -> String {
    func isWhole(times factor: String, upTo limit: String) -> String {
      "round(\(expression) * \(factor)) / \(factor) = \(expression) AND \(expression) BETWEEN -\(limit) AND \(limit)"
    }
    return """
      CASE WHEN \(isWhole(times: "1000", upTo: "1e12")) THEN \(expression) \
      WHEN \(isWhole(times: "1e9", upTo: "1e6")) THEN \(expression) \
      WHEN \(expression) IS NOT NULL THEN json(printf('%!.17g', \(expression))) END
      """
  }

  /// Base64 (RFC 4648), because not every build of SQLite has it. Three bytes become a number, as JSON5 reads it in
  /// hexadecimal, and the number four digits of a table. Each step reads its bytes only, so the time is linear. In SQL,
  /// shifts do not bind tighter than `&`, so each has its parentheses.
  private static func base64(_ expression: String) -> String {
    let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    func bytes(at place: String) -> String {
      "('0x' || substr(hex(substr(\(expression), \(place) + 1, 3)) || '0000', 1, 6)) ->> '$'"
    }
    func digit(_ shift: Int) -> String { "substr('\(digits)', 1 + ((bytes >> \(shift)) & 63), 1)" }
    let length = "length(\(expression))"
    return """
      CASE WHEN \(expression) IS NULL THEN NULL ELSE coalesce((
        WITH RECURSIVE part (at, bytes) AS (
          SELECT 0, \(bytes(at: "0")) WHERE \(length) > 0
          UNION ALL SELECT at + 3, \(bytes(at: "at + 3")) FROM part WHERE at + 3 < \(length))
        SELECT group_concat(\(digit(18)) || \(digit(12))
          || CASE WHEN at + 1 < \(length) THEN \(digit(6)) ELSE '=' END
          || CASE WHEN at + 2 < \(length) THEN \(digit(0)) ELSE '=' END, '')
        FROM (SELECT at, bytes FROM part ORDER BY at)), '') END
      """
  }
}
