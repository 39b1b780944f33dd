import CipherSQL
import OfflineStore

/// The user's preferences on this device, such as `language`: texts by name, encrypted with everything else and never sent.
///
/// They are rows of the store's own table `Setting`, under names that begin with `receipts.`, so that none is taken for one of
/// the vault's. Where receipts are stored is the vault's `Vault.Preference.mode`, and how far they are synced is its
/// cursor; neither is kept here again.
public enum ReceiptSettings {
  private static let prefix = "receipts."

  /// The value of a setting; nil where none is set.
  public static func value(_ name: String, in connection: Connection) throws -> String? {
    try connection.fetchOne("SELECT value FROM Setting WHERE name = \(prefix + name)", as: Optional<String>.self) ?? nil
  }

  /// Sets a setting, or forgets it.
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
