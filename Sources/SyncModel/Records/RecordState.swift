/// The state of a record on one side: its synced columns and the common fields that a merge needs.
public struct RecordState: Equatable, Sendable {
  /// The columns by name. An absent column is unknown to this side, because the server is newer or older than the
  /// device. Null means that the column is null. The common fields below are not included.
  public var fields: SyncObject
  /// Whether the record is marked as deleted.
  public var isDeleted: Bool
  /// The server's version of the record that this state is based on; 0 before the first.
  public var syncVersion: Int64
  /// The time of the last edit, in milliseconds since 1970-01-01 UTC by the clock of the side that has the state.
  public var updatedAt: Int64
  /// The times of the last edits of single fields, if they differ from `updatedAt`. A deletion is under
  /// ``deletionField``.
  ///
  /// A side without these times omits them. Every field then counts as edited at `updatedAt`. Devices agree with the
  /// server either way. With them, the result under `last_write_wins` does not depend on the order of syncs.
  public var editTimes: [String: Int64]
  /// The fields that a user has edited, for columns whose owner is ``FieldOwnership/userEdited``. A mark is never
  /// removed, so a merge has the marks of both sides.
  public var userEditedFields: Set<String>

  /// The name of a record's deletion among field names.
  public static let deletionField = "isDeleted"

  /// Creates a state; `updatedAt` is in milliseconds since 1970-01-01 UTC.
  public init(
    fields: SyncObject, isDeleted: Bool = false, syncVersion: Int64 = 0, updatedAt: Int64,
    editTimes: [String: Int64] = [:], userEditedFields: Set<String> = []
  ) {
    self.fields = fields
    self.isDeleted = isDeleted
    self.syncVersion = syncVersion
    self.updatedAt = updatedAt
    self.editTimes = editTimes.filter { $0.value != updatedAt }
    self.userEditedFields = userEditedFields
  }

  /// Returns the time when a field, or ``deletionField``, was last changed; in milliseconds like `updatedAt`.
  public func editTime(of field: String) -> Int64 {
    editTimes[field] ?? updatedAt
  }

  /// Returns whether two states have equal content. Times and versions are not compared.
  public func hasContent(of other: RecordState) -> Bool {
    isDeleted == other.isDeleted && userEditedFields == other.userEditedFields && fields == other.fields
  }
}

/// A change of a record: the changed fields, as in an update of the wire format.
public struct RecordPatch: Equatable, Sendable {
  /// The changed fields with their new values; null sets a field to null.
  public var fields: SyncObject
  /// `true` deletes the record, `false` restores it, `nil` leaves it unchanged.
  public var isDeleted: Bool?
  /// The user-edited fields after the change; `nil` leaves them unchanged.
  public var userEditedFields: Set<String>?
  /// The time of the last edit, in milliseconds like ``RecordState/updatedAt``.
  public var updatedAt: Int64
  /// The times when single fields were changed, if they differ from `updatedAt`; see ``RecordState/editTimes``.
  public var editTimes: [String: Int64]

  /// Creates a patch of some fields. Other fields stay unchanged.
  public init(
    fields: SyncObject = [:], isDeleted: Bool? = nil, userEditedFields: Set<String>? = nil, updatedAt: Int64,
    editTimes: [String: Int64] = [:]
  ) {
    self.fields = fields
    self.isDeleted = isDeleted
    self.userEditedFields = userEditedFields
    self.updatedAt = updatedAt
    self.editTimes = editTimes.filter { $0.value != updatedAt }
  }

  /// Whether the patch changes nothing.
  public var isEmpty: Bool { fields.isEmpty && isDeleted == nil && userEditedFields == nil }

  /// The changed names: the fields, and ``RecordState/deletionField`` for a deletion or restoration.
  var names: [String] { fields.names + (isDeleted == nil ? [] : [RecordState.deletionField]) }

  func editTime(of field: String) -> Int64 {
    editTimes[field] ?? updatedAt
  }
}

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

  /// Returns this change and a later one as a single change.
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
  /// Returns this state after a change. The version stays, because only the server increments it.
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
  /// Returns the times of some fields and of the deletion.
  fileprivate func ofFields(_ fields: SyncObject) -> [String: Int64] {
    isEmpty ? self : filter { fields[$0.key] != nil || $0.key == RecordState.deletionField }
  }
}
