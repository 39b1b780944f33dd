import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// The rows of the conflict table.
struct ConflictStore: SyncComponent {
  let sync: SyncTransaction

  /// Opens a conflict of a record, or updates its open one, and stops the record's operation.
  /// - Parameters:
  ///   - other: the record that holds the UNIQUE value, for a conflict `not_unique`.
  ///   - createdAt: the time of creation at the server, which the row has from now on; `nil` if the server named none.
  ///   - serverId: the id of the server's record, which the row has from now on; `nil` if the server named none.
  func open(
    _ kind: ConflictKind, _ fields: [String], base: RecordState?, remote: RecordState?,
    other: RecordReference? = nil, createdAt: Int64? = nil, serverId: ServerId? = nil, _ record: StoredRecord,
    _ table: RecordTable
  ) throws {
    let type = table.entity.type
    let names = SyncValue.array(fields.map { .text($0) }).json
    let open = try connection.fetchOne(
      """
      SELECT conflictId FROM OfflineConflictResolution
      WHERE entityId = \(record.key) AND entityType = \(type) AND resolvedAt IS NULL
      """, as: String.self)
    if let open {
      try connection.execute(
        """
        UPDATE OfflineConflictResolution SET base = \(base.map(RecordVersion.json).sqlArgument), conflictType = \(kind.rawValue),
          localVersion = \(RecordVersion.json(record.state)), remoteVersion = \(remote.map(RecordVersion.json).sqlArgument),
          fields = \(names), otherType = \((other?.entityType).sqlArgument), otherUuid = \((other?.entityUuid).sqlArgument)
        WHERE conflictId = \(open)
        """)
    } else {
      try connection.execute(
        """
        INSERT INTO OfflineConflictResolution
          (entityType, entityId, entityUuid, base, localVersion, remoteVersion, conflictType, fields, otherType, otherUuid)
        VALUES (\(type), \(record.key), \(record.uuid), \(base.map(RecordVersion.json).sqlArgument),
          \(RecordVersion.json(record.state)), \(remote.map(RecordVersion.json).sqlArgument), \(kind.rawValue), \(names),
          \((other?.entityType).sqlArgument), \((other?.entityUuid).sqlArgument))
        """)
    }
    try stop(record, createdAt: createdAt, serverId: serverId, table)
  }

  /// Stops the operation of a record until its conflict is resolved. Edits until then become part of the local version.
  private func stop(
    _ record: StoredRecord, createdAt: Int64?, serverId: ServerId?, _ table: RecordTable
  ) throws {
    let kind: OperationKind =
      record.state.isDeleted ? .delete : record.state.syncVersion == 0 ? .create : .update
    try outbox.stop(kind, record, table)
    try connection.execute(
      """
      UPDATE \(identifier: table.entity.table.name) SET isDirty = 1, syncStatus = 'conflict',
        createdAt = coalesce(\(createdAt.map(RecordTable.time) ?? .null), createdAt),
        serverId = coalesce(\(serverId?.sqlArgument ?? .null), serverId)
      WHERE \(identifier: table.entity.key) = \(record.key)
      """)
  }

  /// Replaces the remote version of a record's open conflict, if it has one.
  /// - Parameter keepsBase: whether the base is a version that the server still has.
  func replaceRemote(
    ofConflictOf record: StoredRecord, by remote: RecordState, keepsBase: Bool, _ table: RecordTable
  ) throws {
    try connection.execute(
      """
      UPDATE OfflineConflictResolution
      SET remoteVersion = \(RecordVersion.json(remote)), base = CASE WHEN \(keepsBase) THEN base END
      WHERE entityId = \(record.key) AND entityType = \(table.entity.type) AND resolvedAt IS NULL
      """)
  }

  /// Closes the open conflict of a record, if it has one.
  ///
  /// The row keeps the current local version with the edits since the conflict was found. No other table keeps the
  /// discarded values.
  /// - Parameters:
  ///   - record: the record before the resolution changes it.
  ///   - user: the user that decided; `nil` for a discarded operation, `policy` for an automatic resolution.
  func close(
    of record: StoredRecord, _ table: RecordTable, resolution: String, by user: String?, note: String?,
    choices: SyncObject? = nil
  ) throws {
    try connection.execute(
      """
      UPDATE OfflineConflictResolution SET resolvedAt = \(WireTime.text(now)), resolution = \(resolution),
        resolvedBy = \(user.sqlArgument), notes = \(note.sqlArgument),
        choices = \(choices.map { SyncValue.object($0).json }.sqlArgument), localVersion = \(RecordVersion.json(record.state))
      WHERE entityId = \(record.key) AND entityType = \(table.entity.type) AND resolvedAt IS NULL
      """)
  }

  /// Stores values of a user that a policy overwrote, as a resolved conflict.
  func noteOverwritten(
    _ lost: [OverwrittenValue], base: RecordState?, local: RecordState, remote: RecordState,
    kind: ConflictKind = .concurrentEdit,
    _ record: StoredRecord, _ table: RecordTable, resolution: String?
  ) throws {
    guard !lost.isEmpty else { return }
    let sides = Set(lost.map(\.side))
    let outcome = resolution ?? (sides == [.local] ? "remote_wins" : sides == [.remote] ? "local_wins" : "merge")
    let policy = table.rules.policy.rawValue
    try connection.execute(
      """
      INSERT INTO OfflineConflictResolution (entityType, entityId, entityUuid, base, localVersion, remoteVersion,
        conflictType, fields, resolvedAt, resolution, resolvedBy, notes)
      VALUES (\(table.entity.type), \(record.key), \(record.uuid), \(base.map(RecordVersion.json).sqlArgument),
        \(RecordVersion.json(local)), \(RecordVersion.json(remote)), \(kind.rawValue),
        \(SyncValue.array(lost.map { .text($0.field) }).json), \(WireTime.text(now)), \(outcome), 'policy',
        \("settled by the policy \(policy)"))
      """)
  }
}

/// A row of the conflict table that is not resolved.
package struct OpenConflict: Sendable {
  package let id: String
  package let entityType: String
  package let entityId: Int64
  package let entityUuid: String
  package let kind: ConflictKind
  package let fields: [String]
  package let base: RecordState?
  package let remote: RecordState?

  /// Returns the open conflict of a record; `nil` if it has no open conflict.
  package static func find(of record: StoredRecord, _ type: String, in connection: Connection) throws -> OpenConflict? {
    try connection.fetchOne(
      """
      SELECT conflictId FROM OfflineConflictResolution
      WHERE entityId = \(record.key) AND entityType = \(type) AND resolvedAt IS NULL
      """, as: String.self
    ).map { try find($0, in: connection) }
  }

  /// - Throws: ``VaultError`` with `noSuchRecord`.
  package static func find(_ id: String, in connection: Connection) throws -> OpenConflict {
    var found: OpenConflict?
    let query: SQL = """
      SELECT conflictId, entityType, entityId, entityUuid, conflictType, fields, base, remoteVersion
      FROM OfflineConflictResolution WHERE conflictId = \(id) AND resolvedAt IS NULL
      """
    try connection.forEach(query) { row in
      let base: String? = try row.decode(at: 6)
      let remote: String? = try row.decode(at: 7)
      var fields: [String] = []
      if case .array(let names) = try SyncValue(parsing: try row.decode(String.self, at: 5)) {
        for case .text(let name) in names { fields.append(name) }
      }
      found = OpenConflict(
        id: try row.decode(at: 0), entityType: try row.decode(at: 1), entityId: try row.decode(at: 2),
        entityUuid: try row.decode(at: 3), kind: ConflictKind(rawValue: try row.decode(at: 4)) ?? .concurrentEdit,
        fields: fields, base: try base.map(RecordVersion.state), remote: try remote.map(RecordVersion.state))
    }
    guard let found else {
      throw VaultError(
        .noSuchRecord, "no open conflict \(id)", remedy: .showConflicts)
    }
    return found
  }
}

/// A version of a record as one flat JSON object in the conflict table: the fields, `isDeleted`, `syncVersion`,
/// `updatedAt`, and `editTimes` and `userEditedFields` if they are not empty.
package enum RecordVersion {
  private static let common: Set<String> = ["isDeleted", "syncVersion", "updatedAt", "editTimes", "userEditedFields"]

  package static func json(_ state: RecordState) -> String {
    var object = state.fields
    object["isDeleted"] = .bool(state.isDeleted)
    object["syncVersion"] = .integer(state.syncVersion)
    object["updatedAt"] = .text(WireTime.text(state.updatedAt))
    if !state.editTimes.isEmpty {
      object["editTimes"] = .object(SyncObject(state.editTimes.map { ($0.key, .text(WireTime.text($0.value))) }))
    }
    if !state.userEditedFields.isEmpty {
      object["userEditedFields"] = .array(state.userEditedFields.sorted().map { .text($0) })
    }
    return SyncValue.object(object).json
  }

  package static func state(_ json: String) throws(SyncModelError) -> RecordState {
    let object = try SyncObject(parsing: json)
    var times: [String: Int64] = [:]
    if case .object(let edits)? = object["editTimes"] {
      for member in edits.members { times[member.name] = time(member.value) }
    }
    var edited: Set<String> = []
    if case .array(let names)? = object["userEditedFields"] {
      for case .text(let name) in names { edited.insert(name) }
    }
    var version: Int64 = 0
    if case .integer(let number)? = object["syncVersion"] { version = number }
    return RecordState(
      fields: object.filter { !common.contains($0.name) }, isDeleted: object["isDeleted"] == true,
      syncVersion: version, updatedAt: object["updatedAt"].flatMap(time) ?? 0, editTimes: times,
      userEditedFields: edited)
  }

  private static func time(_ value: SyncValue) -> Int64? {
    guard case .text(let text) = value else { return nil }
    return WireTime.milliseconds(text)
  }
}
