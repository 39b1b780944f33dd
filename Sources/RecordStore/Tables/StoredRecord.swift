import SyncModel

/// A row of an entity's table: its shared values and its common fields.
package struct StoredRecord: Sendable {
  /// The local row id.
  package let key: Int64
  package let uuid: String
  package let serverId: ServerId?
  package let createdAt: Int64
  package let isDirty: Bool
  /// `pending`, `syncing`, `synced`, `conflict` or `failed`.
  package let syncStatus: String
  /// The shared values. A row does not have the edit times of single fields. A value that cannot be sent is absent.
  package let state: RecordState

  /// The server's time of creation; `nil` if the row has it already.
  package func corrected(createdAt: Int64?) -> Int64? { createdAt == self.createdAt ? nil : createdAt }
  /// The first value of the row that cannot be sent; usually `nil`.
  package var unsendable: UnsendableField?
}

/// A value of a record that cannot be sent. Its operation fails alone, and a version from the server waits until the
/// value is changed.
package struct UnsendableField: Error, Sendable, Hashable {
  /// The column.
  package let field: String
  /// The reason, such as "is infinite".
  package let reason: String

  package init(field: String, reason: String) { (self.field, self.reason) = (field, reason) }

  /// The field and the reason.
  package var message: String { "\(field) \(reason)" }
}

/// The error for a record that references missing records.
package struct MissingReferences: Error, Sendable {
  /// The columns of the missing references, each with entity and UUID.
  package let references: [(column: String, entityType: String, uuid: String)]
}

/// The local ids of records that a transaction has looked up, so that the dependents of a page look up their parent
/// once.
package final class ReferenceCache {
  private var keys: [String: Int64] = [:]

  package init() {}

  /// Returns the local id of a record, and looks it up only once.
  package func key(_ name: String, orFind find: () throws -> Int64?) rethrows -> Int64? {
    if let key = keys[name] { return key }
    guard let key = try find() else { return nil }
    // The cache is limited, so that a long transaction does not use more and more memory.
    if keys.count >= 10_000 { keys.removeAll(keepingCapacity: true) }
    keys[name] = key
    return key
  }
}
