/// What could not be merged: all three versions, and what is open.
public struct Conflict: Equatable, Sendable {
  /// What the two sides did.
  public let kind: ConflictKind
  /// The fields to decide, ordered; may be empty when only the deletion is open.
  public let fields: [String]
  /// What both sides started from; nil when the server is not known to have had the record.
  public let base: RecordState?
  /// The record as this device has it.
  public let local: RecordState
  /// The record as the server has it.
  public let remote: RecordState
  /// Everything that is not open is settled here; what is open has the local value.
  public let merged: RecordState

  /// A conflict that the server found, not a merge: ``ConflictKind/notUnique`` with the columns that clash,
  /// ``ConflictKind/parentMissing`` with the references.
  public init(
    kind: ConflictKind, fields: [String], base: RecordState?, local: RecordState, remote: RecordState,
    merged: RecordState
  ) {
    self.kind = kind
    self.fields = fields
    self.base = base
    self.local = local
    self.remote = remote
    self.merged = merged
  }

  /// Whether it has to be decided if the record is deleted.
  public var isAboutDeletion: Bool { local.isDeleted != remote.isDeleted && kind != .concurrentEdit }
}
