import ServerStorage
import SyncModel

extension ServerRecord {
  /// The record in the wire format.
  /// - Parameter sharedVersion: the version for a device of another epoch; `nil` for other devices.
  func remote(_ entities: [String: EntityDescription], sharedVersion: Int64? = nil) -> RemoteRecord {
    RemoteRecord(
      entityType: name.entityType, entityUuid: name.entityUuid, serverId: .integer(serverId), createdAt: createdAt,
      state: state, keepsUserEditedFields: entities[name.entityType]?.hasUserEdits == true,
      deletedWith: state.isDeleted ? deletedWith?.reference : nil, sharedVersion: sharedVersion)
  }
}

extension RecordName {
  /// The name in the wire format.
  var reference: RecordReference { RecordReference(entityType: entityType, entityUuid: entityUuid) }
}
