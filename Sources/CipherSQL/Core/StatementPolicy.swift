import CSQLCipher

/// Which actions a statement may take. Everything that is not listed is refused.
///
/// Holds for every statement of every connection: queries of the command line, schema files, named queries and the
/// Swift API. Reading and writing records and defining tables are allowed. Statements that reach outside of the
/// database, change its encryption, or change the settings and the transaction of a connection are not.
enum StatementPolicy {
  /// A refused action: its name and the way to reach the same goal.
  struct Refusal {
    let message: String
    let remedy: String
  }

  /// - Parameters:
  ///   - action: SQLite's code for the action.
  ///   - first: the name of the pragma, the file of ATTACH or the word of the transaction.
  ///   - second: the argument of the pragma or the name of the function.
  ///   - isInternal: whether the library itself runs the statement; it may use any pragma and end its transactions.
  static func refusal(
    of action: Int32, _ first: UnsafePointer<CChar>?, _ second: UnsafePointer<CChar>?, isInternal: Bool
  ) -> Refusal? {
    switch action {
    case SQLITE_READ, SQLITE_SELECT, SQLITE_RECURSIVE, SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE: nil
    case SQLITE_CREATE_TABLE, SQLITE_CREATE_INDEX, SQLITE_CREATE_TRIGGER, SQLITE_CREATE_VIEW, SQLITE_CREATE_VTABLE,
      SQLITE_CREATE_TEMP_TABLE, SQLITE_CREATE_TEMP_INDEX, SQLITE_CREATE_TEMP_TRIGGER, SQLITE_CREATE_TEMP_VIEW,
      SQLITE_DROP_TABLE, SQLITE_DROP_INDEX, SQLITE_DROP_TRIGGER, SQLITE_DROP_VIEW, SQLITE_DROP_VTABLE,
      SQLITE_DROP_TEMP_TABLE, SQLITE_DROP_TEMP_INDEX, SQLITE_DROP_TEMP_TRIGGER, SQLITE_DROP_TEMP_VIEW,
      SQLITE_ALTER_TABLE, SQLITE_ANALYZE, SQLITE_REINDEX:
      nil
    case SQLITE_FUNCTION: refusal(ofFunction: text(second))
    case SQLITE_PRAGMA: isInternal ? nil : refusal(ofPragma: text(first), argument: second.map(text))
    case SQLITE_TRANSACTION, SQLITE_SAVEPOINT:
      isInternal
        ? nil
        : Refusal(
          message: "\(action == SQLITE_SAVEPOINT ? "a savepoint" : text(first)) is not allowed in a statement",
          remedy: "each write is one transaction, which commits when it returns and is undone when it fails")
    case SQLITE_ATTACH: refusalOfAttaching
    case SQLITE_DETACH:
      Refusal(message: "DETACH is not allowed", remedy: "a connection has one database")
    default:
      Refusal(message: "this kind of statement is not allowed", remedy: "read and write records, or define tables")
    }
  }

  /// VACUUM attaches its target, so that SQLite asks about ATTACH for it too.
  private static let refusalOfAttaching = Refusal(
    message: "ATTACH and VACUUM are not allowed, because they write files beside the database",
    remedy: "a backup makes an encrypted copy; an export and an import carry records to another database")

  /// The error for VACUUM.
  static func vacuum(_ sql: String) -> SQLError {
    SQLError(.notAllowed, refusalOfAttaching.message, hint: refusalOfAttaching.remedy, sql: sql)
  }

  private static func refusal(ofFunction name: String) -> Refusal? {
    let message = "the function \(name) is not allowed"
    switch name.lowercased() {
    case "load_extension": return Refusal(message: message, remedy: "functions come with the program, not from files")
    case "fts3_tokenizer": return Refusal(message: message, remedy: "name the tokenizer in CREATE VIRTUAL TABLE")
    case "sqlcipher_export": return Refusal(message: message, remedy: "a backup makes an encrypted copy")
    default: return nil
    }
  }

  private static func refusal(ofPragma name: String, argument: String?) -> Refusal? {
    let pragma = name.lowercased()
    if describing.contains(pragma) { return nil }
    if settings.contains(pragma) {
      guard argument != nil else { return nil }
      return Refusal(
        message: "PRAGMA \(name) must not be given a value",
        remedy: "the library sets it; without a value the pragma returns the current one")
    }
    if pragma == "defer_foreign_keys" { return nil }
    let isOfKeys = pragma.hasSuffix("key") || pragma.hasPrefix("cipher") || pragma.hasPrefix("rekey")
    return Refusal(
      message: "PRAGMA \(name) is not allowed",
      remedy: isOfKeys
        ? "a key rotation changes the key; all other settings of the encryption are fixed"
        : "pragmas that describe the schema are allowed, such as table_info, index_list and foreign_key_list")
  }

  /// Pragmas that only describe the schema, the content or the library, whatever their argument.
  private static let describing: Set<String> = [
    "collation_list", "compile_options", "database_list", "foreign_key_check", "foreign_key_list", "function_list",
    "index_info", "index_list", "index_xinfo", "integrity_check", "module_list", "pragma_list", "quick_check",
    "table_info", "table_list", "table_xinfo",
  ]

  /// Pragmas that return a setting or a number when they have no argument. FTS5 and R-Tree need `data_version` and
  /// `page_size`.
  private static let settings: Set<String> = [
    "application_id", "auto_vacuum", "busy_timeout", "cache_size", "cipher_provider", "cipher_provider_version",
    "cipher_version", "data_version", "encoding", "foreign_keys", "freelist_count", "ignore_check_constraints",
    "journal_mode", "max_page_count", "page_count", "page_size", "query_only", "recursive_triggers", "schema_version",
    "secure_delete", "synchronous", "temp_store", "trusted_schema", "user_version",
  ]

  private static func text(_ pointer: UnsafePointer<CChar>?) -> String {
    pointer.map(text) ?? ""
  }

  private static func text(_ pointer: UnsafePointer<CChar>) -> String { String(cString: pointer) }
}
