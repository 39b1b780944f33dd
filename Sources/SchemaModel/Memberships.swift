import CipherSQL

/// The table `SyncedMembership`: the entities whose records make a user a member of a project.
enum Memberships {
  private static let query: SQL = "SELECT entityType, userColumn FROM SyncedMembership"

  /// Returns the queries of the rows that ``userColumns(in:)`` reads.
  static func queries(in connection: Connection) throws -> [SQL] { try hasTable(connection) ? [query] : [] }

  /// Returns the columns that reference the record of the user, by entity.
  static func userColumns(in connection: Connection) throws -> [String: String] {
    guard try hasTable(connection) else { return [:] }
    return Dictionary(try connection.fetchRows(query, as: String.self, String.self), uniquingKeysWith: { $1 })
  }

  private static func hasTable(_ connection: Connection) throws -> Bool {
    try connection.fetchOne(
      "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'SyncedMembership'", as: Int.self) != nil
  }
}
