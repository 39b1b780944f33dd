/// A change of a record: the fields that differ, as an update carries them on the wire.
public struct RecordPatch: Equatable, Sendable {
  /// The changed fields with their new values; null sets a field to null.
  public var fields: SyncObject
  /// `true` deletes the record, `false` restores it, `nil` leaves it unchanged.
  public var isDeleted: Bool?
  /// The user-edited fields after the change; `nil` leaves them unchanged.
  public var userEditedFields: Set<String>?
  /// The time of the last edit, in milliseconds as ``RecordState/updatedAt``.
  public var updatedAt: Int64
  /// When single fields were changed, where that is not `updatedAt`; as ``RecordState/editTimes``.
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

  /// Whether nothing changes.
  public var isEmpty: Bool { fields.isEmpty && isDeleted == nil && userEditedFields == nil }

  /// The changed names: the fields, and ``RecordState/deletionField`` for a deletion or restoration.
  var names: [String] { fields.names + (isDeleted == nil ? [] : [RecordState.deletionField]) }

  func editTime(of field: String) -> Int64 {
    editTimes[field] ?? updatedAt
  }
}
