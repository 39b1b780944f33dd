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
  /// The shared values; the edit times of single fields are not known from a row. A value that cannot be sent is absent.
  package let state: RecordState

  /// The server's time of creation; nil when the row has it already.
  func corrected(createdAt: Int64?) -> Int64? { createdAt == self.createdAt ? nil : createdAt }
  /// The first value of the row that cannot be sent; nil as a rule.
  package var unsendable: UnsendableField?
}

/// A value of a record that cannot be sent. Its operation fails alone, and a version from the server waits until the value is
/// changed.
package struct UnsendableField: Error, Sendable, Hashable {
  /// The column.
  package let field: String
  /// Why, such as "is infinite".
  package let reason: String

  /// The field and the reason.
  package var message: String { "\(field) \(reason)" }
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
