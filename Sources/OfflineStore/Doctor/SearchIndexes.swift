import CipherSQL

/// The full-text tables of a database, and whether they hold the words of their records.
enum SearchIndexes {
  struct Index {
    let name: String
    /// True when its words are those of another table, from which it can be made anew.
    let hasContentTable: Bool
  }

  static func all(in connection: Connection) throws -> [Index] {
    try connection.fetchRows(
      """
      SELECT name, sql FROM sqlite_schema
      WHERE type = 'table' AND rootpage = 0 AND sql LIKE 'CREATE VIRTUAL TABLE%' AND lower(sql) LIKE '%using fts5%'
      ORDER BY name
      """, as: String.self, String.self
    ).map { name, sql in Index(name: name, hasContentTable: Catalog.contentTable(ofVirtualTable: sql) != nil) }
  }

  /// What is wrong with an index; nil when it is as it should be.
  /// - Throws: ``SQLError`` when the check could not run.
  static func problem(with index: Index, in database: Database) throws -> String? {
    do {
      try database.write { connection in
        let name = SQL.quoted(index.name)
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

  /// Makes the index anew from its records.
  static func rebuild(_ index: Index, on connection: WriteConnection) throws {
    let name = SQL.quoted(index.name)
    try connection.execute(SQL(raw: "INSERT INTO \(name) (\(name)) VALUES ('rebuild')"))
  }

  private struct NothingToCommit: Error {}
}
