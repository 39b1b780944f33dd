import CSQLCipher

/// The changes of the running transaction, from SQLite's update hook and from the accessed regions of its statements,
/// and the length of the write-ahead log after the last commit.
@usableFromInline
final class TransactionChanges {
  /// Whether changes are noted. False without observers, so that a changed row costs no time here.
  private(set) var isWatching = false
  private(set) var number: UInt64 = 0
  private(set) var logPages = 0
  private var changedRows: Set<String> = []
  private var updatedRows: Set<String> = []
  private var accessed = AccessedRegion()
  // The number of rows that the hook has reported, and the number of changed rows of the connection when the
  // transaction began.
  private var toldRows: Int64 = 0
  private var earlierChanges: Int64 = 0
  // SQLite hands the same pointer for the same table again and again.
  private var lastTable: UnsafePointer<CChar>?
  private var lastAction: Int32 = 0

  func watchLog(of database: OpaquePointer) {
    sqlite3_wal_hook(
      database,
      { context, _, _, pages in
        if let context { Unmanaged<TransactionChanges>.fromOpaque(context).takeUnretainedValue().logPages = Int(pages) }
        return SQLITE_OK
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  func forgetLog() { logPages = 0 }

  func begin(watching: Bool, on database: OpaquePointer) {
    number &+= 1
    changedRows.removeAll(keepingCapacity: true)
    updatedRows.removeAll(keepingCapacity: true)
    accessed = AccessedRegion()
    lastTable = nil
    toldRows = 0
    earlierChanges = sqlite3_total_changes64(database)
    guard watching != isWatching else { return }
    isWatching = watching
    if watching {
      sqlite3_update_hook(
        database,
        { context, action, _, table, _ in
          guard let context, let table else { return }
          Unmanaged<TransactionChanges>.fromOpaque(context).takeUnretainedValue().note(action, table)
        }, Unmanaged.passUnretained(self).toOpaque())
    } else {
      sqlite3_update_hook(database, nil, nil)
    }
  }

  private func note(_ action: Int32, _ table: UnsafePointer<CChar>) {
    toldRows += 1
    if table == lastTable, action == lastAction { return }
    (lastTable, lastAction) = (table, action)
    if action == SQLITE_UPDATE {
      updatedRows.insert(String(cString: table))
    } else {
      changedRows.insert(String(cString: table))
    }
  }

  /// Notes a statement that a watched transaction runs.
  func noteStatement(_ statement: Statement) {
    guard statement.notedInTransaction != number else { return }
    statement.notedInTransaction = number
    accessed.formUnion(statement.accessed)
  }

  /// Returns the changes of a committed transaction.
  func region(on database: OpaquePointer) -> ChangedRegion {
    var region = ChangedRegion()
    for table in changedRows { region.tables[table] = .rows }
    for table in updatedRows where region.tables[table] == nil {
      region.tables[table] = accessed.updates[table].map { .columns($0) } ?? .rows
    }
    // Virtual tables (full-text search) have no rows of their own that the hook would see.
    region.statementTables = accessed.rowChanges.union(accessed.updates.keys)
    // The hook does not report a DELETE of all rows of a table either, nor a table WITHOUT ROWID. SQLite counts these
    // rows. If the counts differ, each table that a statement writes counts as changed.
    if sqlite3_total_changes64(database) - earlierChanges != toldRows {
      for table in region.statementTables { region.tables[table] = .rows }
    }
    return region
  }
}

/// The changes of one committed transaction.
struct ChangedRegion: Sendable {
  enum Extent: Sendable, Equatable {
    /// Inserted or deleted rows, or unknown changes.
    case rows
    /// Changes of only these columns of existing rows.
    case columns(Set<String>)
  }

  var tables: [String: Extent] = [:]
  /// The tables that statements of the transaction write, even if they found no row.
  var statementTables: Set<String> = []
  /// Whether any table may have changed, because the transaction was not watched from its beginning.
  var isEverything = false

  var isEmpty: Bool { tables.isEmpty && !isEverything }

  /// Returns the changes, including changes beyond the columns and rows that the statements name.
  func widened(by facts: SchemaFacts) -> ChangedRegion {
    var region = self
    for (table, extent) in tables {
      if case .columns(let columns) = extent {
        region.tables[table] = facts.extent(ofUpdating: columns, in: table)
      }
    }
    return region
  }

  /// Returns whether a query with these reads may now have another result. `isVirtual` returns whether the update hook
  /// ignores a table.
  func touches(_ reads: [String: Set<String>], isVirtual: (String) -> Bool) -> Bool {
    if isEverything { return true }
    for (table, columns) in reads {
      switch tables[table] {
      case .rows: return true
      case .columns(let changed):
        // A query that reads a table but no column of it depends on which rows there are, not on their values.
        if !changed.isDisjoint(with: columns) { return true }
      case nil:
        if statementTables.contains(table), isVirtual(table) { return true }
      }
    }
    return false
  }
}

/// Facts about the tables of a database that decide which queries a change concerns.
struct SchemaFacts: Sendable {
  /// The columns of a table whose change can remove other rows of it, under `OR REPLACE` or `ON CONFLICT REPLACE`.
  /// SQLite reports such a removal to no hook.
  enum Replacing: Sendable, Equatable {
    case columns(Set<String>)
    /// Any column. An index over an expression or with a condition depends on columns that its list does not name.
    case any
  }

  var virtualTables: Set<String> = []
  /// The generated columns, by table. An UPDATE does not name them.
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
  /// Returns the facts of the current schema, which are read again only after a change of the schema; `nil` if they
  /// cannot be read.
  func schemaFacts() -> SchemaFacts? {
    do {
      return try ofSchema("facts") { try SchemaFacts.read(from: self) }
    } catch {
      // The commit has happened already, so nothing may fail here.
      return nil
    }
  }

  /// Returns a value that depends on the tables, views, indexes and triggers of the file alone, also those of other processes.
  /// It is read again only after one of them changed.
  /// - Parameter name: tells the value from others.
  package func ofSchema<Value: Sendable>(_ name: String, _ read: () throws -> Value) throws -> Value {
    let version = try pragmaText("PRAGMA schema_version")
    if schemaValues.version != version { schemaValues = (version, [:]) }
    if let known = schemaValues.values[name] as? Value { return known }
    let value = try read()
    schemaValues.values[name] = value
    return value
  }
}
