import CipherSQL
import SyncModel

extension SyncTransaction {
  /// How many of these records a comparison would delete: those without unsent changes. A record with unsent changes is
  /// kept as a conflict.
  package func deletable(_ type: String, _ uuids: [String]) throws -> Int {
    guard let table = catalog.tables[type]?.entity.table.name else { return 0 }
    let list = SyncValue.array(uuids.map { .text($0) }).json
    return try connection.fetchOne(
      """
      SELECT count(*) FROM \(identifier: table)
      WHERE uuid IN (SELECT value FROM json_each(\(list))) AND isDeleted = 0 AND isDirty = 0
      """, as: Int.self) ?? 0
  }

  /// How many deletions of one comparison a user has accepted.
  package func acceptedDeletions() throws -> Int {
    try SyncSettings.value(.acceptedDeletions, in: connection).flatMap { Int($0) } ?? 0
  }
}

extension Vault {
  /// Accepts what the next comparison would delete. When a comparison was held, no more deletions than it named.
  package func acceptDeletions() throws {
    try database.write { connection in
      let held = try SyncSettings.value(.heldDeletions, in: connection)
      try SyncSettings.set(.acceptedDeletions, held ?? String(Int.max), in: connection)
    }
  }

  /// Takes back ``acceptDeletions()`` where no comparison has used it.
  package func forgetAcceptedDeletions() throws {
    try database.write { try SyncSettings.set(.acceptedDeletions, nil, in: $0) }
  }
}
