import CSQLCipher

/// A check of a database on the disk.
public enum IntegrityCheck: Sendable, CaseIterable {
  /// Every page of the file has the authentication code that belongs to it: finds each changed, swapped or zeroed
  /// page. Looks at the file alone, so the write-ahead log has to be empty (``WriteConnection/checkpoint()``).
  case pages
  /// The pages form tables and indexes, without comparing the two with each other.
  case structure
  /// The same check, and a comparison of each index with its table. Takes several times as long.
  case indexes
  /// Every reference leads to a record.
  case references
}

extension Connection {
  /// Runs a check.
  /// - Parameter limit: the most problems to return.
  /// - Returns: the problems in SQLite's words; empty if the check finds no problem.
  /// - Throws: ``SQLError`` if the check itself cannot run, for damage with `damaged` or `notADatabase`.
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

  /// The first column of the lines that a check prints. `ok` means no problem.
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
