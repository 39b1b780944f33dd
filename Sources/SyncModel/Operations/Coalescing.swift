/// Adds a change to the operations of one record that wait for the server, so that at most one of them is not frozen.
///
/// Create and update are a create; update and update are an update of both sets of fields; create and delete are
/// nothing when the create never left the device; an update back to what the server has is nothing. Frozen operations
/// stay as they are and what comes later queues behind them.
///
/// Applying the result gives what applying everything in order gives. Only the times of fields that went back to their
/// old value differ.
///
/// - Parameters:
///   - operations: what waits already, the oldest first, the frozen ones before the others.
///   - patch: the new change; where the server has no record, all of its fields.
///   - base: the record as the server had it before these operations; nil when it had none.
public func coalesced(
  _ operations: [SyncOperation], adding patch: RecordPatch, base: RecordState?
) -> [SyncOperation] {
  let frozen = Array(operations.prefix(while: \.isFrozen))
  let ground = frozen.reduce(base) { record, operation in operation.applied(to: record) }
  let change = operations.dropFirst(frozen.count).map(\.patch).reduce(nil as RecordPatch?) { sum, next in
    sum?.followed(by: next) ?? next
  }
  let whole = change?.followed(by: patch) ?? patch
  return frozen + operation(whole, on: ground)
}

/// The one operation, or none, that makes a change to what the server will have.
private func operation(_ change: RecordPatch, on ground: RecordState?) -> [SyncOperation] {
  guard let ground else {
    if change.isDeleted == true { return [] }
    var creation = change
    creation.isDeleted = nil
    return [SyncOperation(kind: .create, patch: creation)]
  }
  let reduced = change.reduced(against: ground)
  if reduced.isEmpty { return [] }
  return [SyncOperation(kind: reduced.isDeleted == true ? .delete : .update, patch: reduced)]
}
