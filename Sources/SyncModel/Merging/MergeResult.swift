/// A value that gave way to another side's.
public struct OverwrittenValue: Equatable, Sendable {
  /// A column, or ``RecordState/deletionField`` for a deletion that an edit undid.
  public let field: String
  /// Whose value it was.
  public let side: MergeSide
  /// The value that did not win.
  public let value: SyncValue

  /// A value that gave way; a deletion stands as true or false under ``RecordState/deletionField``.
  public init(field: String, side: MergeSide, value: SyncValue) {
    self.field = field
    self.side = side
    self.value = value
  }

  /// Puts the lost value back into a version.
  package func restore(in state: inout RecordState) {
    if field == RecordState.deletionField {
      state.isDeleted = value == .bool(true)
    } else {
      state.fields[field] = value
    }
  }
}

/// What comes of a merge.
public struct MergeResult: Equatable, Sendable {
  /// The merged record, its times by the server's clock, on the remote version. Fields in conflict have the local
  /// value: what a person entered stays visible until it is decided.
  public let merged: RecordState
  /// What a person has to decide; nil when everything is settled.
  public let conflict: Conflict?
  /// The kind of dispute that the rules settled or that is in conflict; nil when there was none.
  public let kind: ConflictKind?
  /// Values that a person entered and that the rules let lose, ordered by field. Not empty: a resolved conflict is to be
  /// written, so that what lost can still be seen.
  public let lost: [OverwrittenValue]
  /// Computed columns whose inputs now come from both sides, ordered.
  public let fieldsToCompute: [String]
  /// What the server does not have yet; empty while there is a conflict, because nothing is sent then.
  public let patchToPush: RecordPatch
  /// Whether the local record has to be written; its version is to be noted in any case.
  public let needsApply: Bool

  /// Whether the server has to be told.
  public var needsPush: Bool { !patchToPush.isEmpty }
}
