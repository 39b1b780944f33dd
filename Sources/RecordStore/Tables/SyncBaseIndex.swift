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

  /// Returns the condition that a base has the values of some fields; `nil` if one of them is NULL, which equals
  /// nothing, or is not a simple value.
  package static func condition(_ columns: [String], _ fields: SyncObject) -> SQL? {
    var parts: [SQL] = []
    for name in columns {
      let value: SQLArgument
      switch fields[name] {
      case .bool(let flag)?: value = .integer(flag ? 1 : 0)
      case .integer(let number)?: value = .integer(number)
      case .real(let real)?: value = .real(real.number)
      case .text(let text)?: value = .text(text)
      case .null?, .number?, .array?, .object?, nil: return nil
      }
      parts.append("\(raw: expression(name)) = \(value)")
    }
    guard let first = parts.first else { return nil }
    return parts.dropFirst().reduce(first) { "\($0) AND \($1)" }
  }

  package static func literal(_ text: String) -> String { "'\(text.replacingQuotes)'" }

  private static func expression(_ name: String) -> String {
    // In a JSON path, a name is quoted and its quotes are escaped.
    let path = "$.\"" + name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    return "json_extract(fields, '\(path.replacingQuotes)')"
  }
}
