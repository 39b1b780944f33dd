import CSQLCipher

/// The changes of the running transaction, from SQLite's update hook and from the accessed regions of its statements,
/// and the length of the write-ahead log after the last commit.
@usableFromInline
final class TransactionChanges {
  /// Off without observers, so that a changed row costs nothing here.
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

  /// Called for each statement that a watched transaction runs.
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
    /// Rows were inserted or deleted, or nothing more precise is known.
    case rows
    /// Only these columns of existing rows.
    case columns(Set<String>)
  }

  var tables: [String: Extent] = [:]
  /// Tables that a statement of the transaction writes, whether or not it found a row.
  var statementTables: Set<String> = []
  /// Set when the transaction was not watched from its beginning.
  var isEverything = false

  var isEmpty: Bool { tables.isEmpty && !isEverything }

  /// Returns the changes together with those that statements made beyond the columns and rows that they name.
  func widened(by facts: SchemaFacts) -> ChangedRegion {
    var region = self
    for (table, extent) in tables {
      if case .columns(let columns) = extent {
        region.tables[table] = facts.extent(ofUpdating: columns, in: table)
      }
    }
    return region
  }

  /// True when a query with these reads may give another result now. `isVirtual` tells tables for which the
  /// update hook is silent.
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
