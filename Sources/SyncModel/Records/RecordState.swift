/// The state of a record on one side: its synced columns and the common fields that a merge needs.
public struct RecordState: Equatable, Sendable {
  /// The columns by name. An absent column is unknown to this side, because the server is newer or older than the
  /// device. Null means that the column is null. The common fields below are not included.
  public var fields: SyncObject
  /// True for a record that is marked as deleted.
  public var isDeleted: Bool
  /// The server's version of the record that this state is based on; 0 before the first.
  public var syncVersion: Int64
  /// The time of the last edit, in milliseconds since 1970-01-01 UTC by the clock of the side that has the state.
  public var updatedAt: Int64
  /// The times of the last edits of single fields, if they differ from `updatedAt`. A deletion is under
  /// ``deletionField``.
  ///
  /// A side without these times leaves them out. Then every field counts as edited at `updatedAt`. Devices agree with
  /// the server either way. With them, the result under `last_write_wins` does not depend on the order of syncs.
  public var editTimes: [String: Int64]
  /// The fields that a user has edited, for columns whose owner is ``FieldOwnership/userEdited``. A mark is never
  /// removed, so a merge has the marks of both sides.
  public var userEditedFields: Set<String>

  /// The name of a record's deletion among field names.
  public static let deletionField = "isDeleted"

  /// A state; `updatedAt` is in milliseconds since 1970-01-01 UTC.
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

  /// When a field, or ``deletionField``, was last changed; milliseconds as `updatedAt`.
  public func editTime(of field: String) -> Int64 {
    editTimes[field] ?? updatedAt
  }

  /// Returns whether two states have equal content. Times and versions are not compared.
  public func hasContent(of other: RecordState) -> Bool {
    isDeleted == other.isDeleted && userEditedFields == other.userEditedFields && fields == other.fields
  }
}
