import CSQLCipher

/// Facts about the tables of a database that decide which queries a change concerns.
struct SchemaFacts: Sendable {
  /// The columns of a table whose change can remove other rows of it, under `OR REPLACE` or `ON CONFLICT REPLACE`.
  /// SQLite reports such a removal to no hook.
  enum Replacing: Sendable, Equatable {
    case columns(Set<String>)
    /// An index over an expression or with a condition depends on columns that its list does not name.
    case any
  }

  var virtualTables: Set<String> = []
  /// The generated columns, by table. An UPDATE names only the columns that it sets.
  var generatedColumns: [String: Set<String>] = [:]
  var replacing: [String: Replacing] = [:]

  static func read(from connection: Connection) throws -> SchemaFacts {
    var facts = SchemaFacts()
    facts.virtualTables = Set(
      try connection.fetch(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL%'", as: String.self))
    let columns = try connection.fetchRows(
      """
      SELECT list.name, info.name, info.hidden IN (2, 3) FROM pragma_table_list AS list, pragma_table_xinfo(list.name) AS info
      WHERE list.schema = 'main' AND list.type = 'table' AND (info.hidden IN (2, 3) OR info.pk > 0)
      """, as: String.self, String.self, Bool.self)
    for (table, column, isGenerated) in columns {
      if isGenerated {
        facts.generatedColumns[table, default: []].insert(column)
      } else {
        facts.add(column, to: table)
      }
    }
    let unique = try connection.fetchRows(
      """
      SELECT list.name, CASE WHEN keys.partial THEN NULL ELSE info.name END
      FROM pragma_table_list AS list, pragma_index_list(list.name) AS keys, pragma_index_info(keys.name) AS info
      WHERE list.schema = 'main' AND list.type = 'table' AND keys."unique"
      """, as: String.self, String?.self)
    for (table, column) in unique { facts.add(column, to: table) }
    return facts
  }

  private mutating func add(_ column: String?, to table: String) {
    guard let column, replacing[table] != .any else { return replacing[table] = .any }
    if case .columns(let known) = replacing[table] {
      replacing[table] = .columns(known.union([column]))
    } else {
      replacing[table] = .columns([column])
    }
  }

  /// Returns the region that an UPDATE of some columns may have changed.
  func extent(ofUpdating columns: Set<String>, in table: String) -> ChangedRegion.Extent {
    let changed = columns.union(generatedColumns[table] ?? [])
    switch replacing[table] {
    case .any: return .rows
    case .columns(let keys) where !keys.isDisjoint(with: changed): return .rows
    case .columns, nil: return changed.contains { $0.uppercased() == "ROWID" } ? .rows : .columns(changed)
    }
  }
}

extension WriteConnection {
  /// The facts of the present schema, read again only when the schema has changed; `nil` when they cannot be read.
  func schemaFacts() -> SchemaFacts? {
    do {
      let version = try pragmaText("PRAGMA schema_version")
      if let known = knownFacts, known.schemaVersion == version { return known.facts }
      let facts = try SchemaFacts.read(from: self)
      knownFacts = (version, facts)
      return facts
    } catch {
      // The commit has happened already, so nothing may fail here.
      knownFacts = nil
      return nil
    }
  }
}
