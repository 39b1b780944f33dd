import CipherSQL
import CommandLineKit
import Platform
import SyncModel
import VaultStore

/// Writes rows as JSON, as a record of a CSV file or as the cells of a table, with the types of their columns.
struct RowFormat {
  /// A column of a row.
  struct Column {
    /// Whether texts of a column are times.
    enum Times {
      case never, always
      /// The column is an expression, whose texts are judged by their form.
      case byForm
    }

    let name: String
    /// Whether a whole number means true or false.
    var isBool = false
    var times = Times.byForm
    /// The unit of its numbers, as the schema states it.
    var unit: String?

    /// The title in a table, with the unit.
    var title: String { unit.map { "\(name) (\($0))" } ?? name }

    init(_ name: String) { self.name = name }

    init(_ column: Catalog.Column) {
      name = column.name
      isBool = column.type == .bool
      times = column.type == .timestamp ? .always : .never
      unit = Units.unit(of: column)
    }
  }

  /// The columns of a row, by position.
  let columns: [Column]
  /// The positions of the columns to write, in order.
  private(set) var shown: [Int]
  /// Whether the cells of a table show times in local time.
  var isLocal = false

  /// The shown columns of an entity.
  init(_ entity: Entity) { self.init(entity.shownColumns.map { Column($0) }) }

  /// The columns of a statement's result; a result column that is a table's column has its type.
  init(_ statement: Statement, _ entities: Entities) {
    self.init(
      (0..<statement.columnCount).map { index in
        let name = statement.columnName(at: index)
        guard let origin = statement.columnOrigin(at: index),
          let column = entities.catalog.table(origin.table)?.column(origin.column)
        else { return Column(name) }
        var result = Column(column)
        if name != column.name { result = result.named(name) }
        return result
      })
  }

  private init(_ columns: [Column]) {
    self.columns = columns
    shown = Array(columns.indices)
  }

  /// The titles of a table.
  var titles: [String] { shown.map { columns[$0].title } }

  /// Leaves out columns.
  mutating func hide(_ names: Set<String>) { shown.removeAll { names.contains(columns[$0].name) } }

  /// Shows only the named columns, in this order.
  /// - Parameter subject: the owner of the columns, for the message.
  mutating func show(only names: [String], of subject: String) throws(VaultError) {
    var found: [Int] = []
    for name in names {
      guard let position = columns.firstIndex(where: { $0.name == name }) else {
        throw VaultError(
          .noSuchField, "\(subject) has no field '\(name)'",
          hint: "its fields are \(columns.map(\.name).joined(separator: ", "))", name: name,
          candidates: columns.map(\.name))
      }
      found.append(position)
    }
    shown = found
  }

  /// Writes a row as an object.
  func write(_ row: borrowing Row, to json: inout JSONWriter) throws {
    json.beginObject()
    for index in shown {
      json.key(columns[index].name)
      switch try row.decode(SQLArgument.self, at: Int32(index)) {
      case .null: json.null()
      case .integer(let value):
        if columns[index].isBool, value == 0 || value == 1 { json.value(value == 1) } else { json.value(value) }
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
    cells.reserveCapacity(shown.count)
    for index in shown { cells.append(try cell(row, index)) }
    return cells
  }

  private func cell(_ row: borrowing Row, _ index: Int) throws -> String {
    switch try row.decode(SQLArgument.self, at: Int32(index)) {
    case .null: return ""
    case .integer(let value):
      return columns[index].isBool && (value == 0 || value == 1) ? (value == 1 ? "true" : "false") : String(value)
    // The shortest text that reads back as the same number.
    case .real(let value): return "\(value)"
    case .text(let value): return isLocal && columns[index].times != .never ? LocalTime.text(value) : value
    case .blob(let bytes):
      var json = JSONWriter()
      json.base64(bytes)
      return String(decoding: json.takeBytes().dropFirst().dropLast(), as: UTF8.self)
    }
  }
}

extension RowFormat.Column {
  fileprivate func named(_ name: String) -> Self {
    var column = Self(name)
    (column.isBool, column.times, column.unit) = (isBool, times, unit)
    return column
  }
}

/// Records of a CSV file as RFC 4180 has them, with LF.
enum CSVFormat {
  /// Writes a record. On a terminal, characters that would control it are escaped.
  static func write(_ cells: [String], to output: Output) throws {
    var text = ""
    for (index, cell) in cells.enumerated() {
      if index > 0 { text += "," }
      text += CSVText.cell(cell)
    }
    text += "\n"
    if output.terminal.isTerminal { try output.write(text) } else { try output.write(text.utf8) }
  }
}
