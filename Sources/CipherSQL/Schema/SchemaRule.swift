/// A rule that the tables of a schema break. ``Migrator`` adds file and line.
package struct SchemaViolation: Error, Sendable {
  /// The table, view or text of a file at fault.
  private let name: String
  /// The column at fault.
  private let column: String?
  private let isText: Bool
  let message: String
  let remedy: String

  /// - Parameters:
  ///   - name: the table or view at fault.
  ///   - column: the column at fault.
  package init(_ message: String, at name: String, column: String? = nil, remedy: String) {
    (self.name, self.column, isText, self.message, self.remedy) = (name, column, false, message, remedy)
  }

  /// - Parameter text: the text at fault, which a file inserts into the registry.
  package init(_ message: String, atText text: String, remedy: String) {
    (name, column, isText, self.message, self.remedy) = (text, nil, true, message, remedy)
  }

  /// Returns the problem with its place: the last file that creates the table, or has the text, otherwise the last
  /// file that mentions its name, otherwise the first line of the applied file.
  func problem(in files: [(schema: String, file: MigrationFile)], after applied: MigrationFile, _ schema: String)
    -> SchemaProblem
  {
    func problem(_ schema: String, _ file: MigrationFile, _ line: Int) -> SchemaProblem {
      SchemaProblem(schema: schema, file: file, line: line, message: "\(message) (\(remedy))")
    }
    let texts = files.reversed().map { (schema: $0.schema, file: $0.file, text: SchemaFileText($0.file.sql)) }
    for (schema, file, text) in texts {
      let line = isText ? text.line(ofText: name) : text.line(ofTable: name, column: column)
      if let line { return problem(schema, file, line) }
    }
    for (schema, file, text) in texts {
      if let line = text.line(mentioning: name) { return problem(schema, file, line) }
    }
    return problem(schema, applied, 1)
  }
}

extension SchemaViolation {
  /// Returns the message about two names that Swift takes for equal.
  package static func twins(_ kind: String, _ first: String, _ second: String) -> String {
    "the \(kind) '\(first)' and '\(second)' have names that differ only in case or Unicode normalisation"
  }
  package static let remedyOfTwins = "rename one of them"
}

/// The places of names in the text of a schema file.
private struct SchemaFileText {
  private let bytes: [UInt8]
  private let tokens: [SQLText.Token]

  init(_ sql: String) {
    bytes = Array(sql.utf8)
    tokens = SQLText.tokens(of: bytes).filter { $0.kind != .space && $0.kind != .comment }
  }

  /// Returns the line of a column in the CREATE TABLE or CREATE VIEW of its table, or the line of the name of the table.
  func line(ofTable name: String, column: String?) -> Int? {
    let kinds: Set = ["table", "view"]
    for (index, token) in tokens.enumerated().reversed() where isName(token, name) {
      let before = tokens[..<index].suffix(6).map { text($0).lowercased() }
      guard let kind = before.lastIndex(where: kinds.contains), before[..<kind].last.map(Self.begins) == true,
        before[(kind + 1)...].allSatisfy({ ["if", "not", "exists", "main", "."].contains($0) })
      else { continue }
      return line(of: column.flatMap { place(ofColumn: $0, after: index) } ?? token)
    }
    return nil
  }

  /// Returns the line of the first SQL text with this content.
  func line(ofText content: String) -> Int? {
    tokens.first { $0.kind == .string && TableText.unquoted(bytes[$0.range]).utf8.elementsEqual(content.utf8) }.map(
      line)
  }

  /// Returns the line of the first token that is the name, quoted or not.
  func line(mentioning name: String) -> Int? { tokens.first { isName($0, name) }.map(line) }

  private static func begins(_ word: String) -> Bool { ["create", "temp", "temporary", "virtual"].contains(word) }

  /// Returns the first token of a column in the outermost parentheses.
  private func place(ofColumn name: String, after start: Int) -> SQLText.Token? {
    var depth = 0
    var isFirst = false
    for token in tokens[(start + 1)...] {
      let symbol = token.kind == .symbol ? text(token) : ""
      if symbol == ")" { depth -= 1 }
      if symbol == ";" || depth < 0 { return nil }
      if depth == 1, isFirst, isName(token, name) { return token }
      isFirst = symbol == "(" && depth == 0 || symbol == "," && depth == 1
      if symbol == "(" { depth += 1 }
    }
    return nil
  }

  private func text(_ token: SQLText.Token) -> String { String(decoding: bytes[token.range], as: UTF8.self) }

  private func isName(_ token: SQLText.Token, _ name: String) -> Bool {
    guard [.word, .quotedName, .string].contains(token.kind) else { return false }
    let text = TableText.unquoted(bytes[token.range])
    return text.utf8.elementsEqual(name.utf8) || token.kind == .word && text.lowercased() == name.lowercased()
  }

  private func line(of token: SQLText.Token) -> Int {
    1 + bytes[..<token.range.lowerBound].count { $0 == UInt8(ascii: "\n") }
  }
}

extension Migrator {
  /// Refuses tables, and columns of one table, whose names Swift takes for equal and SQLite does not: SQLite compares
  /// bytes, except for the case of ASCII letters. Names are keys of dictionaries in all modules.
  static func checkNames(in connection: Connection) throws {
    let names = try connection.fetchRows(
      """
      SELECT list.name, part.name FROM pragma_table_list AS list LEFT JOIN pragma_table_xinfo(list.name) AS part
      WHERE list.schema = 'main' AND list.type IN ('table', 'view', 'virtual') ORDER BY list.name, part.cid
      """, as: String.self, String?.self)
    var tables: [String: String] = [:]
    var columns: [String: String] = [:]
    var last: String?
    for (table, column) in names {
      if last.map({ !$0.utf8.elementsEqual(table.utf8) }) ?? true {
        last = table
        columns = [:]
        if let twin = tables.updateValue(table, forKey: table.lowercased()) {
          throw twins("tables", twin, table, at: table)
        }
      }
      guard let column else { continue }
      if let twin = columns.updateValue(column, forKey: column.lowercased()) {
        throw twins("columns of \(table)", twin, column, at: table, column: column)
      }
    }
  }

  private static func twins(
    _ kind: String, _ first: String, _ second: String, at name: String, column: String? = nil
  ) -> SchemaViolation {
    SchemaViolation(
      SchemaViolation.twins(kind, first, second), at: name, column: column, remedy: SchemaViolation.remedyOfTwins)
  }
}
