import CSQLCipher

extension Statement {
  /// The table and column that a result column comes from; nil for an expression. Views are looked through.
  public func columnOrigin(at index: Int32) -> (table: String, column: String)? {
    guard let table = sqlite3_column_table_name(handle, index), let column = sqlite3_column_origin_name(handle, index)
    else { return nil }
    return (String(cString: table), String(cString: column))
  }

  /// True for BEGIN, COMMIT, SAVEPOINT and their like, and for what reaches beyond the database (ATTACH, VACUUM).
  public var controlsTransaction: Bool {
    let text = Array(sql.utf8)
    guard let first = SQLText.tokens(of: text).first(where: { $0.kind != .space && $0.kind != .comment }) else {
      return false
    }
    return [
      "BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "ATTACH", "DETACH", "VACUUM",
    ].contains(String(decoding: text[first.range], as: UTF8.self).uppercased())
  }
}
