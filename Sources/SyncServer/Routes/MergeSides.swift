import ServerStorage
import SyncModel

/// The two versions of a merge that the server does not store: the base of the device, and its local version.
///
/// The server keeps no old versions. It knows which fields have changed since the base; the others have their old
/// value. For changed fields that the device changed too, the operation has the old value.
struct MergeSides {
  /// The base; `nil` if it is unknown.
  let base: RecordState?
  /// The device's version, as far as the operation describes it.
  let local: RecordState

  /// - Parameter trustedBase: the version up to which the operation's base is known to be the server's; `nil` if only
  ///   the values that the device sent as base are known. A creation is based on version 0 and does not need it.
  init(_ operation: PushOperation, _ existing: ServerRecord, trustedBase: Int64?) {
    let known = operation.kind == .create ? 0 : trustedBase
    func hasChanged(_ field: String) -> Bool { known.map { existing.hasChanged(field, after: $0) } ?? true }
    var fields = SyncObject()
    for member in existing.state.fields.members {
      if !hasChanged(member.name) {
        fields[member.name] = member.value
      } else if let old = operation.base[member.name] {
        fields[member.name] = old
      }
    }
    let wasDeleted = Self.wasDeleted(
      operation, existing, hasChanged: hasChanged(RecordState.deletionField))
    let base = RecordState(
      fields: fields, isDeleted: wasDeleted, syncVersion: operation.baseVersion, updatedAt: existing.state.updatedAt)
    self.base = operation.kind == .create && fields.isEmpty ? nil : base
    local = RecordState(
      fields: fields.overlaid(with: operation.patch.fields), isDeleted: operation.patch.isDeleted ?? wasDeleted,
      syncVersion: operation.baseVersion, updatedAt: operation.patch.updatedAt, editTimes: operation.patch.editTimes,
      userEditedFields: operation.patch.userEditedFields ?? existing.state.userEditedFields)
  }

  /// Returns whether the record was deleted in the base. A device deletes an existing record and restores a deleted
  /// one. Otherwise the server's last change decides.
  private static func wasDeleted(
    _ operation: PushOperation, _ existing: ServerRecord, hasChanged: Bool
  ) -> Bool {
    if operation.kind == .create { return false }
    if let change = operation.patch.isDeleted { return !change }
    return hasChanged ? !existing.state.isDeleted : existing.state.isDeleted
  }
}
