import CSQLCipher

/// The tables, views, indexes and triggers that the schema files of a database created. Only migrations change them.
package enum SchemaObjects {
  /// Reads their names from the files that were applied, in lower case.
  package static func names(in connection: Connection) throws(SQLError) -> Set<String> {
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name = 'SchemaMigration'"
    guard try !texts(tables, on: connection).isEmpty else { return [] }
    // The table has a name since its first row was written.
    var names: Set<String> = [MigrationRecord.table.lowercased()]
    for sql in try texts("SELECT sql FROM SchemaMigration ORDER BY appliedAt, version", on: connection) {
      follow(sql, &names)
    }
    return names
  }

  private static func texts(_ sql: String, on connection: Connection) throws(SQLError) -> [String] {
    let statement = try connection.prepare(sql)
    var texts: [String] = []
    while try statement.step() {
      if let text = sqlite3_column_text(statement.handle, 0) { texts.append(String(cString: text)) }
    }
    return texts
  }

  /// Applies the CREATE, RENAME and DROP statements of a schema file to the names.
  static func follow(_ sql: String, _ names: inout Set<String>) {
    for words in SQLText.statements(of: sql) {
      var rest = SQLWords(words)
      switch rest.next() {
      case "CREATE":
        // A temporary table ends with the connection.
        if rest.take("TEMP") || rest.take("TEMPORARY") { continue }
        if let name = rest.object(isNew: true) { names.insert(name) }
      case "DROP":
        if let name = rest.object(isNew: false) { names.remove(name) }
      case "ALTER":
        if let name = rest.object(isNew: false), rest.take("RENAME"), rest.take("TO"), let new = rest.name() {
          names.remove(name)
          names.insert(new)
        }
      default: continue
      }
    }
  }

  /// The words of one statement, from the first on.
  private struct SQLWords {
    private var rest: ArraySlice<String>

    init(_ words: [String]) { rest = words[...] }

    mutating func next() -> String? { rest.popFirst()?.uppercased() }

    mutating func take(_ word: String) -> Bool {
      guard rest.first?.uppercased() == word else { return false }
      rest.removeFirst()
      return true
    }

    /// Returns the name after `TABLE`, `UNIQUE INDEX` and similar words.
    mutating func object(isNew: Bool) -> String? {
      _ = take("UNIQUE") || take("VIRTUAL")
      guard let kind = next(), ["TABLE", "VIEW", "INDEX", "TRIGGER"].contains(kind) else { return nil }
      if take("IF") {
        if isNew { _ = take("NOT") }
        _ = take("EXISTS")
      }
      return name()
    }

    /// Returns a name without its database prefix.
    mutating func name() -> String? {
      guard var name = rest.popFirst() else { return nil }
      if take("."), let second = rest.popFirst() { name = second }
      return SQLText.bareName(name).lowercased()
    }
  }
}
