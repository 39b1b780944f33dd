import CipherSQL
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

/// The bases of changed records: the table `SyncBase`.
package enum BaseTable {
  package static func find(_ type: String, _ key: Int64, in connection: Connection) throws -> RecordState? {
    try connection.withStatement(
      """
      SELECT fields, isDeleted, syncVersion, updatedAt, userEditedFields FROM SyncBase
      WHERE entityId = ? AND entityType = ?
      """
    ) { statement in
      try statement.bind(key, at: 1)
      try statement.bind(type, at: 2)
      guard try statement.step() else { return nil }
      let row = statement.row
      let edited: String? = try row.decode(at: 4)
      return RecordState(
        fields: try SyncObject(parsing: try row.decode(String.self, at: 0)),
        isDeleted: try row.decode(at: 1),
        syncVersion: try row.decode(at: 2), updatedAt: WireTime.milliseconds(try row.decode(String.self, at: 3)) ?? 0,
        userEditedFields: try edited.map(RecordTable.names) ?? [])
    }
  }

  package static func set(
    _ state: RecordState, _ type: String, _ key: Int64, keepsUserEdits: Bool, in connection: WriteConnection
  ) throws {
    try connection.execute(
      """
      INSERT INTO SyncBase (entityType, entityId, fields, isDeleted, syncVersion, updatedAt, userEditedFields)
      VALUES (\(type), \(key), \(SyncValue.object(state.fields).json), \(state.isDeleted), \(state.syncVersion),
        \(WireTime.text(state.updatedAt)), \((keepsUserEdits ? RecordTable.json(names: state.userEditedFields) : nil).sqlArgument))
      ON CONFLICT (entityId, entityType) DO UPDATE SET fields = excluded.fields, isDeleted = excluded.isDeleted,
        syncVersion = excluded.syncVersion, updatedAt = excluded.updatedAt, userEditedFields = excluded.userEditedFields
      """)
  }

  /// Removes the base of a record and the rows about its former parents and its cascade. The server decides about
  /// cascaded records from now on. If the record was cascaded itself, the server has learned that from its operation.
  /// - Parameters:
  ///   - hasBase: whether there may be a base.
  ///   - hasFamily: whether there may be rows about former parents or a cascade.
  package static func forget(
    _ type: String, _ key: Int64, hasBase: Bool = true, hasFamily: Bool = true, in connection: WriteConnection
  ) throws {
    func run(_ statement: Statement) throws {
      try statement.bind(key, at: 1)
      try statement.bind(type, at: 2)
      try statement.run()
    }
    if hasBase {
      try connection.withStatement("DELETE FROM SyncBase WHERE entityId = ? AND entityType = ?", run)
    }
    guard hasFamily else { return }
    try connection.withStatement("DELETE FROM SyncMoved WHERE entityId = ? AND entityType = ?", run)
    try connection.withStatement("UPDATE SyncCascade SET isAnswered = 1 WHERE rootId = ? AND rootType = ?", run)
    try connection.withStatement("DELETE FROM SyncCascade WHERE entityId = ? AND entityType = ?", run)
  }
}

extension RecordState {
  /// The base of a record that the server does not have and whose deletion it remembers. For restored records.
  package static func tombstone(at time: Int64) -> RecordState {
    RecordState(fields: [:], isDeleted: true, updatedAt: time)
  }

  /// Whether this is such a base. No other base is deleted at version 0.
  package var isOfTombstone: Bool { isDeleted && syncVersion == 0 }
}

extension RecordTable {
  /// Returns the base of a record after a merge with the server's version: the server's values, and the values of the
  /// old base in columns that the server does not send. Fields without a column stay in `SyncExtraFields`, so that a
  /// migration that adds their columns can merge them with local edits.
  package func base(from remote: RecordState, over old: RecordState?) -> RecordState {
    var base = remote
    base.fields = (old?.fields ?? [:]).overlaid(with: remote.fields).filter { places[$0.name] != nil }
    return base
  }
}
