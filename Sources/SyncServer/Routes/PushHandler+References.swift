import ServerStorage
import SyncModel

extension PushHandler {
  /// Returns the conflict of an operation that references a missing or deleted record.
  func conflict(
    ofReferences operation: PushOperation, _ entity: EntityDescription, _ existing: ServerRecord?
  ) throws -> PushOutcome? {
    var missing: [String] = []
    var deleted: [String] = []
    // A stored reference is no change. The referenced record may have been deleted since.
    let changed = operation.patch.fields.filter { existing?.state.fields[$0.name] != $0.value }
    for (column, target) in targets(of: changed, entity) {
      switch try storage.isDeleted(target) {
      case nil: missing.append(column)
      case true?: deleted.append(column)
      case false?: break
      }
    }
    if !missing.isEmpty { return .conflict(.parentMissing, fields: missing, existing) }
    if !deleted.isEmpty { return .conflict(.deletedRemotely, fields: deleted, existing) }
    return nil
  }

  /// Returns the conflict of restoring a record whose parent is deleted.
  func conflict(
    ofBringingBack state: RecordState, _ entity: EntityDescription, _ existing: ServerRecord
  ) throws -> PushOutcome? {
    guard existing.state.isDeleted, !state.isDeleted else { return nil }
    // In a cycle a parent was deleted along with the record, and returns with it.
    if try storage.canReturn(existing.name) { return nil }
    let deleted = try targets(of: state.fields, entity).filter { column, target in
      try entity.references[column]?.cascades == true && storage.isDeleted(target) == true
    }
    return deleted.isEmpty ? nil : .conflict(.deletedRemotely, fields: deleted.map(\.column), existing)
  }

  private func targets(of fields: SyncObject, _ entity: EntityDescription) -> [(column: String, target: RecordName)] {
    fields.members.compactMap { member in
      guard let reference = entity.references[member.name], case .text(let uuid) = member.value else { return nil }
      return (member.name, RecordName(reference.entityType, uuid))
    }
  }
}
