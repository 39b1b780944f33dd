import CipherSQL
import SchemaModel

/// The generated columns of an entity (`SyncedColumn.isAlwaysComputed`), and the triggers that compute them with each
/// write of a user. Their changes are not edits.
package struct ComputedColumns {
  private let entity: Entity
  /// The columns, ordered by name.
  package let names: [String]
  private let expressions: [String: String]
  /// The columns of the row that the expression of each column uses.
  private let inputs: [String: [String]]

  /// Returns `nil` for an entity without such columns.
  package init?(_ entity: Entity) {
    guard let behaviour = entity.sync, entity.hasCommonFields, !behaviour.alwaysComputed.isEmpty else { return nil }
    self.entity = entity
    names = behaviour.alwaysComputed.sorted()
    expressions = behaviour.computations
    let columns = entity.table.columns.map { (name: $0.name, word: $0.name.lowercased()) }
    inputs = expressions.mapValues { expression in
      let words = expression.lowercased()
      return columns.filter { words.contains($0.word) }.map(\.name)
    }
  }

  /// Returns the expression for a column, over a row of a trigger.
  package func value(of name: String, row: String) -> String {
    guard let expression = expressions[name] else { return "\(row).\(SQL.quoted(name))" }
    let inputs = inputs[name, default: []].map { "\(row).\(SQL.quoted($0)) AS \(SQL.quoted($0))" }
    let source = inputs.isEmpty ? "" : " FROM (SELECT \(inputs.joined(separator: ", "))) AS \(table)"
    // On lines of its own, so that a comment in it ends with its line.
    return "(SELECT (\(expression)\n  )\(source))"
  }

  package var statements: [String] {
    let followed = Set(names + names.flatMap { inputs[$0, default: []] })
    let watched = entity.table.columns.map(\.name).filter(followed.contains)
    return [
      trigger("compute_insert", "INSERT"),
      trigger("compute", "UPDATE OF \(watched.map(SQL.quoted).joined(separator: ", "))"),
    ]
  }

  private var table: String { SQL.quoted(entity.table.name) }

  private func trigger(_ name: String, _ event: String) -> String {
    let key = SQL.quoted(entity.key)
    let isDue = names.map { "NEW.\(SQL.quoted($0))\(entity.binary($0)) IS NOT \(value(of: $0, row: "NEW"))" }
    let values = names.map { "\(SQL.quoted($0)) = \(value(of: $0, row: "NEW"))" }
    return """
      CREATE TRIGGER \(DerivedTriggers.name(name, of: entity)) AFTER \(event) ON \(table)
      WHEN \(WriteMode.isByUser) AND (\(isDue.joined(separator: " OR ")))
      BEGIN
        UPDATE \(table) SET \(values.joined(separator: ",\n    ")) WHERE \(key) = NEW.\(key);
      END
      """
  }
}
