import CipherSQL
import Platform
import RecordStore
import SchemaModel
import SyncModel

/// Reads the rows of a matched table as records with UUIDs.
struct SourceRows {
  /// A row of the table.
  enum Outcome {
    case record(SyncObject)
    /// The other program had marked the row as deleted.
    case deleted
    case problems([DatabaseImportProblem])
  }

  /// The rows that a field references.
  private struct Target {
    let storage: String
    /// The column that the query adds: the UUID or the key of the referenced row; `nil` if the value is the key itself.
    let place: Int32?
    /// Whether the added column is the UUID.
    let isUUID: Bool
  }

  let match: SourceMatch
  private let sourceName: String
  private let values: SourceValue
  private let targets: [Target?]
  private let sql: String

  /// - Parameter matches: the matches of all tables, imported or not, to which rows may refer.
  init(
    _ match: SourceMatch, among matches: [SourceMatch], tables: [SourceTable], sourceName: String, values: SourceValue
  ) {
    (self.match, self.sourceName, self.values) = (match, sourceName, values)
    var terms = match.table.key + (match.uuidColumn.map { [$0] } ?? []) + (match.deletedColumn.map { [$0] } ?? [])
    terms = (terms + match.fields.map(\.source)).map { "record.\(SQL.quoted($0))" }
    targets = match.fields.map { field in
      guard let reference = field.column.reference else { return nil }
      let declared = match.table.references.first { SourceName.key($0.from) == SourceName.key(field.source) }
      let table =
        declared.flatMap { key in tables.first { SourceName.key($0.storage) == SourceName.key(key.table) } }
        ?? matches.first { $0.entity.type == reference.entityType }?.table
      guard let table, table.key.count == 1, let key = table.key.first else { return nil }
      let uuid = matches.first { SourceName.isSame($0.table.name, table.name) }?.uuidColumn
      let referenced = declared?.column ?? key
      let isKey = SourceName.key(referenced) == SourceName.key(key)
      guard uuid != nil || !isKey else { return Target(storage: table.storage, place: nil, isUUID: false) }
      terms.append(
        """
        (SELECT target.\(SQL.quoted(uuid ?? key)) FROM \(SQL.quoted(table.storage)) AS target \
        WHERE target.\(SQL.quoted(referenced)) = record.\(SQL.quoted(field.source)))
        """)
      return Target(storage: table.storage, place: Int32(terms.count - 1), isUUID: uuid != nil)
    }
    sql =
      "SELECT \(terms.joined(separator: ", ")) FROM \(SQL.quoted(match.table.storage)) AS record"
      + match.table.condition("record")
  }

  /// Returns the number of rows.
  func count(in connection: Connection) throws -> Int {
    let sql = "SELECT count(*) FROM \(SQL.quoted(match.table.storage)) AS record" + match.table.condition("record")
    return try connection.fetchOne(SQL(raw: sql), as: Int.self) ?? 0
  }

  /// Calls a closure with each row and its name for messages. Memory use does not grow with the rows.
  /// - Throws: ``SourceFailure`` if a row cannot be read; the errors of the closure.
  func forEach(in connection: Connection, _ body: (Outcome, String) throws -> Void) throws {
    try connection.withStatement(sql) { statement in
      var number = 0
      while try SourceFailure.naming({ try statement.step() }) {
        number += 1
        let row = statement.row
        let name = try SourceFailure.naming { try self.name(of: row, number) }
        try body(try SourceFailure.naming { try outcome(of: row, name) }, name)
      }
    }
  }

  // MARK: Rows

  private func outcome(of row: borrowing Row, _ name: String) throws -> Outcome {
    var problems: [DatabaseImportProblem] = []
    func attempt<Result>(_ field: String, _ column: String, _ body: () throws -> Result) throws -> Result? {
      do {
        return try body()
      } catch let problem as FieldProblem {
        problems.append(
          DatabaseImportProblem(
            table: match.table.name, row: name, column: column, field: field, message: problem.message))
        return nil
      }
    }
    if try isDeleted(row) { return .deleted }
    let uuid = try attempt("uuid", match.uuidColumn ?? match.table.key.joined(separator: ", ")) {
      try self.uuid(of: row)
    }
    var members = match.constants
    members.reserveCapacity(match.fields.count + members.count + 1)
    let first = Int32(match.table.key.count + (match.uuidColumn == nil ? 0 : 1) + (match.deletedColumn == nil ? 0 : 1))
    for (index, field) in match.fields.enumerated() {
      let place = first + Int32(index)
      let value = try attempt(field.column.name, field.source) { () throws -> SyncValue in
        let stored = try Self.value(in: row, at: place)
        do {
          if field.column.reference != nil { return try reference(stored, targets[index], field, row) }
          return try field.column.value(of: values.argument(stored, for: field.column.column))
        } catch let problem as FieldProblem {
          throw FieldProblem(message: "\(problem.message) (the row has \(SourceValue.className(of: stored)))")
        }
      }
      // Without a value, a required field gets its default.
      if value == .null, field.column.column.isNotNull, field.column.column.defaultSQL != nil { continue }
      if let value { members.append(SyncObject.Member(name: field.column.name, value: value)) }
    }
    guard problems.isEmpty, let uuid else { return .problems(problems) }
    members.append(SyncObject.Member(name: "uuid", value: .text(uuid)))
    members.sort { $0.name.utf16.lexicographicallyPrecedes($1.name.utf16) }
    return .record(SyncObject(ordered: members))
  }

  /// Returns the name of a row: its key if that is a number or a UUID, which are no content.
  private func name(of row: borrowing Row, _ number: Int) throws -> String {
    guard match.table.key.count == 1 else { return "number \(number)" }
    let key = try row.decode(SQLArgument.self, at: 0)
    if case .integer(let key) = key { return String(key) }
    return SourceValue.uuid(key).map(UUIDText.text) ?? "number \(number)"
  }

  private func isDeleted(_ row: borrowing Row) throws -> Bool {
    guard match.deletedColumn != nil else { return false }
    let place = Int32(match.table.key.count + (match.uuidColumn == nil ? 0 : 1))
    return switch try row.decode(SQLArgument.self, at: place) {
    case .integer(let number): number != 0
    case .text(let text): ["1", "true"].contains(text.lowercased())
    default: false
    }
  }

  private func uuid(of row: borrowing Row) throws -> String {
    if match.uuidColumn != nil {
      let value = try Self.value(in: row, at: Int32(match.table.key.count))
      guard let uuid = SourceValue.uuid(value) else {
        throw FieldProblem(
          message: "is not a UUID of 36 characters or 16 bytes (the row has \(SourceValue.className(of: value)))")
      }
      return UUIDText.text(uuid)
    }
    return try uuid(
      ofKey: (0..<match.table.key.count).map { try Self.value(in: row, at: Int32($0)) }, match.table.storage)
  }

  /// Returns the UUID of a row without one. A key that is a UUID is taken as it is, and any other gives the same UUID in
  /// each import.
  private func uuid(ofKey key: [SQLArgument], _ storage: String) throws(FieldProblem) -> String {
    if key.count == 1, let uuid = SourceValue.uuid(key[0]) { return UUIDText.text(uuid) }
    var parts: [String] = []
    for part in key {
      switch part {
      case .null: throw FieldProblem(message: "is NULL, but it identifies the row; give the row a key")
      case .integer(let number): parts.append(String(number))
      case .real(let number): parts.append(Int64(exactly: number).map(String.init) ?? "\(number)")
      case .text(let text): parts.append(text)
      case .blob(let bytes): parts.append("x'\(HexText.text(bytes))'")
      }
    }
    return NameUUID.text(["database", sourceName, storage] + parts)
  }

  private func reference(
    _ stored: SQLArgument, _ target: Target?, _ field: SourceMatch.Field, _ row: borrowing Row
  ) throws -> SyncValue {
    if values.isMissing(stored, field.column.column.type) { return .null }
    guard let target else {
      if let uuid = SourceValue.uuid(stored) { return .text(UUIDText.text(uuid)) }
      let type = field.column.reference?.entityType ?? ""
      throw FieldProblem(message: "is neither a UUID nor the key of a table that matches \(type)")
    }
    guard let place = target.place else { return .text(try uuid(ofKey: [stored], target.storage)) }
    let found = try Self.value(in: row, at: place)
    if found == .null, let uuid = SourceValue.uuid(stored) { return .text(UUIDText.text(uuid)) }
    guard found != .null else { throw FieldProblem(message: "refers to a row that \(target.storage) does not have") }
    guard target.isUUID else { return .text(try uuid(ofKey: [found], target.storage)) }
    guard let uuid = SourceValue.uuid(found) else {
      throw FieldProblem(message: "refers to a row of \(target.storage) without a valid UUID")
    }
    return .text(UUIDText.text(uuid))
  }

  /// Reads a value without replacing invalid UTF-8.
  private static func value(in row: borrowing Row, at place: Int32) throws -> SQLArgument {
    let value = try row.decode(SQLArgument.self, at: place)
    guard case .text = value else { return value }
    let text = try row.withText(at: place) { (bytes) throws(SQLError) in String(validating: bytes, as: UTF8.self) }
    guard let text else { throw FieldProblem(message: "is not valid UTF-8 or UTF-16") }
    return .text(text)
  }
}

/// A failure to read the database that is imported, to distinguish it from a failure of the vault.
struct SourceFailure: Error {
  let error: SQLError

  /// Runs a closure that reads the database.
  static func naming<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as SQLError { throw SourceFailure(error: error) }
  }
}
