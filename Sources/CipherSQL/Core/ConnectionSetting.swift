/// A setting of a connection that the library changes for some tasks. Statements of callers cannot change it
/// (`statement_policy.h`).
package enum ConnectionSetting {
  /// Whether references are enforced.
  case foreignKeys(Bool)
  /// Whether rows that break a CHECK are accepted.
  case ignoresChecks(Bool)
  /// The largest size of the database, in pages.
  case maximumPages(Int)
  /// The number in the file's header that belongs to the application.
  case userVersion(Int32)

  var pragma: String {
    switch self {
    case .foreignKeys(let isOn): "PRAGMA foreign_keys = \(isOn ? "ON" : "OFF")"
    case .ignoresChecks(let isOn): "PRAGMA ignore_check_constraints = \(isOn ? "ON" : "OFF")"
    case .maximumPages(let pages): "PRAGMA max_page_count = \(pages)"
    case .userVersion(let number): "PRAGMA user_version = \(number)"
    }
  }
}

extension Connection {
  /// Changes a setting of this connection.
  package final func set(_ setting: ConnectionSetting) throws(SQLError) { try pragma(setting.pragma) }
}
