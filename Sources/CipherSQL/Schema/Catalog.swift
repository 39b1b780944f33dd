import CSQLCipher

/// The content of a database, read from SQLite's catalogue and from the text of its tables: tables, columns with the
/// types of the schema's CHECKs, keys and references.
///
/// The schema compiler reads it at build time, the command line at run time.
public struct Catalog: Sendable, Hashable {
  /// Tables, views and full-text tables, by name.
  public let tables: [Table]

  /// Returns the table with a name.
  public func table(_ name: String) -> Table? { tables.first { $0.name == name } }

  /// The type of a column's values. SQL has only five types. The others are read from the column's CHECKs, whose
  /// forms the page `Schema/README.md` lists.
  public enum ColumnType: Sendable, Hashable {
    case integer, real, text, blob, any
    /// `CHECK (c IN (0, 1))` on INTEGER.
    case bool
    /// `CHECK (c IN ('a', 'b'))` on TEXT, with the words in the order of the list.
    case enumeration([String])
    /// `CHECK (c IS strftime('%Y-%m-%dT%H:%M:%fZ', c))` on TEXT.
    case timestamp
    /// `CHECK (c IS date(c))` on TEXT.
    case day
    /// `CHECK (c GLOB '????????-????-????-????-????????????' AND ...)` on TEXT.
    case uuid
    /// `CHECK (json_valid(c))` on TEXT.
    case json
  }

  /// A column of a table or view.
  public struct Column: Sendable, Hashable {
    /// The name in the table's text.
    public let name: String
    /// The declared type; empty for an expression of a view.
    public let declaredType: String
    /// The type of its values.
    public let type: ColumnType
    /// Whether the column is never NULL.
    public let isNotNull: Bool
    /// The text of its DEFAULT.
    public let defaultSQL: String?
    /// The position in the primary key, from 1; 0 for other columns.
    public let primaryKeyPosition: Int
    /// The collation by which its values are compared, such as `BINARY`.
    public let collation: String
    /// Whether the column is an INTEGER PRIMARY KEY, whose values the database assigns.
    public let isRowID: Bool
    /// Whether the database computes the column.
    public let isGenerated: Bool
    /// The expressions of its CHECKs in the table's text.
    public let checks: [String]
    /// The comments above and after the column in the table's text.
    public let documentation: String?
  }

  /// A reference to another table.
  public struct ForeignKey: Sendable, Hashable {
    /// The action when the referenced row is deleted.
    public enum Action: String, Sendable {
      case noAction = "NO ACTION"
      case restrict = "RESTRICT"
      case setNull = "SET NULL"
      case setDefault = "SET DEFAULT"
      case cascade = "CASCADE"
    }

    /// A pair of columns.
    public struct Pair: Sendable, Hashable {
      /// The referencing column.
      public let from: String
      /// The referenced column. If the text names no column: the column of the primary key, or `rowid`.
      public let to: String
    }

    /// The referenced table.
    public let table: String
    /// The referencing columns, each with the referenced one: one pair, or several for a composite key.
    public let columns: [Pair]
    /// The action for the referencing rows when the referenced row is deleted.
    public let onDelete: Action
    /// The action for the referencing rows when the referenced columns change.
    public let onUpdate: Action
  }

  /// A UNIQUE constraint or unique index, with conditions and expressions, except the uniqueness of a rowid.
  public struct UniqueIndex: Sendable, Hashable {
    /// A column or expression of the index.
    public struct Term: Sendable, Hashable {
      /// SQL over the columns of the table.
      public let expression: String
      /// The column, if the expression is only its name.
      public let column: String?
      /// The columns that the expression uses, in the order of the table.
      public let columns: [String]
      /// The collation by which its values are compared.
      public let collation: String
    }

    /// The name of the index.
    public let name: String
    /// The columns and expressions that are unique together.
    public let terms: [Term]
    /// The condition for the indexed rows, as SQL; `nil` for all rows.
    public let condition: String?
    /// The columns that terms and condition name, in the order of the table.
    public let columns: [String]

    /// Whether a term is an expression.
    public var hasExpression: Bool { terms.contains { $0.column == nil } }
  }

  /// A table, a view or a full-text table.
  public struct Table: Sendable, Hashable {
    /// The kind of a table; `virtual` for a table of a module, such as FTS5.
    public enum Kind: Sendable, Hashable {
      case table, view, virtual
    }

    /// The name in the schema.
    public let name: String
    /// The kind: a table, a view or a virtual table.
    public let kind: Kind
    /// Whether the table is STRICT and refuses values of another type than the declared one.
    public let isStrict: Bool
    /// Whether the table is WITHOUT ROWID.
    public let isWithoutRowID: Bool
    /// Its columns in their order, without the hidden ones of a virtual table.
    public let columns: [Column]
    /// Its references to other tables, in the order of its text; empty for a view or virtual table.
    public let foreignKeys: [ForeignKey]
    /// The columns of each UNIQUE constraint and unique index without a condition, except the primary key.
    public let uniqueKeys: [[String]]
    /// Each UNIQUE constraint and unique index, including partial ones.
    public let uniqueIndexes: [UniqueIndex]
    /// The table whose content an FTS5 table indexes.
    public let contentTable: String?
    /// The column of the content table that is the rowid of an FTS5 table.
    public let contentRowID: String?
    /// The text of the CREATE statement.
    public let sql: String

    /// The columns of the primary key, in its order.
    public var primaryKey: [Column] {
      columns.filter { $0.primaryKeyPosition > 0 }.sorted { $0.primaryKeyPosition < $1.primaryKeyPosition }
    }

    /// Returns the column with a name.
    public func column(_ name: String) -> Column? { columns.first { $0.name == name } }
  }
}

extension Catalog {
  /// Reads the catalogue of a database. If this process has already read the catalogue of a database with the same
  /// tables, views and indexes, the call costs two queries.
  public static func read(from connection: Connection) throws -> Catalog {
    try connection.inSnapshot { try read(from: $0, digest: digest(in: $0)) }
  }

  /// Reads the catalogue of a database, in the transaction in which its digest was computed.
  package static func read(from connection: Connection, digest: SchemaDigest) throws -> Catalog {
    try connection.schemaCache.value(for: digest) {
      let reading = try CatalogReading(of: connection, following: connection.lastCatalog)
      connection.lastCatalog = reading
      return reading.catalog
    }
  }

  /// Returns a digest of the definitions that determine the catalogue. Their order counts, because SQLite lists the
  /// indexes of a table in the order of their creation. Temporary tables count, because they hide others of the same
  /// name.
  package static func digest(in connection: Connection) throws -> SchemaDigest {
    try connection.digest(of: [
      "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE type <> 'trigger' ORDER BY rowid",
      "SELECT type, name, tbl_name, sql FROM sqlite_temp_schema WHERE type <> 'trigger' ORDER BY rowid",
    ])
  }

  /// Reads the catalogue of a database without the cache.
  static func readWhole(from connection: Connection) throws -> Catalog {
    try CatalogReading(of: connection, following: nil).catalog
  }

  /// Reads the tables of a database, except those that `known` returns.
  fileprivate static func tables(of connection: Connection, _ known: (String) -> Table?) throws -> [Table] {
    let list = try connection.fetchRows(
      """
      SELECT list.name, list.type, list.wr, list.strict, master.sql
      FROM pragma_table_list AS list JOIN sqlite_schema AS master ON master.name = list.name
      WHERE list.schema = 'main' AND list.type IN ('table', 'view', 'virtual') AND list.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
        AND list.name <> 'SchemaMigration' AND master.type IN ('table', 'view')
      ORDER BY list.name
      """, as: String.self, String.self, Bool.self, Bool.self, String.self)
    return try list.map { name, kind, isWithoutRowID, isStrict, sql in
      try known(name) ?? table(name, kind, isWithoutRowID: isWithoutRowID, isStrict: isStrict, sql, connection)
    }
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
    // INTEGER PRIMARY KEY DESC is no rowid. It has an index.
    let hasKeyIndex =
      try isTable
      && connection.fetchOne("SELECT 1 FROM pragma_index_list(\(name)) WHERE origin = 'pk'", as: Int.self) != nil
    // Hidden columns: 1 belongs to a virtual table itself, 2 and 3 are generated.
    let columns = rows.filter { $0.5 != 1 }.map { column, type, notNull, standard, position, hidden in
      let part = text.columns[column.lowercased()]
      let checks = (part?.checks ?? []) + text.checks(about: column)
      let isRowID =
        isTable && !isWithoutRowID && !hasKeyIndex && keyCount == 1 && position == 1 && type.uppercased() == "INTEGER"
      return Column(
        name: column, declaredType: type, type: ColumnType(declared: type, checks: checks, column: column),
        isNotNull: notNull || isRowID || isWithoutRowID && position > 0, defaultSQL: standard,
        primaryKeyPosition: position, collation: connection.collation(of: column, in: name), isRowID: isRowID,
        isGenerated: hidden > 1, checks: checks, documentation: part?.documentation)
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

  /// Returns the column that a reference names. Without a name, returns the column at the same position of the primary
  /// key.
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
        let expression = column.map(SQL.quoted) ?? text?.terms[place] ?? "NULL"
        return UniqueIndex.Term(
          expression: expression, column: column, columns: self.columns(columns, namedIn: expression),
          collation: collation)
      }
      let named = (terms.map(\.expression) + [text?.condition ?? ""]).joined(separator: " ")
      return UniqueIndex(
        name: name, terms: terms, condition: text?.condition, columns: self.columns(columns, namedIn: named))
    }
  }

  /// Returns the columns that an SQL expression names.
  private static func columns(_ columns: [String], namedIn expression: String) -> [String] {
    let bytes = Array(expression.utf8)
    let tokens = SQLText.tokens(of: bytes).filter { $0.kind != .space && $0.kind != .comment }
    var named: Set<String> = []
    for (index, token) in tokens.enumerated() where token.kind == .word || token.kind == .quotedName {
      // A function may have the name of a column.
      let next = index + 1 < tokens.count ? bytes[tokens[index + 1].range.lowerBound] : 0
      if next != UInt8(ascii: "(") { named.insert(TableText.unquoted(bytes[token.range]).lowercased()) }
    }
    return columns.filter { named.contains($0.lowercased()) }
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

  /// Returns the table whose content a full-text table indexes, from the text of its CREATE statement; `nil` if it has
  /// its own content or no content.
  public static func contentTable(ofVirtualTable sql: String) -> String? {
    TableText(sql).option("content").flatMap { $0.isEmpty ? nil : $0 }
  }
}

extension Connection {
  /// Returns the collation of a column of a table; `BINARY` for a column of a view.
  fileprivate func collation(of column: String, in table: String) -> String {
    var collation: UnsafePointer<CChar>?
    let result = sqlite3_table_column_metadata(handle, "main", table, column, nil, &collation, nil, nil, nil)
    guard result == SQLITE_OK, let collation else { return "BINARY" }
    return String(cString: collation)
  }
}

/// A catalogue with the definitions that it was read from. The next reading of the same connection takes over the tables that
/// have not changed: a migration reads the catalogue after each file, and a file changes a few tables.
struct CatalogReading {
  let catalog: Catalog
  /// The texts of a table and of its indexes in the order of their creation, by the lower-case name of the table. Bytes,
  /// because two texts may be equal for Swift and differ for SQLite.
  private let definitions: [String: [[UInt8]]]
  /// Whether temporary tables may hide others.
  private let hasTemporary: Bool

  fileprivate init(of connection: Connection, following last: CatalogReading?) throws {
    let rows = try connection.fetchRows(
      "SELECT tbl_name, type, name, sql FROM sqlite_schema WHERE type <> 'trigger' ORDER BY rowid",
      as: String.self, String.self, String.self, String?.self)
    let definitions = Dictionary(grouping: rows) { $0.0.lowercased() }.mapValues { rows in
      rows.flatMap { [Array($0.1.utf8), Array($0.2.utf8), Array(($0.3 ?? "").utf8)] }
    }
    let temporary = try connection.fetchOne("SELECT EXISTS (SELECT 1 FROM sqlite_temp_schema)", as: Bool.self)
    (self.definitions, hasTemporary) = (definitions, temporary ?? true)
    guard let last, !hasTemporary, !last.hasTemporary else {
      catalog = Catalog(tables: try Catalog.tables(of: connection) { _ in nil })
      return
    }
    let known = Dictionary(uniqueKeysWithValues: last.catalog.tables.map { ($0.name, $0) })
    catalog = Catalog(
      tables: try Catalog.tables(of: connection) { name in
        // A view depends on other tables, and a reference on the names and the key of the referenced table.
        guard let table = known[name], table.kind == .table else { return nil }
        let names = [name] + table.foreignKeys.map(\.table)
        let isSame = names.allSatisfy { definitions[$0.lowercased()] == last.definitions[$0.lowercased()] }
        return isSame ? table : nil
      })
  }
}
