import CipherSQL
import SchemaModel
import SyncModel

/// Columns that an SQL expression of the registry computes from other columns of the row, and defaults of columns.
extension RecordTable {
  /// Computes columns of a row again. A column without a value stays without one, unless it is always computed.
  /// - Parameter names: the columns; `nil` for all computed columns.
  /// - Throws: ``SQLError`` if the table refuses the value.
  package func compute(_ names: [String]? = nil, ofKey key: Int64, in connection: WriteConnection) throws {
    for name in names ?? computations.keys.sorted() {
      guard let expression = computations[name] else { continue }
      let column = SQL.quoted(name)
      let isDue =
        alwaysComputed.contains(name)
        ? "\(column)\(entity.binary(name)) IS NOT (\(expression)\n)" : "\(column) IS NOT NULL"
      // On lines of its own, so that a comment in it ends with its line.
      let sql = """
        UPDATE \(SQL.quoted(entity.table.name)) SET \(column) = (\(expression)
        ) WHERE \(SQL.quoted(entity.key)) = ? AND \(isDue)
        """
      try connection.withStatement(sql) { statement in
        try statement.bind(key, at: 1)
        try statement.run()
      }
    }
  }

  /// - Throws: `SchemaViolation` that names a column whose expression SQLite cannot compile.
  static func checkComputations(of entities: Entities, in connection: Connection) throws {
    for entity in entities.all {
      for (name, expression) in (entity.sync?.computations ?? [:]).sorted(by: { $0.key < $1.key }) {
        do {
          let sql = "SELECT \(SQL.quoted(name)), (\(expression)\n) FROM \(SQL.quoted(entity.table.name))"
          try connection.withStatement(sql) { _ in }
        } catch let error as SQLError {
          throw SchemaViolation(
            "\(entity.type).\(name) cannot be computed: \(error.message)", at: entity.table.name,
            column: name,
            remedy: "computedAs in SyncedColumn is an SQL expression over the columns of \(entity.table.name)")
        }
      }
    }
  }

  /// Returns the values that columns have in a row that was inserted without them. A default that is not constant has
  /// another value each time.
  package func defaults(of names: [String], in connection: Connection) throws -> SyncObject {
    var values: SyncObject = [:]
    for name in names {
      guard let place = places[name], !columns[place].column.isGenerated else { continue }
      let column = columns[place]
      guard let text = column.column.defaultSQL else {
        values[name] = .null
        continue
      }
      guard column.reference == nil else { continue }
      let argument = try connection.fetchOne(SQL(raw: "SELECT \(column.stored("(\(text)\n)"))"), as: SQLArgument.self)
      values[name] = try column.value(of: argument ?? .null)
    }
    return values
  }
}
