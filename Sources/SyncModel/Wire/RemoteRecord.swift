/// A record as the server has it.
public struct RemoteRecord: Equatable, Sendable {
  /// The entity, such as `Room`.
  public var entityType: String
  /// The record's uuid, in lower case.
  public var entityUuid: String
  /// The server's own id of the record, unique per entity; `nil` if the server assigns no id.
  public var serverId: ServerId?
  /// When the record was made, in milliseconds since 1970-01-01 UTC.
  public var createdAt: Int64
  /// Its content, its version and its times by the server's clock.
  public var state: RecordState
  /// Whether the entity has user-edited fields. In this case an empty list is written too.
  public var keepsUserEditedFields: Bool
  /// The record whose deletion cascaded to this one; `nil` for a record that was deleted itself, or is not deleted.
  public var deletedWith: RecordReference?
  /// The highest version that the history of the device's epoch has in common with the server's; nil when unknown.
  public var sharedVersion: Int64?

  /// A record; `createdAt` is in milliseconds since 1970-01-01 UTC.
  public init(
    entityType: String, entityUuid: String, serverId: ServerId?, createdAt: Int64, state: RecordState,
    keepsUserEditedFields: Bool = false, deletedWith: RecordReference? = nil, sharedVersion: Int64? = nil
  ) {
    self.deletedWith = deletedWith
    self.sharedVersion = sharedVersion
    self.entityType = entityType
    self.entityUuid = entityUuid
    self.serverId = serverId
    self.createdAt = createdAt
    self.state = state
    self.keepsUserEditedFields = keepsUserEditedFields || !state.userEditedFields.isEmpty
  }
}

extension RemoteRecord: WireMessage {
  /// Reads a record.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    let edited = try reader.optional("userEditedFields", reader.names)
    self.init(
      entityType: try reader.text("entityType"), entityUuid: try reader.text("entityUuid"),
      serverId: try reader.optional("serverId", reader.serverId), createdAt: try reader.time("createdAt"),
      state: RecordState(
        fields: try reader.object("fields"), isDeleted: try reader.bool("isDeleted"),
        syncVersion: try reader.natural("version"), updatedAt: try reader.time("updatedAt"),
        editTimes: try reader.editTimes(), userEditedFields: Set(edited ?? [])),
      keepsUserEditedFields: edited != nil,
      deletedWith: try reader.optional("deletedWith") { name throws(SyncModelError) in try reader.message(name) },
      sharedVersion: try reader.optional("sharedVersion", reader.natural))
  }

  /// The record in the wire format.
  public var wire: SyncValue {
    .object(
      SyncObject(present: [
        "createdAt": .time(createdAt), "deletedWith": deletedWith?.wire, "editTimes": .editTimes(state.editTimes),
        "entityType": .text(entityType),
        "entityUuid": .text(entityUuid), "fields": .object(state.fields), "isDeleted": .bool(state.isDeleted),
        "serverId": serverId?.value, "sharedVersion": sharedVersion.map(SyncValue.integer),
        "updatedAt": .time(state.updatedAt),
        "userEditedFields": keepsUserEditedFields ? .names(state.userEditedFields) : nil,
        "version": .integer(state.syncVersion),
      ]))
  }
}

extension RemoteRecord {
  /// Whether a schema can have an entity with this name: 1 to 200 bytes without control characters, and not only spaces.
  package static func isEntityType(_ name: String) -> Bool {
    (1...200).contains(name.utf8.count) && name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
      && name.utf8.contains { $0 != 0x20 }
  }
}
