/// A conflict between two versions: all three versions, and the open fields.
public struct Conflict: Equatable, Sendable {
  /// The kind of the conflict.
  public let kind: ConflictKind
  /// The fields to decide, ordered; may be empty when only the deletion is open.
  public let fields: [String]
  /// The common version of both sides; `nil` if the server never had the record.
  public let base: RecordState?
  /// The record on this device.
  public let local: RecordState
  /// The record on the server.
  public let remote: RecordState
  /// The merged record. Open fields have the local value.
  public let merged: RecordState

  /// Creates a conflict that the server found, not a merge: ``ConflictKind/notUnique`` with the conflicting columns,
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

  /// Whether the user has to decide about the deletion of the record.
  public var isAboutDeletion: Bool { local.isDeleted != remote.isDeleted && kind != .concurrentEdit }
}
