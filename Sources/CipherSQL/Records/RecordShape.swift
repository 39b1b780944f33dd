import Platform

/// The names of a record type that composed statements need, looked up once per type.
final class RecordShape: Sendable {
  let tableName: StaticString
  let columnNames: [StaticString]
  let isSoftDeletable: Bool
  /// The columns of the primary key; empty for a record without one.
  let keyColumns: [StaticString]
  /// The columns that an INSERT of the record binds, in order; empty for a read-only record.
  let insertedColumns: [StaticString]
  // `t0.a, t0.b` and `t1.a, t1.b`, with which almost every statement begins.
  private let columnLists: [[UInt8]]

  private init<R: Record>(_ type: R.Type) {
    tableName = R.tableName
    columnNames = R.columnNames
    isSoftDeletable = R.self is any SoftDeletable.Type
    keyColumns = (R.self as? any KeyedRecord.Type).map { $0.keyColumnNames } ?? []
    insertedColumns =
      (R.self as? any InsertableRecord.Type).map { type in
        RecordShape.parenthesizedNames(of: type.insertSQL, among: type.columnNames) ?? type.columnNames
      } ?? []
    let names = columnNames
    columnLists = (0..<4).map { RecordShape.columnList(names, number: $0) }
  }

  private static let known = Locked<[ObjectIdentifier: RecordShape]>([:])

  static func of<R: Record>(_ type: R.Type) -> RecordShape {
    let id = ObjectIdentifier(type)
    if let shape = known.withLock({ $0[id] }) { return shape }
    let shape = RecordShape(type)
    known.withLock { $0[id] = shape }
    return shape
  }

  /// Returns all columns of the table under a number, as SQL.
  func columnList(number: Int) -> [UInt8] {
    number < columnLists.count ? columnLists[number] : RecordShape.columnList(columnNames, number: number)
  }

  private static func columnList(_ names: [StaticString], number: Int) -> [UInt8] {
    var text: [UInt8] = []
    for (index, name) in names.enumerated() {
      if index > 0 { text.append(contentsOf: ", ".utf8) }
      SQLWriter.write(number: number, to: &text)
      text.append(UInt8(ascii: "."))
      SQLWriter.write(name: name, to: &text)
    }
    return text
  }

  // MARK: Names in generated statements

  /// Returns the names of the first list in parentheses, as in `INSERT INTO t (a, b) VALUES`; `nil` without a list.
  private static func parenthesizedNames(of sql: StaticString, among names: [StaticString]) -> [StaticString]? {
    let found = words(of: sql)
    guard let open = found.firstIndex(of: .other("(")), let close = found.firstIndex(of: .other(")")),
      let values = found.firstIndex(of: .other("VALUES")), close < values
    else { return nil }
    return found[open..<close].compactMap { word in names.first { word.isName($0.description) } }
  }

  /// Returns the columns before `=` after WHERE, as in `DELETE FROM t WHERE a = ? AND b = ?`.
  static func comparedNames(of sql: StaticString, among names: [StaticString]) -> [StaticString] {
    let found = words(of: sql)
    guard let start = found.lastIndex(of: .other("WHERE")) else { return [] }
    return zip(found[start...], found[start...].dropFirst()).compactMap { word, next in
      next == .other("=") || next == .other("IS") ? names.first { word.isName($0.description) } : nil
    }
  }

  /// A quoted name, or a word or symbol in upper case.
  private enum Word: Equatable {
    case quoted(String)
    case other(String)

    func isName(_ name: String) -> Bool {
      switch self {
      case .quoted(let text): text == name
      case .other(let text): text == name.uppercased()
      }
    }
  }

  private static func words(of sql: StaticString) -> [Word] {
    let bytes = Array(sql.description.utf8)
    return SQLText.tokens(of: bytes).compactMap { token in
      switch token.kind {
      case .space, .comment: nil
      case .quotedName: .quoted(SQLText.name(in: bytes[token.range]))
      default: .other(String(decoding: bytes[token.range], as: UTF8.self).uppercased())
      }
    }
  }
}

extension KeyedRecord {
  /// The columns that `deleteSQL` compares after WHERE, in that order.
  public static var keyColumnNames: [StaticString] { RecordShape.comparedNames(of: deleteSQL, among: columnNames) }
}
