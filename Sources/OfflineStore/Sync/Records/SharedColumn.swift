import CipherSQL
import SyncModel
import VaultKeys

/// A column whose values are shared with the server, and how they are said there.
package struct SharedColumn: Sendable {
  package let column: Catalog.Column
  /// For a reference to another synced record: that record's table, its key, and its entity.
  package let reference: Reference?

  package struct Reference: Sendable, Hashable {
    package let entityType: String
    package let table: String
    package let key: String
    /// Whether the record goes when the one that it refers to goes.
    package let cascades: Bool
  }

  package var name: String { column.name }

  /// The expression for the value in a SELECT over a table with an alias: a reference is read as the other's uuid.
  func selection(_ alias: String) -> String {
    let value = "\(alias).\(SQL.quoted(name))"
    guard let reference else { return value }
    return
      "(SELECT uuid FROM \(SQL.quoted(reference.table)) AS target WHERE target.\(SQL.quoted(reference.key)) = \(value))"
  }

  /// Reads the value of a selection.
  func value(in row: borrowing Row, at index: Int32) throws -> SyncValue {
    if row.isNull(index) { return .null }
    if reference != nil { return .text(try row.decode(at: index)) }
    switch column.type {
    case .bool: return .bool(try row.decode(at: index))
    case .integer: return .integer(try row.decode(at: index))
    case .real:
      let number: Double = try row.decode(at: index)
      guard let value = SyncValue(real: number) else {
        throw VaultError(
          .badValue, "\(name) is infinite, which cannot be sent", hint: "give it a number, or NULL", name: name)
      }
      return value
    case .json: return try SyncValue(parsing: try row.decode(String.self, at: index))
    case .blob: return .text(Base64.text(try row.decode(at: index)))
    case .text, .timestamp, .day, .uuid, .enumeration: return .text(try row.decode(at: index))
    case .any:
      switch try row.decode(SQLArgument.self, at: index) {
      case .null: return .null
      case .integer(let value): return .integer(value)
      case .real(let value): return SyncValue(real: value) ?? .null
      case .text(let value): return .text(value)
      case .blob(let bytes): return .text(Base64.text(bytes))
      }
    }
  }

  /// What a value of the table says to the server; not for references.
  func value(of argument: SQLArgument) throws -> SyncValue {
    switch (column.type, argument) {
    case (_, .null): .null
    case (.bool, .integer(let number)): .bool(number != 0)
    case (.json, .text(let text)): try SyncValue(parsing: text)
    case (_, .integer(let number)): .integer(number)
    case (_, .real(let number)): SyncValue(real: number) ?? .null
    case (_, .text(let text)): .text(text)
    case (_, .blob(let bytes)): .text(Base64.text(bytes))
    }
  }

  /// The value as the table keeps it. A reference is not looked up here: its uuid comes back as text.
  /// - Throws: ``FieldProblem`` when it is no value of the column's type.
  package func argument(_ value: SyncValue) throws(FieldProblem) -> SQLArgument {
    if value == .null { return .null }
    if reference != nil {
      guard case .text(let uuid) = value else { throw FieldProblem(message: "is not the uuid of a record") }
      return .text(uuid)
    }
    switch (column.type, value) {
    case (.json, _): return .text(value.json)
    case (.bool, .bool(let flag)): return .integer(flag ? 1 : 0)
    case (.integer, .integer(let number)): return .integer(number)
    case (.integer, .real(let real)):
      guard let whole = Int64(exactly: real.number) else { throw FieldProblem(message: "is not a whole number") }
      return .integer(whole)
    case (.real, .real(let real)): return .real(real.number)
    case (.real, .integer(let number)): return .real(Double(number))
    case (.blob, .text(let text)):
      guard let bytes = Base64.bytes(text.utf8) else { throw FieldProblem(message: "is not base64") }
      return .blob(bytes)
    case (.text, .text(let text)), (.timestamp, .text(let text)), (.day, .text(let text)), (.uuid, .text(let text)),
      (.enumeration, .text(let text)), (.any, .text(let text)):
      return .text(text)
    case (.any, .bool(let flag)): return .integer(flag ? 1 : 0)
    case (.any, .integer(let number)): return .integer(number)
    case (.any, .real(let real)): return .real(real.number)
    default: throw FieldProblem(message: "is not \(FieldInput.name(of: column.type))")
    }
  }
}
