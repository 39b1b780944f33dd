/// Returns the fields of `new` that `old` lacks or has with another value, with their new values.
///
/// A field that `new` lacks has not changed.
public func changedFields(from old: SyncObject, to new: SyncObject) -> SyncObject {
  new.differing(from: old)
}

extension RecordPatch {
  /// Creates the patch between two states: `old.applying(patch)` has the content of `new`, except for fields that
  /// `new` lacks, which stay.
  public init(from old: RecordState, to new: RecordState) {
    let fields = changedFields(from: old.fields, to: new.fields)
    let isDeleted = old.isDeleted == new.isDeleted ? nil : new.isDeleted
    self.init(
      fields: fields, isDeleted: isDeleted,
      userEditedFields: old.userEditedFields == new.userEditedFields ? nil : new.userEditedFields,
      updatedAt: new.updatedAt, editTimes: new.editTimes.ofFields(fields))
  }

  /// This change and a later one as a single change.
  public func followed(by later: RecordPatch) -> RecordPatch {
    var times: [String: Int64] = [:]
    for name in names { times[name] = editTime(of: name) }
    for name in later.names { times[name] = later.editTime(of: name) }
    return RecordPatch(
      fields: fields.overlaid(with: later.fields), isDeleted: later.isDeleted ?? isDeleted,
      userEditedFields: later.userEditedFields ?? userEditedFields, updatedAt: max(updatedAt, later.updatedAt),
      editTimes: times)
  }

  /// Returns this patch without the changes that a state already has.
  public func reduced(against state: RecordState) -> RecordPatch {
    let fields = changedFields(from: state.fields, to: fields)
    return RecordPatch(
      fields: fields, isDeleted: isDeleted == state.isDeleted ? nil : isDeleted,
      userEditedFields: userEditedFields == state.userEditedFields ? nil : userEditedFields, updatedAt: updatedAt,
      editTimes: editTimes.ofFields(fields))
  }
}

extension RecordState {
  /// This state after a change. The version stays: it is the server's to count.
  public func applying(_ patch: RecordPatch) -> RecordState {
    RecordState(
      fields: fields.overlaid(with: patch.fields), isDeleted: patch.isDeleted ?? isDeleted, syncVersion: syncVersion,
      updatedAt: max(updatedAt, patch.updatedAt), editTimes: editTimes(after: patch),
      userEditedFields: patch.userEditedFields ?? userEditedFields)
  }

  private func editTimes(after patch: RecordPatch) -> [String: Int64] {
    if updatedAt == patch.updatedAt, editTimes.isEmpty, patch.editTimes.isEmpty { return [:] }
    var times: [String: Int64] = [:]
    for name in fields.names + [Self.deletionField] { times[name] = editTime(of: name) }
    for name in patch.names { times[name] = patch.editTime(of: name) }
    return times
  }
}

extension [String: Int64] {
  /// The times of some fields and of the deletion.
  fileprivate func ofFields(_ fields: SyncObject) -> [String: Int64] {
    isEmpty ? self : filter { fields[$0.key] != nil || $0.key == RecordState.deletionField }
  }
}
