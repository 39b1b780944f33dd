/// What an operation does to its record at the server. The raw values are those of the outbox.
public enum OperationKind: String, CaseIterable, Sendable {
  case create, update, delete
}

/// One change of one record on its way to the server.
public struct SyncOperation: Equatable, Sendable {
  /// Whether the record is made, changed or deleted.
  public let kind: OperationKind
  /// The fields to send. A deletion keeps those that were changed before it, so that bringing the record back sends
  /// them; the deletion itself needs none.
  public let patch: RecordPatch
  /// The operation may have been sent, so nothing may join it any more: the server could have taken it as it was.
  public var isFrozen: Bool

  /// An operation; a frozen one may have been sent and is not changed any more.
  public init(kind: OperationKind, patch: RecordPatch, isFrozen: Bool = false) {
    self.kind = kind
    self.patch = patch
    self.isFrozen = isFrozen
  }

  /// The record after this operation; nil where there is none: an update or a deletion makes no record.
  public func applied(to record: RecordState?) -> RecordState? {
    guard let record else {
      return kind == .create
        ? RecordState(fields: [:], updatedAt: patch.updatedAt).applying(patch) : nil
    }
    return record.applying(patch)
  }
}
