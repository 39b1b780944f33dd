/// A change of a record: the fields that differ, as an update carries them on the wire.
public struct RecordPatch: Equatable, Sendable {
  /// The changed fields with their new values; null sets a field to null.
  public var fields: SyncObject
  /// True deletes the record, false brings it back, nil leaves it as it is.
  public var isDeleted: Bool?
  /// The edited fields after the change; nil leaves them as they are.
  public var userEditedFields: Set<String>?
  /// When the last part of the change was made; milliseconds as ``RecordState/updatedAt``.
  public var updatedAt: Int64
  /// When single fields were changed, where that is not `updatedAt`; as ``RecordState/editTimes``.
  public var editTimes: [String: Int64]

  /// A change of some fields; what is left out stays as it is.
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

  /// Whether nothing changes.
  public var isEmpty: Bool { fields.isEmpty && isDeleted == nil && userEditedFields == nil }

  /// What this patch names: its fields, and ``RecordState/deletionField`` when it deletes or brings back.
  var names: [String] { fields.names + (isDeleted == nil ? [] : [RecordState.deletionField]) }

  func editTime(of field: String) -> Int64 {
    editTimes[field] ?? updatedAt
  }
}
