import CipherSQL
import SyncModel

extension SyncTransaction {
  /// Returns how many of these records a comparison would delete: those without unsent changes. A record with unsent
  /// changes becomes a conflict instead.
  package func deletable(_ type: String, _ uuids: [String]) throws -> Int {
    guard let table = catalog.tables[type]?.entity.table.name else { return 0 }
    let list = SyncValue.array(uuids.map { .text($0) }).json
    return try connection.fetchOne(
      """
      SELECT count(*) FROM \(identifier: table)
      WHERE uuid IN (SELECT value FROM json_each(\(list))) AND isDeleted = 0 AND isDirty = 0
      """, as: Int.self) ?? 0
  }

  /// Returns how many deletions of one comparison the user has accepted.
  package func acceptedDeletions() throws -> Int {
    try SyncSettings.value(.acceptedDeletions, in: connection).flatMap { Int($0) } ?? 0
  }
}

extension Vault {
  /// Accepts the deletions of the next comparison. If a comparison was held, at most as many as it named.
  package func acceptDeletions() throws {
    try database.write { connection in
      let held = try SyncSettings.value(.heldDeletions, in: connection)
      try SyncSettings.set(.acceptedDeletions, held ?? String(Int.max), in: connection)
    }
  }

  /// Withdraws ``acceptDeletions()`` if no comparison has used it.
  package func forgetAcceptedDeletions() throws {
    try database.write { try SyncSettings.set(.acceptedDeletions, nil, in: $0) }
  }
}
