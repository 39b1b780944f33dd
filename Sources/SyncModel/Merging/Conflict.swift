/// A conflict between two versions: all three versions, and the open fields.
public struct Conflict: Equatable, Sendable {
  /// The kind of the conflict.
  public let kind: ConflictKind
  /// The fields to decide, ordered; may be empty when only the deletion is open.
  public let fields: [String]
  /// The common version of both sides; `nil` if the server never had the record.
  public let base: RecordState?
  /// The record as this device has it.
  public let local: RecordState
  /// The record as the server has it.
  public let remote: RecordState
  /// The merged record. Open fields have the local value.
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
