import CipherSQL

/// The rows of the table `Setting`. Each module that keeps settings has its own names.
package enum SettingRow {
  /// Returns the value of a setting; `nil` if there is no row, or its value is NULL.
  package static func value(_ name: String, in connection: Connection) throws -> String? {
    try connection.withStatement("SELECT value FROM Setting WHERE name = ?") { statement in
      try statement.bind(name, at: 1)
      return try statement.step() ? try statement.row.decode(Optional<String>.self, at: 0) : nil
    }
  }

  /// Stores the value of a setting.
  /// - Parameter value: `nil` removes the row.
  package static func set(_ name: String, _ value: String?, in connection: WriteConnection) throws {
    guard let value else {
      try connection.execute("DELETE FROM Setting WHERE name = \(name)")
      return
    }
    try connection.execute(
      """
      INSERT INTO Setting (name, value) VALUES (\(name), \(value))
      ON CONFLICT (name) DO UPDATE SET value = excluded.value
      """)
  }
}
