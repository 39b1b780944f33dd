import CipherSQL
import SchemaModel
import VaultStore
import WebPages

/// The form of a field on a page.
struct FieldCell {
  let column: Catalog.Column

  /// The title of the column, with the unit of its numbers.
  var title: HTML {
    let unit = Units.unit(of: column)
    let times = column.type == .timestamp ? " (UTC)" : ""
    return "\(HTML.value(column.name))\(unit.map { " (\($0))" } ?? times)"
  }

  /// The value as text, as CSV has it; `nil` for NULL.
  static func text(_ value: SQLArgument, of column: Catalog.Column) -> String? {
    switch value {
    case .null: nil
    case .integer(let number):
      column.type == .bool && (number == 0 || number == 1) ? (number == 1 ? "true" : "false") : String(number)
    case .real(let number): "\(number)"
    case .text(let text): text
    case .blob(let bytes): "\(bytes.count) bytes"
    }
  }

  /// - Parameter limit: the greatest number of characters.
  func html(_ value: SQLArgument, limit: Int = .max) -> HTML {
    guard let text = Self.text(value, of: column) else { return "" }
    switch value {
    case .text where column.type == .timestamp: return InspectorPages.time(text)
    case .blob: return "<span class=\"quiet\">\(text)</span>"
    default: return HTML.value(text, limit: limit)
    }
  }
}
