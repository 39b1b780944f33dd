/// A record of the server.
public struct RemoteRecord: Equatable, Sendable {
  /// The entity, such as `Room`.
  public var entityType: String
  /// The lowercase UUID of the record.
  public var entityUuid: String
  /// The server's own id of the record, unique per entity; `nil` if the server assigns no id.
  public var serverId: ServerId?
  /// The creation time of the record, in milliseconds since 1970-01-01 UTC.
  public var createdAt: Int64
  /// The content, the version and the times by the server's clock.
  public var state: RecordState
  /// Whether the entity has user-edited fields. In this case an empty list is written too.
  public var keepsUserEditedFields: Bool
  /// The record whose deletion cascaded to this one; `nil` for a record that a user deleted, or that is not deleted.
  public var deletedWith: RecordReference?
  /// The highest version that the device's epoch shares with the server's; `nil` if it is unknown.
  public var sharedVersion: Int64?

  /// Creates a record; `createdAt` is in milliseconds since 1970-01-01 UTC.
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
  /// Returns whether a schema can have an entity with this name: 1 to 200 bytes without control characters, and not
  /// only spaces.
  package static func isEntityType(_ name: String) -> Bool {
    (1...200).contains(name.utf8.count) && name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
      && name.utf8.contains { $0 != 0x20 }
  }
}

/// A page of `GET /v1/changes`.
public struct ChangesPage: Equatable, Sendable {
  /// The greatest number of records of a page.
  public static let greatestLimit = 1000
  /// The default number of records of a page.
  public static let usualLimit = 500
  /// The greatest number of projects in a request.
  public static let greatestProjectCount = 500

  /// The server's clock, in milliseconds since 1970-01-01 UTC.
  public var serverTime: Int64
  /// The epoch of the records and of the cursor.
  public var epoch: String
  /// The records in the order in which the server stored them.
  public var changes: [RemoteRecord]
  /// The position at which the next page begins.
  public var cursor: String
  /// Whether there are more changes now.
  public var hasMore: Bool
  /// The number of changes after this page; `nil` if the server does not know it.
  public var remaining: Int64?
  /// The projects that are no longer in the scope of the user: their clean records leave the device.
  public var removedProjects: [String]
  /// The lists of these changes, if the remote has lists. Not part of the wire format.
  public var fetched: [FetchedList] = []
  /// Records that these lists lack, with their dependents. Not part of the wire format.
  public var gone: [RemoteDeletions] = []

  /// Creates a page; `serverTime` is in milliseconds since 1970-01-01 UTC.
  public init(
    serverTime: Int64, epoch: String, changes: [RemoteRecord], cursor: String, hasMore: Bool, remaining: Int64?,
    removedProjects: [String] = []
  ) {
    self.serverTime = serverTime
    self.epoch = epoch
    self.removedProjects = removedProjects
    self.changes = changes
    self.cursor = cursor
    self.hasMore = hasMore
    self.remaining = remaining
  }
}

extension ChangesPage: WireMessage {
  /// Reads a page. An error names the record by its place, such as `changes[3].version`.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(
      serverTime: try reader.time("serverTime"), epoch: try reader.text("epoch"),
      changes: try reader.messages("changes"), cursor: try reader.text("cursor"), hasMore: try reader.bool("hasMore"),
      remaining: try reader.optional("remaining", reader.natural),
      removedProjects: try reader.optional("removedProjects", reader.names) ?? [])
  }

  /// The page in the wire format.
  public var wire: SyncValue {
    .object(
      SyncObject(present: [
        "changes": .array(changes.map(\.wire)), "cursor": .text(cursor), "epoch": .text(epoch),
        "hasMore": .bool(hasMore), "remaining": remaining.map(SyncValue.integer),
        "removedProjects": removedProjects.isEmpty ? nil : .names(Set(removedProjects)),
        "serverTime": .time(serverTime),
      ]))
  }
}

/// The fetch of a list of records, for the age of the records.
public struct FetchedList: Equatable, Sendable {
  /// The entity.
  public var entityType: String
  /// Whether the list was fetched completely.
  public var isWhole: Bool
  /// The part that could not be read, for the user, or `nil`.
  public var problem: String?

  /// Creates a list.
  public init(entityType: String, isWhole: Bool, problem: String? = nil) {
    (self.entityType, self.isWhole, self.problem) = (entityType, isWhole, problem)
  }
}

/// Records that the server no longer has, discovered during another request.
public struct RemoteDeletions: Equatable, Sendable {
  /// The record that was deleted there; `nil` if its deletion was handled already.
  public var root: RemoteRecord?
  /// The dependents that were deleted with the root.
  public var followers: [RemoteRecord]

  /// Creates deletions from records that are marked as deleted.
  public init(root: RemoteRecord?, followers: [RemoteRecord]) { (self.root, self.followers) = (root, followers) }
}

/// The name of a record on the wire.
public struct RecordReference: Hashable, Sendable {
  /// The entity type, such as `Room`.
  public var entityType: String
  /// The lowercase UUID of the record.
  public var entityUuid: String

  /// Creates the name of a record.
  public init(entityType: String, entityUuid: String) {
    (self.entityType, self.entityUuid) = (entityType, entityUuid)
  }
}

extension RecordReference: WireMessage {
  /// Reads a name.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(entityType: try reader.text("entityType"), entityUuid: try reader.text("entityUuid"))
  }

  /// The name as JSON.
  public var wire: SyncValue { ["entityType": .text(entityType), "entityUuid": .text(entityUuid)] }
}

/// The stored times of a record, in milliseconds since 1970-01-01 UTC.
public struct RecordTimes: Equatable, Sendable {
  /// The time at which a user created the record.
  public var createdAt: Int64
  /// The time at which a user last changed the record.
  public var updatedAt: Int64
  /// The times of the fields that were changed at another time than `updatedAt`.
  public var editTimes: [String: Int64]

  /// Creates the times of a record.
  public init(createdAt: Int64, updatedAt: Int64, editTimes: [String: Int64] = [:]) {
    (self.createdAt, self.updatedAt, self.editTimes) = (createdAt, updatedAt, editTimes)
  }
}
