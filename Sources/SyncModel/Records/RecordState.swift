/// What one side knows of a record: its synced columns and the common fields that a merge needs.
public struct RecordState: Equatable, Sendable {
  /// The columns by name. Absent means that this side says nothing about the column (a server that is newer or older
  /// than the device); null means that it is null. The common fields below do not stand here.
  public var fields: SyncObject
  /// True for a record that is marked as deleted.
  public var isDeleted: Bool
  /// The server's version of the record that this state is based on; 0 before the first.
  public var syncVersion: Int64
  /// When somebody last changed the record, in milliseconds since 1970-01-01 UTC by the clock of the side that holds it.
  public var updatedAt: Int64
  /// When single fields were last changed, where that is not `updatedAt`; a deletion stands under ``deletionField``.
  ///
  /// A side that does not keep these leaves them out: then every field counts as changed at `updatedAt`. Devices agree
  /// with the server either way; with them the outcome under `last_write_wins` does not depend on who came first.
  public var editTimes: [String: Int64]
  /// The fields that a person has edited, for columns whose owner is ``FieldOwnership/userEdited``. A field that is
  /// marked stays marked, so a merge has the marks of both sides.
  public var userEditedFields: Set<String>

  /// The name under which the deletion of a record stands where fields are named.
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

  /// Whether two states say the same, whenever it was said and on whatever version it is based.
  public func hasContent(of other: RecordState) -> Bool {
    isDeleted == other.isDeleted && userEditedFields == other.userEditedFields && fields == other.fields
  }
}
