import CipherSQL
import CommandLineKit
import VaultStore

/// Writes rows as JSON or as the cells of a table, with the types of their columns.
struct RowFormat {
  /// The columns of a row, by position: their names, and whether a whole number means true or false.
  let columns: [(name: String, isBool: Bool)]

  /// The shown columns of an entity.
  init(_ entity: Entity) {
    columns = entity.shownColumns.map { ($0.name, $0.type == .bool) }
  }

  /// The columns of a statement's result; a result column that is a table's column has its type.
  init(_ statement: Statement, _ entities: Entities) {
    columns = (0..<statement.columnCount).map { index in
      (statement.columnName(at: index), Self.isBool(statement, index, entities))
    }
  }

  private static func isBool(_ statement: Statement, _ index: Int32, _ entities: Entities) -> Bool {
    guard let origin = statement.columnOrigin(at: index) else { return false }
    let table = entities.catalog.tables.first { $0.name == origin.table }
    return table?.columns.first { $0.name == origin.column }?.type == .bool
  }

  /// Writes a row as an object.
  func write(_ row: borrowing Row, to json: inout JSONWriter) throws {
    json.beginObject()
    for (index, column) in columns.enumerated() {
      json.key(column.name)
      switch try row.decode(SQLArgument.self, at: Int32(index)) {
      case .null: json.null()
      case .integer(let value):
        if column.isBool, value == 0 || value == 1 { json.value(value == 1) } else { json.value(value) }
      // JSON has no word for an infinite number. Readers, SQLite among them, read 9e999 as infinite.
      case .real(let value) where value.isInfinite: json.value(jsonNumber: value > 0 ? "9e999" : "-9e999")
      case .real(let value): try json.value(value)
      case .text(let value): json.value(value)
      case .blob(let bytes): json.base64(bytes)
      }
    }
    json.endObject()
  }

  /// The cells of a row for a table or a CSV file. NULL is empty.
  func cells(_ row: borrowing Row) throws -> [String] {
    var cells: [String] = []
    cells.reserveCapacity(columns.count)
    for index in columns.indices { cells.append(try cell(row, index)) }
    return cells
  }

  /// The cells of some columns, by their positions.
  func cells(_ row: borrowing Row, of shown: [Int]) throws -> [String] {
    var cells: [String] = []
    cells.reserveCapacity(shown.count)
    for index in shown { cells.append(try cell(row, index)) }
    return cells
  }

  private func cell(_ row: borrowing Row, _ index: Int) throws -> String {
    switch try row.decode(SQLArgument.self, at: Int32(index)) {
    case .null: return ""
    case .integer(let value):
      return columns[index].isBool && (value == 0 || value == 1) ? (value == 1 ? "true" : "false") : String(value)
    case .real(let value): return "\(value)"
    case .text(let value): return value
    case .blob(let bytes):
      var json = JSONWriter()
      json.base64(bytes)
      return String(decoding: json.takeBytes().dropFirst().dropLast(), as: UTF8.self)
    }
  }
}
