import SyncModel

/// A row of an entity's table, with its shared values and what this device knows of its way to the server.
package struct StoredRecord: Sendable {
  /// The local row id.
  package let key: Int64
  package let uuid: String
  package let serverId: ServerId?
  package let createdAt: Int64
  package let isDirty: Bool
  /// pending, syncing, synced, conflict or failed.
  package let syncStatus: String
  /// The shared values; the edit times of single fields are not known from a row.
  package let state: RecordState
}

/// A record refers to records that are not here.
package struct MissingReferences: Error, Sendable {
  /// The columns that refer, each with the entity and the uuid that it refers to.
  package let references: [(column: String, entityType: String, uuid: String)]
}

/// The local ids of records that were looked up in a transaction, so that a page of children looks its parent up once.
package final class ReferenceCache {
  private var keys: [String: Int64] = [:]

  package init() {}

  /// What was found under a name; looks it up otherwise.
  func key(_ name: String, orFind find: () throws -> Int64?) rethrows -> Int64? {
    if let key = keys[name] { return key }
    guard let key = try find() else { return nil }
    // Bounded, so that a long transaction does not grow it without end.
    if keys.count >= 10_000 { keys.removeAll(keepingCapacity: true) }
    keys[name] = key
    return key
  }
}
