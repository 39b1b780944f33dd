import CipherSQL
import SyncModel

/// A column whose values are shared with the server, and their form on the wire.
package final class SharedColumn: Sendable {
  package let column: Catalog.Column
  package let name: String
  /// Whether the column takes values of its type only. A column of another table takes values of any type, and each
  /// value is sent with its own type.
  package let isStrict: Bool
  /// A reference to a synced record: the table, the key and the entity of that record.
  package let reference: Reference?

  package struct Reference: Sendable, Hashable {
    package let entityType: String
    package let table: String
    package let key: String
    /// Whether a deletion of the referenced record deletes this record.
    package let cascades: Bool

    package init(entityType: String, table: String, key: String, cascades: Bool) {
      (self.entityType, self.table, self.key, self.cascades) = (entityType, table, key, cascades)
    }
  }

  package init(column: Catalog.Column, isStrict: Bool, reference: Reference?) {
    (self.column, self.isStrict, self.reference) = (column, isStrict, reference)
    name = column.name
  }

  /// Returns the expression for the value in a SELECT over a table with an alias. A reference is read as the UUID of
  /// the referenced record.
  package func selection(_ alias: String) -> String {
    let value = "\(alias).\(SQL.quoted(name))"
    guard let reference else { return value }
    return
      "(SELECT uuid FROM \(SQL.quoted(reference.table)) AS target WHERE target.\(SQL.quoted(reference.key)) = \(value))"
  }

  /// The member of an object that marks bytes in a column of any type.
  package static let bytesMember = "base64"
  /// The member of an object that marks text in a BLOB column of a table that is not STRICT.
  package static let textMember = "text"

  /// Reads the value of a selection.
  /// - Throws: ``FieldProblem`` for a value that cannot be sent.
  package func value(in row: borrowing Row, at index: Int32) throws(FieldProblem) -> SyncValue {
    if row.isNull(index) { return .null }
    do {
      if reference != nil { return .text(try row.decode(at: index)) }
      guard isStrict else { return try looseValue(of: argument(in: row, at: index)) }
      switch column.type {
      case .bool: return .bool(try row.decode(at: index))
      case .integer: return .integer(try row.decode(at: index))
      case .real: return try Self.real(try row.decode(at: index))
      case .json: return try Self.json(try text(in: row, at: index))
      case .blob: return .text(Base64.text(try row.decode(at: index)))
      case .text, .timestamp, .day, .uuid, .enumeration: return .text(try text(in: row, at: index))
      case .any: return try value(of: argument(in: row, at: index))
      }
    } catch let problem as FieldProblem {
      throw problem
    } catch {
      throw FieldProblem(message: "is not \(FieldInput.name(of: column.type))")
    }
  }

  private func argument(in row: borrowing Row, at index: Int32) throws -> SQLArgument {
    let argument = try row.decode(SQLArgument.self, at: index)
    if case .text = argument { return .text(try text(in: row, at: index)) }
    return argument
  }

  /// Reads TEXT without replacing invalid UTF-8.
  private func text(in row: borrowing Row, at index: Int32) throws -> String {
    let text = try row.withText(at: index) { (bytes) throws(SQLError) in String(validating: bytes, as: UTF8.self) }
    guard let text else { throw FieldProblem(message: "is not UTF-8") }
    return text
  }

  private static func real(_ number: Double) throws(FieldProblem) -> SyncValue {
    guard let value = SyncValue(real: number) else {
      throw FieldProblem(message: "is infinite, which JSON cannot represent; use a finite number or NULL")
    }
    return value
  }

  private static func json(_ text: String) throws(FieldProblem) -> SyncValue {
    let value: SyncValue
    do throws(SyncModelError) {
      value = try SyncValue(parsing: text)
    } catch {
      throw FieldProblem(message: "is JSON that cannot be sent: \(error)")
    }
    guard value.depth <= SyncValue.greatestDepth else { throw tooDeep }
    // On the wire, JSON null means that the field has no value.
    guard value != .null else { throw FieldProblem(message: "is the JSON null; use another value or NULL") }
    return value
  }

  private static let tooDeep = FieldProblem(
    message: "is JSON that cannot be sent: it is nested more than \(SyncValue.greatestDepth) levels deep")

  /// Returns the form of a stored value on the wire. Not for references.
  /// - Throws: ``FieldProblem`` for a value that cannot be sent.
  package func value(of argument: SQLArgument) throws(FieldProblem) -> SyncValue {
    guard isStrict else { return try looseValue(of: argument) }
    switch (column.type, argument) {
    case (_, .null): return .null
    case (.bool, .integer(let number)): return .bool(number != 0)
    case (.json, .text(let text)): return try Self.json(text)
    case (_, .integer(let number)): return .integer(number)
    case (_, .real(let number)): return try Self.real(number)
    case (_, .text(let text)): return .text(text)
    case (.any, .blob(let bytes)): return Self.marked(bytes)
    case (_, .blob(let bytes)): return .text(Base64.text(bytes))
    }
  }

  /// Returns the form of a value in a table that is not STRICT: the usual form of the column for values of its type,
  /// and the form of an ANY column for others.
  private func looseValue(of argument: SQLArgument) throws(FieldProblem) -> SyncValue {
    switch (column.type, argument) {
    case (_, .null): return .null
    case (.bool, .integer(let number)) where number == 0 || number == 1: return .bool(number == 1)
    case (.json, .text(let text)): return try Self.json(text)
    case (.json, .blob): throw FieldProblem(message: "is a BLOB, but JSON is sent as text; store it as TEXT")
    case (.blob, .blob(let bytes)): return .text(Base64.text(bytes))
    case (.blob, .text(let text)): return .object([Self.textMember: .text(text)])
    case (_, .integer(let number)): return .integer(number)
    case (_, .real(let number)): return try Self.real(number)
    case (_, .text(let text)): return .text(text)
    case (_, .blob(let bytes)): return Self.marked(bytes)
    }
  }

  private static func marked(_ bytes: [UInt8]) -> SyncValue {
    .object([bytesMember: .text(Base64.text(bytes))])
  }

  /// Returns the content of an object with one member that marks its type; `nil` for another object.
  private static func marked(_ object: SyncObject, _ member: String) -> String? {
    guard object.count == 1, case .text(let text)? = object[member] else { return nil }
    return text
  }

  /// Returns the form of a value in the table. A reference stays a UUID as text.
  /// - Throws: ``FieldProblem`` if the value does not have the type of the column.
  package func argument(_ value: SyncValue) throws(FieldProblem) -> SQLArgument {
    if value == .null { return .null }
    if reference != nil {
      guard case .text(let uuid) = value else { throw FieldProblem(message: "is not the UUID of a record") }
      return .text(uuid)
    }
    if !isStrict, let argument = try looseArgument(value) { return argument }
    switch (column.type, value) {
    case (.json, _):
      guard value.depth <= SyncValue.greatestDepth else { throw Self.tooDeep }
      return .text(value.json)
    case (.bool, .bool(let flag)): return .integer(flag ? 1 : 0)
    case (.integer, .integer(let number)): return .integer(number)
    case (.integer, .real(let real)):
      guard let whole = Int64(exactly: real.number) else { throw FieldProblem(message: "is not a whole number") }
      return .integer(whole)
    case (.real, .real(let real)): return .real(real.number)
    case (.real, .integer(let number)): return .real(Double(number))
    case (.real, .number(let number)):
      guard let real = number.nearestReal else { throw FieldProblem(message: "is larger than any REAL") }
      return .real(real.number)
    case (.blob, .text(let text)):
      guard let bytes = Base64.bytes(text.utf8) else { throw FieldProblem(message: "is not base64") }
      return .blob(bytes)
    case (.text, .text(let text)), (.timestamp, .text(let text)), (.day, .text(let text)), (.uuid, .text(let text)),
      (.enumeration, .text(let text)), (.any, .text(let text)):
      return .text(text)
    case (.any, .object(let object)):
      return try Self.bytes(in: object)
    case (.any, .bool(let flag)): return .integer(flag ? 1 : 0)
    case (.any, .integer(let number)): return .integer(number)
    case (.any, .real(let real)): return .real(real.number)
    default: throw FieldProblem(message: "is not \(FieldInput.name(of: column.type))")
    }
  }

  private static func bytes(in object: SyncObject) throws(FieldProblem) -> SQLArgument {
    guard let bytes = marked(object, bytesMember).flatMap({ Base64.bytes($0.utf8) }) else {
      throw FieldProblem(message: "is an object other than {\"\(bytesMember)\": ...}")
    }
    return .blob(bytes)
  }

  /// Returns the value of another type than the column's in a table that is not STRICT; `nil` for a value in the usual
  /// form of the column. SQLite converts values as the declared type requires, the same on each device.
  private func looseArgument(_ value: SyncValue) throws(FieldProblem) -> SQLArgument? {
    switch (column.type, value) {
    // A document that is a number was converted to it, unless the column stores text.
    case (.json, .integer(let number)) where !storesText: return .integer(number)
    case (.json, .real(let real)) where !storesText: return .real(real.number)
    case (.json, _): return nil
    case (.blob, .text): return nil
    case (.blob, .object(let object)): return Self.marked(object, Self.textMember).map(SQLArgument.text)
    case (.real, .integer(let number)): return .real(Double(number))
    case (_, .integer(let number)): return .integer(number)
    case (_, .real(let real)): return .real(real.number)
    case (_, .text(let text)): return .text(text)
    case (_, .object(let object)): return try Self.bytes(in: object)
    default: return nil
    }
  }

  /// Returns the expression for a default as the column stores it, in whatever form it is written.
  package func stored(_ expression: String) -> String {
    let type = column.declaredType.uppercased()
    if isStrict {
      return ["INTEGER", "INT", "REAL", "TEXT", "BLOB"].contains(type)
        ? "CAST(\(expression) AS \(type))" : expression
    }
    if ["BLOB", ""].contains(type) { return expression }
    if storesText {
      return
        "(SELECT CASE WHEN typeof(v) IN ('integer', 'real') THEN CAST(v AS TEXT) ELSE v END FROM (SELECT \(expression) AS v))"
    }
    return """
      (SELECT CASE WHEN typeof(v) = 'text' AND CAST(CAST(v AS NUMERIC) AS TEXT) = v THEN CAST(v AS NUMERIC) ELSE v END \
      FROM (SELECT \(expression) AS v))
      """
  }

  /// Whether SQLite converts numbers in the column to text; see https://sqlite.org/datatype3.html#determination_of_column_affinity.
  private var storesText: Bool {
    let type = column.declaredType.uppercased()
    return !type.contains("INT") && ["CHAR", "CLOB", "TEXT"].contains { type.contains($0) }
  }
}

extension Entity {
  /// The columns that the server knows.
  package func sharedColumns(in entities: Entities) -> [SharedColumn] {
    table.columns.compactMap { column in
      guard !isKept(column.name), column.name != "uuid", column.name != Entity.userEditsColumn,
        !localColumns.contains(column.name), !column.isGenerated
      else { return nil }
      let target = reference(of: column.name)
      let reference = target.flatMap { key -> SharedColumn.Reference? in
        guard let entity = entities.entity(ofTable: key.table), entity.sync != nil, let pair = key.columns.first else {
          return nil
        }
        return SharedColumn.Reference(
          entityType: entity.type, table: key.table, key: pair.to,
          cascades: key.onDelete == .cascade)
      }
      return SharedColumn(column: column, isStrict: table.isStrict, reference: reference)
    }
  }
}
