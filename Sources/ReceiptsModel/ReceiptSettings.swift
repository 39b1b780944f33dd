import CipherSQL
import VaultStore

/// The user's preferences on this device, such as `language`: texts by name, encrypted with the vault and never sent.
///
/// They are rows of the vault's table `Setting` whose names begin with `receipts.`, so that they do not collide with
/// the vault's settings. The mode of the vault is `Vault.Preference.mode`, and the state of sync is its cursor.
/// Neither is repeated here.
public enum ReceiptSettings {
  private static let prefix = "receipts."

  /// Returns the value of a setting; `nil` if it is not set.
  public static func value(_ name: String, in connection: Connection) throws -> String? {
    try connection.fetchOne("SELECT value FROM Setting WHERE name = \(prefix + name)", as: Optional<String>.self) ?? nil
  }

  /// Sets or removes a setting.
  public static func set(_ name: String, _ value: String?, in connection: WriteConnection) throws {
    guard let value else {
      try connection.execute("DELETE FROM Setting WHERE name = \(prefix + name)")
      return
    }
    try connection.execute(
      """
      INSERT INTO Setting (name, value) VALUES (\(prefix + name), \(value))
      ON CONFLICT (name) DO UPDATE SET value = excluded.value
      """)
  }

  /// All settings by name.
  public static func all(in connection: Connection) throws -> [String: String] {
    let rows = try connection.fetchRows(
      "SELECT name, value FROM Setting WHERE name GLOB \(prefix + "*") AND value IS NOT NULL",
      as: String.self, String.self)
    return Dictionary(uniqueKeysWithValues: rows.map { (String($0.0.dropFirst(prefix.count)), $0.1) })
  }
}
