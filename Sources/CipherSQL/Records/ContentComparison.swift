import CSQLCipher

extension Connection {
  /// Compares the content of two databases: the definitions, the versions in the header, and every row of every table
  /// with its rowid, value by value, in constant memory.
  /// - Parameter progress: called at intervals with the number of compared rows. It may throw to end the comparison.
  /// - Returns: the first difference as text, without any value, or `nil`.
  /// - Throws: ``SQLError`` if a database cannot be read.
  public final func firstDifference(
    from other: Connection, progress: (_ rows: Int) throws -> Void = { _ in }
  ) throws -> String? {
    try firstDifference(from: other, isCompacted: false, progress)
  }

  /// - Parameter isCompacted: whether the other database may have other page numbers.
  final func firstDifference(
    from other: Connection, isCompacted: Bool, _ progress: (_ rows: Int) throws -> Void
  ) throws -> String? {
    for setting in ["user_version", "application_id", "encoding"] {
      if try pragmaText("PRAGMA \(setting)") != other.pragmaText("PRAGMA \(setting)") {
        return "the \(setting) differs"
      }
    }
    var rows = 0
    // VACUUM also writes tables before indexes, and views and triggers last.
    let (page, order) = isCompacted ? ("rootpage > 0", " ORDER BY type, name") : ("rootpage", "")
    let definitions = "SELECT type, name, tbl_name, \(page), sql FROM sqlite_schema\(order)"
    if try differs(definitions, other, &rows, progress) != nil { return "the definitions of the tables differ" }
    for table in try storedTables() {
      let columns = table.hasRowID ? "rowid, *" : "*"
      let query = "SELECT \(columns) FROM \(SQL.quoted(table.name))"
      if let row = try differs(query, other, &rows, progress) {
        return "row \(row) of \(table.name) differs, counted from 1 in the order of the table"
      }
    }
    return nil
  }

  /// Returns the tables with pages, including tables of full-text search and of SQLite.
  private func storedTables() throws -> [(name: String, hasRowID: Bool)] {
    try fetchRows(
      """
      SELECT list.name, list.wr = 0 FROM pragma_table_list AS list JOIN sqlite_schema USING (name)
      WHERE list.schema = 'main' AND rootpage > 0 ORDER BY list.name
      """, as: String.self, Bool.self
    ).map { (name: $0, hasRowID: $1) }
  }

  /// Returns the number of the first row that differs.
  private func differs(
    _ query: String, _ other: Connection, _ rows: inout Int, _ progress: (Int) throws -> Void
  ) throws -> Int? {
    var mine: OpaquePointer?
    var theirs: OpaquePointer?
    defer {
      sqlite3_finalize(mine)
      sqlite3_finalize(theirs)
    }
    let prepared = sqlite3_prepare_v2(handle, query, -1, &mine, nil)
    guard prepared == SQLITE_OK else { throw SQLError.last(handle, result: prepared, sql: query) }
    let preparedThere = sqlite3_prepare_v2(other.handle, query, -1, &theirs, nil)
    guard preparedThere == SQLITE_OK else { throw SQLError.last(other.handle, result: preparedThere, sql: query) }
    let columns = sqlite3_column_count(mine)
    var number = 0
    while true {
      let (here, there) = (sqlite3_step(mine), sqlite3_step(theirs))
      guard here == SQLITE_ROW || here == SQLITE_DONE else { throw SQLError.last(handle, result: here, sql: query) }
      guard there == SQLITE_ROW || there == SQLITE_DONE else {
        throw SQLError.last(other.handle, result: there, sql: query)
      }
      number += 1
      rows += 1
      if here != there { return number }
      if here == SQLITE_DONE { return nil }
      for column in 0..<columns where csqlcipher_same_value(mine, theirs, column) == 0 { return number }
      if rows & 0xfff == 0 { try progress(rows) }
    }
  }
}
