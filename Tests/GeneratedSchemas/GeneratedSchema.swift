import CipherSQL
import TestSupport

/// A schema that is drawn from its number. Equal numbers give equal SQL.
package struct GeneratedSchema: Sendable {
  /// The schemas of the simulation have the numbers from 0 to this one, without it.
  package static let count = 200
  static let schemaName = "generated"

  package let number: Int
  /// The only schema file.
  package let sql: String
  /// The kinds of record that users write, referenced kinds mostly before the others.
  package let kinds: [Kind]
  /// The features that the schema has.
  package let features: Set<SchemaFeature>
  /// Whether users write with OR IGNORE. It may leave the base of a record that did not change.
  package var writesOrIgnore: Bool { number % 5 == 0 }

  /// Whether a later version may rename columns. Expressions of computed columns and full-text tables name columns in texts
  /// that RENAME COLUMN does not change.
  package var allowsRenames: Bool { features.isDisjoint(with: [.computed, .alwaysComputed, .fullText]) }

  package init(number: Int) {
    var drawing = SchemaDrawing(number)
    drawing.draw()
    self.number = number
    let tables = drawing.tables.map(\.sql) + drawing.tables.map(\.registration)
    let names = SchemaFeature.allCases.filter(drawing.features.contains).map(\.rawValue).joined(separator: ", ")
    sql = "-- Schema \(number) of the simulation: \(names).\n\n" + tables.joined(separator: "\n")
    kinds = drawing.tables.map(\.kind)
    features = drawing.features
  }

  /// The schema as a vault takes it.
  package var schema: Schema {
    Schema(name: Self.schemaName, migrations: [MigrationFile(version: 1, name: "tables", sql: sql)])
  }
}
