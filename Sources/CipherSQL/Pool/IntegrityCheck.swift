import CSQLCipher

/// A check of a database on the disk.
public enum IntegrityCheck: Sendable, CaseIterable {
  /// Checks the authentication code of every page of the file. Finds each changed, swapped or zeroed page. Reads only
  /// the file, so the write-ahead log must be empty (``WriteConnection/checkpoint()``).
  case pages
  /// Checks that the pages form tables and indexes. Does not compare tables with indexes.
  case structure
  /// Checks the structure, and compares each index with its table. Takes several times as long.
  case indexes
  /// Checks that every reference leads to a row.
  case references
}

extension Connection {
  /// Runs a check.
  /// - Parameter limit: the greatest number of problems to return.
  /// - Returns: the problems in SQLite's words; empty if the check finds no problem.
  /// - Throws: ``SQLError`` if the check cannot run; `damaged` or `notADatabase` for damage.
  public final func problems(found check: IntegrityCheck, limit: Int = 100) throws -> [String] {
    switch check {
    case .pages: return try lines("PRAGMA cipher_integrity_check", limit)
    case .structure: return try lines("PRAGMA quick_check(\(limit))", limit)
    case .indexes: return try lines("PRAGMA integrity_check(\(limit))", limit)
    case .references:
      return try fetchRows(
        "SELECT \"table\", rowid, parent FROM pragma_foreign_key_check LIMIT \(limit)", as: String.self, Int64?.self,
        String.self
      ).map { table, row, parent in
        "\(table)\(row.map { ", row \($0)," } ?? "") refers to a row of \(parent) that does not exist"
      }
    }
  }

  /// Returns the first column of the lines that a check prints. `ok` means no problem.
  private func lines(_ pragma: String, _ limit: Int) throws -> [String] {
    try authorizer.asLibrary { try linesOfLibrary(pragma, limit) }
  }

  private func linesOfLibrary(_ pragma: String, _ limit: Int) throws -> [String] {
    var statement: OpaquePointer?
    let prepared = sqlite3_prepare_v2(handle, pragma, -1, &statement, nil)
    guard prepared == SQLITE_OK, let statement else { throw SQLError.last(handle, result: prepared, sql: pragma) }
    defer { sqlite3_finalize(statement) }
    var lines: [String] = []
    while true {
      switch sqlite3_step(statement) {
      case SQLITE_ROW:
        let line = sqlite3_column_text(statement, 0).map { String(cString: $0) } ?? ""
        if line != "ok", lines.count < limit { lines.append(line) }
      case SQLITE_DONE: return lines
      case let result: throw SQLError.last(handle, result: result, sql: pragma)
      }
    }
  }
}
