import CSQLCipher

extension Statement {
  /// The table and column that a result column comes from; nil for an expression. Views are looked through.
  public func columnOrigin(at index: Int32) -> (table: String, column: String)? {
    guard let table = sqlite3_column_table_name(handle, index), let column = sqlite3_column_origin_name(handle, index)
    else { return nil }
    return (String(cString: table), String(cString: column))
  }

  /// The word of a statement that neither asks for records nor changes them, but the transaction, the file or the
  /// connection (BEGIN, ATTACH, VACUUM, a PRAGMA that sets something or concerns keys); nil for any other.
  public var administrativeWord: String? {
    let text = Array(sql.utf8)
    let words = SQLText.tokens(of: text).filter { $0.kind != .space && $0.kind != .comment }.map {
      String(decoding: text[$0.range], as: UTF8.self).uppercased()
    }
    guard let first = words.first else { return nil }
    if first == "PRAGMA" {
      let isAsking = !words.contains("=") && !words.contains { $0.contains("KEY") || $0.hasPrefix("CIPHER") }
      return isAsking ? nil : first
    }
    let administrative: Set<String> = [
      "BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "ATTACH", "DETACH", "VACUUM",
    ]
    return administrative.contains(first) ? first : nil
  }
}
