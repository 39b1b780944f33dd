extension Catalog {
  /// Reads the catalogue of a database. One that this process has read before, of any database with the same tables, views and
  /// indexes, costs one query.
  public static func read(from connection: Connection) throws -> Catalog {
    let definitions = try connection.fetchOne(
      """
      SELECT group_concat(hex(type) || hex(name) || ' ' || coalesce(sql, ''), char(10)) FROM (
        SELECT type, name, sql FROM sqlite_schema WHERE type <> 'trigger' ORDER BY type, name)
      """, as: Optional<String>.self)
    let key = (definitions ?? nil) ?? ""
    if let known = CatalogCache.shared.catalog(of: key) { return known }
    let catalog = try readWhole(from: connection)
    CatalogCache.shared.keep(catalog, of: key)
    return catalog
  }

  /// The same, always from the database.
  static func readWhole(from connection: Connection) throws -> Catalog {
    let list = try connection.fetchRows(
      """
      SELECT list.name, list.type, list.wr, list.strict, master.sql
      FROM pragma_table_list AS list JOIN sqlite_schema AS master ON master.name = list.name
      WHERE list.schema = 'main' AND list.type IN ('table', 'view', 'virtual') AND list.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
        AND list.name <> 'SchemaMigration' AND master.type IN ('table', 'view')
      ORDER BY list.name
      """, as: String.self, String.self, Bool.self, Bool.self, String.self)
    return Catalog(
      tables: try list.map { name, kind, isWithoutRowID, isStrict, sql in
        try table(name, kind, isWithoutRowID: isWithoutRowID, isStrict: isStrict, sql, connection)
      })
  }

  private static func table(
    _ name: String, _ kind: String, isWithoutRowID: Bool, isStrict: Bool, _ sql: String, _ connection: Connection
  ) throws -> Table {
    let text = TableText(sql)
    let isTable = kind == "table"
    let rows = try connection.fetchRows(
      "SELECT name, type, \"notnull\", dflt_value, pk, hidden FROM pragma_table_xinfo(\(name)) ORDER BY cid",
      as: String.self, String.self, Bool.self, String?.self, Int.self, Int.self)
    let keyCount = rows.count { $0.4 > 0 }
    // Hidden columns: 1 belongs to a virtual table itself, 2 and 3 are generated.
    let columns = rows.filter { $0.5 != 1 }.map { column, type, notNull, standard, position, hidden in
      let part = text.columns[column.lowercased()]
      let checks = (part?.checks ?? []) + text.checks(about: column)
      let isRowID = isTable && !isWithoutRowID && keyCount == 1 && position == 1 && type.uppercased() == "INTEGER"
      return Column(
        name: column, declaredType: type, type: ColumnType(declared: type, checks: checks, column: column),
        isNotNull: notNull || isRowID || isWithoutRowID && position > 0, defaultSQL: standard,
        primaryKeyPosition: position, isRowID: isRowID, isGenerated: hidden > 1,
        checks: checks, documentation: part?.documentation)
    }
    return Table(
      name: name, kind: kind == "view" ? .view : isTable ? .table : .virtual, isStrict: isStrict,
      isWithoutRowID: isWithoutRowID, columns: columns,
      foreignKeys: isTable ? try foreignKeys(of: name, connection) : [],
      uniqueKeys: isTable ? try uniqueKeys(of: name, connection) : [],
      uniqueIndexes: isTable ? try uniqueIndexes(of: name, columns.map(\.name), connection) : [],
      contentTable: kind == "virtual" ? text.option("content") : nil,
      contentRowID: kind == "virtual" ? text.option("content_rowid") : nil, sql: sql)
  }

  private static func foreignKeys(of table: String, _ connection: Connection) throws -> [ForeignKey] {
    let rows = try connection.fetchRows(
      """
      SELECT id, seq, "table", "from", "to", on_delete, on_update FROM pragma_foreign_key_list(\(table)) ORDER BY id DESC, seq
      """, as: Int.self, Int.self, String.self, String.self, String?.self, String.self, String.self)
    var keys: [(id: Int, key: ForeignKey)] = []
    for (id, place, named, from, to, onDelete, onUpdate) in rows {
      // A reference may write names in another case than the table does.
      let target =
        try connection.fetchOne(
          "SELECT name FROM sqlite_schema WHERE type = 'table' AND name = \(named) COLLATE NOCASE", as: String.self)
        ?? named
      let pair = ForeignKey.Pair(
        from: try column(from, of: table, connection), to: try column(to, at: place, of: target, connection))
      let pairs = keys.last?.id == id ? (keys.popLast()?.key.columns ?? []) + [pair] : [pair]
      keys.append(
        (
          id,
          ForeignKey(
            table: target, columns: pairs, onDelete: ForeignKey.Action(rawValue: onDelete) ?? .noAction,
            onUpdate: ForeignKey.Action(rawValue: onUpdate) ?? .noAction)
        ))
    }
    return keys.map(\.key)
  }

  /// The column that a reference names, or the column at the same position of the primary key if it names none.
  private static func column(
    _ name: String?, at place: Int = 0, of table: String, _ connection: Connection
  ) throws -> String {
    guard let name else {
      return try connection.fetchOne(
        "SELECT name FROM pragma_table_xinfo(\(table)) WHERE pk = \(place + 1)", as: String.self) ?? "rowid"
    }
    return try connection.fetchOne(
      "SELECT name FROM pragma_table_xinfo(\(table)) WHERE name = \(name) COLLATE NOCASE", as: String.self) ?? name
  }

  private static func uniqueIndexes(
    of table: String, _ columns: [String], _ connection: Connection
  ) throws -> [UniqueIndex] {
    let indexes = try connection.fetchRows(
      """
      SELECT list.name, master.sql FROM pragma_index_list(\(table)) AS list
      JOIN sqlite_schema AS master ON master.name = list.name AND master.type = 'index'
      WHERE list."unique" = 1 ORDER BY list.seq DESC
      """, as: String.self, String?.self)
    return try indexes.map { name, sql in
      let text = sql.map(IndexDefinition.init)
      let terms = try connection.fetchRows(
        "SELECT seqno, name, coll FROM pragma_index_xinfo(\(name)) WHERE key = 1 ORDER BY seqno", as: Int.self,
        String?.self, String.self
      ).map { place, column, collation in
        UniqueIndex.Term(
          expression: column.map(SQL.quoted) ?? text?.terms[place] ?? "NULL", collation: collation)
      }
      let words = (terms.map(\.expression) + [text?.condition ?? ""]).joined(separator: " ").lowercased()
      return UniqueIndex(
        terms: terms, condition: text?.condition, columns: columns.filter { words.contains($0.lowercased()) })
    }
  }

  private static func uniqueKeys(of table: String, _ connection: Connection) throws -> [[String]] {
    let names = try connection.fetch(
      "SELECT name FROM pragma_index_list(\(table)) WHERE \"unique\" = 1 AND partial = 0 AND origin <> 'pk' ORDER BY seq DESC",
      as: String.self)
    return try names.compactMap { name in
      let columns = try connection.fetch(
        "SELECT name FROM pragma_index_info(\(name)) ORDER BY seqno", as: String?.self)
      // An index on an expression has no column there.
      return columns.contains(nil) ? nil : columns.compactMap { $0 }
    }
  }

  /// Returns the table whose content a full-text table indexes, from the text of its CREATE statement; `nil` if it
  /// has its own content or none.
  public static func contentTable(ofVirtualTable sql: String) -> String? {
    TableText(sql).option("content").flatMap { $0.isEmpty ? nil : $0 }
  }
}
