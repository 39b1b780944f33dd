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

/// The entity and the local id of a record.
package struct LocalIdentity: Hashable, Sendable {
  package let type: String
  package let key: Int64

  package init(_ type: String, _ key: Int64) { (self.type, self.key) = (type, key) }
}

extension ParameterRows {
  /// Rows of local id and entity.
  package init(_ records: some Sequence<LocalIdentity>) {
    self.init(width: 2)
    for record in records { append([.integer(record.key), .text(record.type)]) }
  }

  /// The condition that a table has the row of a record in rows of local id and entity. The comparison with the number comes
  /// first, as in the indexes of the tables of sync.
  package static func isRecord(_ table: String, id: String = "entityId", type: String = "entityType") -> SQL {
    SQL(raw: "\(table).\(id) = row.column1 AND \(table).\(type) = row.column2")
  }
}

/// The bases of changed records: the table `SyncBase`.
package enum BaseTable {
  private static let columns = "fields, isDeleted, syncVersion, updatedAt, userEditedFields"

  package static func find(_ type: String, _ key: Int64, in connection: Connection) throws -> RecordState? {
    try connection.withStatement("SELECT \(columns) FROM SyncBase WHERE entityId = ? AND entityType = ?") { statement in
      try statement.bind(key, at: 1)
      try statement.bind(type, at: 2)
      return try statement.step() ? try state(statement.row, from: 0) : nil
    }
  }

  /// Returns the bases of those records that have one.
  package static func find(
    _ records: some Collection<LocalIdentity>, in connection: Connection
  ) throws -> [LocalIdentity: RecordState] {
    if records.isEmpty { return [:] }
    var found: [LocalIdentity: RecordState] = [:]
    let sql: SQL = """
      SELECT base.entityType, base.entityId, \(raw: columns) FROM \(ParameterRows(records).table) AS row
      CROSS JOIN SyncBase AS base ON \(ParameterRows.isRecord("base"))
      """
    try connection.forEach(sql) { row in
      found[LocalIdentity(try row.decode(at: 0), try row.decode(at: 1))] = try state(row, from: 2)
    }
    return found
  }

  private static func state(_ row: borrowing Row, from index: Int32) throws -> RecordState {
    let edited: String? = try row.decode(at: index + 4)
    return RecordState(
      fields: try SyncObject(parsing: try row.decode(String.self, at: index)),
      isDeleted: try row.decode(at: index + 1), syncVersion: try row.decode(at: index + 2),
      updatedAt: WireTime.milliseconds(try row.decode(String.self, at: index + 3)) ?? 0,
      userEditedFields: try edited.map(RecordTable.names) ?? [])
  }

  /// A base to store.
  package struct Change {
    let record: LocalIdentity
    let state: RecordState
    /// Whether the entity marks fields as edited by the user.
    let keepsUserEdits: Bool

    package init(_ record: LocalIdentity, _ state: RecordState, keepsUserEdits: Bool) {
      (self.record, self.state, self.keepsUserEdits) = (record, state, keepsUserEdits)
    }
  }

  package static func set(
    _ state: RecordState, _ type: String, _ key: Int64, keepsUserEdits: Bool, in connection: WriteConnection
  ) throws {
    try set([Change(LocalIdentity(type, key), state, keepsUserEdits: keepsUserEdits)], in: connection)
  }

  /// Stores bases, each in place of the former base of its record.
  package static func set(_ changes: [Change], in connection: WriteConnection) throws {
    if changes.isEmpty { return }
    var rows = ParameterRows(width: 7)
    for change in changes {
      let (record, state) = (change.record, change.state)
      let edited = change.keepsUserEdits ? RecordTable.json(names: state.userEditedFields) : nil
      rows.append([
        .text(record.type), .integer(record.key), .text(SyncValue.object(state.fields).json),
        .integer(state.isDeleted ? 1 : 0), .integer(state.syncVersion), .text(WireTime.text(state.updatedAt)),
        edited.sqlArgument,
      ])
    }
    try connection.execute(
      """
      INSERT INTO SyncBase (entityType, entityId, fields, isDeleted, syncVersion, updatedAt, userEditedFields)
      SELECT * FROM \(rows.table) WHERE column1 IS NOT NULL
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
    let record = [LocalIdentity(type, key)]
    try forget(bases: hasBase ? record : [], families: hasFamily ? record : [], in: connection)
  }

  /// Removes the bases of some records, and the rows about former parents and cascades of some, as
  /// ``forget(_:_:hasBase:hasFamily:in:)`` does.
  package static func forget(
    bases: [LocalIdentity], families: [LocalIdentity], in connection: WriteConnection
  ) throws {
    if !bases.isEmpty {
      try connection.execute("DELETE FROM SyncBase WHERE (entityId, entityType) IN \(ParameterRows(bases).table)")
    }
    if families.isEmpty { return }
    let records = ParameterRows(families).table
    try connection.execute("DELETE FROM SyncMoved WHERE (entityId, entityType) IN \(records)")
    try connection.execute("UPDATE SyncCascade SET isAnswered = 1 WHERE (rootId, rootType) IN \(records)")
    try connection.execute("DELETE FROM SyncCascade WHERE (entityId, entityType) IN \(records)")
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
