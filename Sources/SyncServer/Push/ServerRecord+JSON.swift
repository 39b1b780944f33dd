import SyncModel

extension ServerRecord {
  /// The record as it stands on the wire.
  func json(_ entities: [String: EntityDescription]) -> SyncValue {
    var object: SyncObject = [
      "entityType": .text(name.entityType), "entityUuid": .text(name.entityUuid), "serverId": .integer(serverId),
      "version": .integer(version), "isDeleted": .bool(state.isDeleted), "createdAt": wireTime(createdAt),
      "updatedAt": wireTime(state.updatedAt), "fields": .object(state.fields),
    ]
    if !state.editTimes.isEmpty {
      object["editTimes"] = .object(SyncObject(state.editTimes.map { ($0.key, wireTime($0.value)) }))
    }
    if entities[name.entityType]?.hasUserEdits == true {
      object["userEditedFields"] = .array(state.userEditedFields.sorted().map { .text($0) })
    }
    return .object(object)
  }
}

/// A time as the wire writes it.
func wireTime(_ milliseconds: Int64) -> SyncValue {
  .text(WireTime.text(milliseconds))
}
