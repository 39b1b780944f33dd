import SyncModel

/// Forgetting what devices no longer need.
extension AccountWriter {
  package func keepTombstone(of name: RecordName, at time: Int64) throws { state.setTombstone(time, of: name) }

  package func removeTombstone(of name: RecordName) throws { state.setTombstone(nil, of: name) }

  package func forgetResponses(before time: Int64, atMost limit: Int) throws -> Bool {
    try rows.removeResponses(before: time, atMost: limit)
  }

  package func forgetTombstones(before time: Int64, atMost limit: Int) throws -> Bool {
    try rows.removeTombstones(before: time, atMost: limit)
  }

  package func forgetDeletions(
    before time: Int64, after place: RetentionCursor?, atMost limit: Int
  ) throws -> (forgotten: Int, last: RetentionCursor?) {
    // Seed rows exist on each new device, which must learn of their deletion at any time.
    let expired = try rows.deletions(before: time, after: place, limit: limit)
    let budget = ThreadTime(clock)
    var forgotten = 0
    var last: RetentionCursor?
    for (place, name) in expired {
      if try !isReferenced(name) {
        try purge(name)
        forgotten += 1
      }
      last = place
      if budget.isOver { break }
    }
    return (forgotten, last)
  }

  private func purge(_ name: RecordName) throws {
    guard let stored = try row(name) else { return }
    state.changeHeader { header in
      header.horizon = max(header.horizon, stored.record.sequence)
      header.forgottenVersion = max(header.forgottenVersion, stored.record.version)
    }
    try put(nil, of: name, over: stored)
  }

  /// Returns whether another record references a record.
  private func isReferenced(_ name: RecordName) throws -> Bool {
    for reference in map.dependents[name.entityType] ?? [] {
      // Two records, because the record may reference itself.
      let some = try dependents(of: name, by: reference, after: nil, limit: 2)
      if some.contains(where: { $0 != name }) { return true }
    }
    return false
  }
}
