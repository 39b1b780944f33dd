import CipherSQL
import SyncModel

extension SyncTransaction {
  /// Returns the number of these records that a comparison would delete: records without unsent changes. A record with
  /// unsent changes becomes a conflict instead.
  package func deletable(_ type: String, _ uuids: [String]) throws -> Int {
    guard let table = catalog.tables[type]?.entity.table.name else { return 0 }
    let list = SyncValue.array(uuids.map { .text($0) }).json
    return try connection.fetchOne(
      """
      SELECT count(*) FROM \(identifier: table)
      WHERE uuid IN (SELECT value FROM json_each(\(list))) AND isDeleted = 0 AND isDirty = 0
      """, as: Int.self) ?? 0
  }

  /// Returns the number of deletions of one comparison that the user has accepted.
  package func acceptedDeletions() throws -> Int {
    try SyncSettings.value(.acceptedDeletions, in: connection).flatMap { Int($0) } ?? 0
  }
}
