/// A value that the other side's value has overwritten.
public struct OverwrittenValue: Equatable, Sendable {
  /// A column, or ``RecordState/deletionField`` for a deletion that an edit undid.
  public let field: String
  /// The side whose value was overwritten.
  public let side: MergeSide
  /// The value that did not win.
  public let value: SyncValue

  /// Creates an overwritten value. A deletion is true or false under ``RecordState/deletionField``.
  public init(field: String, side: MergeSide, value: SyncValue) {
    self.field = field
    self.side = side
    self.value = value
  }

  /// Restores the overwritten value in a version.
  package func restore(in state: inout RecordState) {
    if field == RecordState.deletionField {
      state.isDeleted = value == .bool(true)
    } else {
      state.fields[field] = value
    }
  }
}

/// The result of a merge.
public struct MergeResult: Equatable, Sendable {
  /// The merged record on the remote version, with times of the server's clock. Fields in conflict have the local
  /// value, so that the user's input stays visible until the decision.
  public let merged: RecordState
  /// The conflict that the user has to resolve; `nil` if the merge is complete.
  public let conflict: Conflict?
  /// The kind of the dispute, decided or open, or `nil`.
  public let kind: ConflictKind?
  /// The values of users that the rules overwrote, ordered by field. If there are any, a resolved conflict is stored,
  /// so that they can be seen.
  public let lost: [OverwrittenValue]
  /// The computed columns whose inputs now come from both sides, ordered.
  public let fieldsToCompute: [String]
  /// The changes that the server lacks; empty during a conflict, because nothing is sent then.
  public let patchToPush: RecordPatch
  /// Whether the local record must be written. Its version is stored in any case.
  public let needsApply: Bool

  /// Whether changes must be pushed.
  public var needsPush: Bool { !patchToPush.isEmpty }
}
