import CipherSQL
import SchemaModel
import SyncModel

/// Finds the record whose base has the values of a unique key, by an index that is derived for each key.
package enum SyncBaseIndex {
  /// Returns the statements that create the indexes of an entity.
  package static func statements(for entity: Entity, _ columns: [SharedColumn]) -> [String] {
    keys(of: entity, columns).enumerated().map { number, key in
      """
      CREATE INDEX \(DerivedTriggers.name("base_\(number)", of: entity)) ON SyncBase (\(key.map(expression).joined(separator: ", ")))
      WHERE entityType = \(literal(entity.type))
      """
    }
  }

  /// Returns the shared columns of each UNIQUE constraint and unique index, except that of the UUID. A partial index
  /// counts for all records, because its values move between records in an order as well. An index over an expression
  /// counts as one over the columns that it uses: it finds equal values only.
  package static func keys(of entity: Entity, _ columns: [SharedColumn]) -> [[String]] {
    let others = entity.table.uniqueIndexes.filter { $0.condition != nil || $0.hasExpression }.map(\.termColumns)
    let names = Set(columns.map(\.name))
    return (entity.table.uniqueKeys + others).map { $0.filter(names.contains) }.filter { !$0.isEmpty }
  }

  /// Returns the other records whose bases have the UNIQUE values of records, by the local ids of these. A value that is
  /// NULL equals nothing, and neither does one that is not simple.
  /// - Parameter records: the local ids and the fields.
  package static func holders(
    ofEntity type: String, _ columns: [String], _ records: [(key: Int64, fields: SyncObject)], in connection: Connection
  ) throws -> [Int64: [Int64]] {
    var rows = ParameterRows(width: columns.count + 1)
    for (key, fields) in records {
      if let values = arguments(columns, fields) { rows.append([.integer(key)] + values) }
    }
    if rows.isEmpty { return [:] }
    let conditions = columns.enumerated().map { "\(expression($1)) = row.column\($0 + 2)" }
    let sql: SQL = """
      SELECT row.column1, entityId FROM \(rows.table) AS row CROSS JOIN SyncBase
      WHERE entityType = \(raw: literal(type)) AND \(raw: conditions.joined(separator: " AND ")) AND entityId <> row.column1
      """
    var found: [Int64: [Int64]] = [:]
    try connection.forEach(sql) { row in found[try row.decode(at: 0), default: []].append(try row.decode(at: 1)) }
    return found
  }

  /// Returns the condition that a base has the values of some fields; `nil` if one of them is NULL, which equals
  /// nothing, or is not a simple value.
  package static func condition(_ columns: [String], _ fields: SyncObject) -> SQL? {
    guard let values = arguments(columns, fields), !values.isEmpty else { return nil }
    let parts = zip(columns, values).map { name, value -> SQL in "\(raw: expression(name)) = \(value)" }
    return SQL.joined(parts, separator: " AND ")
  }

  private static func arguments(_ columns: [String], _ fields: SyncObject) -> [SQLArgument]? {
    var values: [SQLArgument] = []
    for name in columns {
      switch fields[name] {
      case .bool(let flag)?: values.append(.integer(flag ? 1 : 0))
      case .integer(let number)?: values.append(.integer(number))
      case .real(let real)?: values.append(.real(real.number))
      case .text(let text)?: values.append(.text(text))
      case .null?, .number?, .array?, .object?, nil: return nil
      }
    }
    return values
  }

  package static func literal(_ text: String) -> String { "'\(text.replacingQuotes)'" }

  private static func expression(_ name: String) -> String {
    // In a JSON path, a name is quoted and its quotes are escaped.
    var path = "$.\""
    // By scalars: a quote and a combining character behind it are one Character.
    for scalar in name.unicodeScalars {
      if scalar == "\\" || scalar == "\"" { path += "\\" }
      path.unicodeScalars.append(scalar)
    }
    path += "\""
    return "json_extract(fields, '\(path.replacingQuotes)')"
  }
}
