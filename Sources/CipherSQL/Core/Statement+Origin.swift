import CSQLCipher

extension Statement {
  /// The table and column that a result column comes from; nil for an expression. Views are looked through.
  public func columnOrigin(at index: Int32) -> (table: String, column: String)? {
    guard let table = sqlite3_column_table_name(handle, index), let column = sqlite3_column_origin_name(handle, index)
    else { return nil }
    return (String(cString: table), String(cString: column))
  }
}
