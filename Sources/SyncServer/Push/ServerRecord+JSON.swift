import ServerStorage
import SyncModel

extension ServerRecord {
  /// The record in the wire format.
  /// - Parameter sharedVersion: the version for a device of another epoch; `nil` for other devices.
  func json(_ entities: [String: EntityDescription], sharedVersion: Int64? = nil) -> SyncValue {
    var object: SyncObject = [
      "entityType": .text(name.entityType), "entityUuid": .text(name.entityUuid), "serverId": .integer(serverId),
      "version": .integer(version), "isDeleted": .bool(state.isDeleted), "createdAt": wireTime(createdAt),
      "updatedAt": wireTime(state.updatedAt), "fields": .object(state.fields),
    ]
    if state.isDeleted, let deletedWith { object["deletedWith"] = deletedWith.reference.wire }
    object["sharedVersion"] = sharedVersion.map { .integer($0) }
    if !state.editTimes.isEmpty {
      object["editTimes"] = wireTimes(state.editTimes)
    }
    if entities[name.entityType]?.hasUserEdits == true {
      object["userEditedFields"] = .array(state.userEditedFields.sorted().map { .text($0) })
    }
    return .object(object)
  }
}

extension RecordName {
  /// The name in the wire format.
  var reference: RecordReference { RecordReference(entityType: entityType, entityUuid: entityUuid) }
}

/// Times by name as the wire writes them.
func wireTimes(_ times: [String: Int64]) -> SyncValue {
  .object(SyncObject(times.map { ($0.key, wireTime($0.value)) }))
}

/// A time as the wire writes it.
func wireTime(_ milliseconds: Int64) -> SyncValue {
  .text(WireTime.text(milliseconds))
}
