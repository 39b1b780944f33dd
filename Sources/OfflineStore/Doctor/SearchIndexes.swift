import CipherSQL

/// The full-text tables of a database, and whether they hold the words of their records.
enum SearchIndexes {
  /// Their names.
  static func all(in connection: Connection) throws -> [String] {
    try connection.fetch(
      """
      SELECT name FROM sqlite_schema
      WHERE type = 'table' AND rootpage = 0 AND sql LIKE 'CREATE VIRTUAL TABLE%' AND lower(sql) LIKE '%using fts5%'
      ORDER BY name
      """, as: String.self)
  }

  /// What is wrong with an index; nil when it is as it should be.
  /// - Throws: ``SQLError`` when the check could not run.
  static func problem(with index: String, in database: Database) throws -> String? {
    do {
      try database.write { connection in
        let name = SQL.quoted(index)
        // With rank 1 the words are compared with those of the content table
        // (https://sqlite.org/fts5.html#the_integrity_check_command).
        try connection.execute(SQL(raw: "INSERT INTO \(name) (\(name), rank) VALUES ('integrity-check', 1)"))
        throw NothingToCommit()
      }
      return nil
    } catch is NothingToCommit {
      return nil
    } catch let error as SQLError {
      // SQLITE_CORRUPT_VTAB; any other kind of damage is one of the pages.
      guard error.sqliteCode == 267 else { throw error }
      return "its words are not those of its records"
    }
  }

  /// Makes the index anew from its records. One that keeps no records cannot be, and stays as it is.
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
