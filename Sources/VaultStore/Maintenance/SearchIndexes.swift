import CipherSQL

/// The full-text tables of a database, and the check that each one matches its records.
enum SearchIndexes {
  /// Returns the names of the FTS5 tables.
  static func all(in connection: Connection) throws -> [String] {
    try connection.fetch(
      """
      SELECT name FROM sqlite_schema
      WHERE type = 'table' AND rootpage = 0 AND sql LIKE 'CREATE VIRTUAL TABLE%' AND lower(sql) LIKE '%using fts5%'
      ORDER BY name
      """, as: String.self)
  }

  /// Returns the problem of an index, or `nil` if it matches its records.
  /// - Throws: ``SQLError`` when the check cannot run.
  static func problem(with index: String, in database: Database) throws -> String? {
    do {
      try database.write { connection in
        let name = SQL.quoted(index)
        // Rank 1 compares the index with its content table
        // (https://sqlite.org/fts5.html#the_integrity_check_command).
        try connection.execute(SQL(raw: "INSERT INTO \(name) (\(name), rank) VALUES ('integrity-check', 1)"))
        throw NothingToCommit()
      }
      return nil
    } catch is NothingToCommit {
      return nil
    } catch let error as SQLError {
      // SQLITE_CORRUPT_VTAB. Any other error concerns the pages.
      guard error.sqliteCode == 267 else { throw error }
      return "its words differ from those of its records"
    }
  }

  /// Rebuilds an index from its records. A contentless index cannot be rebuilt and stays unchanged.
  static func rebuild(_ index: String, on connection: WriteConnection) throws {
    let name = SQL.quoted(index)
    do {
      try connection.savepoint {
        _ = try connection.execute(SQL(raw: "INSERT INTO \(name) (\(name)) VALUES ('rebuild')"))
      }
    } catch let error as SQLError {
      guard error.code == .invalidSQL else { throw error }
    }
  }

  private struct NothingToCommit: Error {}
}
