import CipherSQL
import OfflineStore
import SyncModel

extension EmbeddedWriter {
  func deleteDependents(of record: ServerRecord, at time: Int64) throws -> Int {
    // Found before any is marked: a trigger of the schema may mark them too, and then nothing would tell them apart.
    let names = try liveDependents(of: record.name)
    let deletedAt = record.state.editTime(of: RecordState.deletionField)
    for name in names {
      guard let dependent = try self.record(name) else { continue }
      var previous = dependent.state
      previous.isDeleted = false
      let known = ServerRecord(
        name: name, serverId: dependent.serverId, sequence: dependent.sequence, createdAt: dependent.createdAt,
        state: previous, fieldVersions: dependent.fieldVersions, firstVersion: dependent.firstVersion)
      let state = previous.applying(RecordPatch(isDeleted: true, updatedAt: deletedAt))
      let taken = try store(
        NewVersion(name: name, previous: known, state: state, createdAt: dependent.createdAt), at: time)
      try note(taken, wentAlong: true)
    }
    return names.count
  }

  private func note(_ record: ServerRecord, wentAlong: Bool) throws {
    try connection.execute("UPDATE ServerRecord SET wentAlong = \(wentAlong) WHERE sequence = \(record.sequence)")
  }

  func keepDeleted(_ record: ServerRecord) throws { try note(record, wentAlong: false) }

  func restoreDependents(of record: ServerRecord, at time: Int64) throws -> Int {
    let restoredAt = record.state.editTime(of: RecordState.deletionField)
    var restored = 0
    var level = [record.name]
    while !level.isEmpty {
      var next: [RecordName] = []
      for name in level {
        for dependent in map.dependents[name.entityType] ?? [] where dependent.cascades {
          next += try dependents(of: name, dependent.entityType, dependent.column)
            .filter { try hasNothingToWaitFor($0) && restore($0, edited: restoredAt, at: time) }
        }
      }
      restored += next.count
      level = next
    }
    return restored
  }

  /// Whether a record only went along, and nothing that it went with is deleted any more.
  private func hasNothingToWaitFor(_ name: RecordName) throws -> Bool {
    let wentAlong = try connection.fetchOne(
      """
      SELECT 1 FROM ServerRecord
      WHERE entityType = \(name.entityType) AND entityUuid = \(name.entityUuid) AND isDeleted = 1 AND wentAlong = 1
      """, as: Int.self)
    guard wentAlong != nil, let table = map.tables[name.entityType], let record = try record(name) else { return false }
    return try table.columns.allSatisfy { column in
      guard let reference = column.reference, reference.cascades,
        case .text(let uuid)? = record.state.fields[column.name]
      else { return true }
      return try isDeleted(RecordName(reference.entityType, uuid)) == false
    }
  }

  /// - Returns: false when another record has its place by now, or another rule of the data keeps it from coming back.
  private func restore(_ name: RecordName, edited: Int64, at time: Int64) throws -> Bool {
    guard let record = try record(name) else { return false }
    let state = record.state.applying(RecordPatch(isDeleted: false, updatedAt: edited))
    do {
      try attempt {
        _ = try store(NewVersion(name: name, previous: record, state: state, createdAt: record.createdAt), at: time)
      }
      return true
    } catch is StorageRefusal {
      return false
    }
  }

  /// What goes with a record, level by level; each once.
  private func liveDependents(of root: RecordName) throws -> [RecordName] {
    var found: [RecordName] = []
    var seen: Set<RecordName> = [root]
    var level = [root]
    while !level.isEmpty {
      var next: [RecordName] = []
      for name in level {
        for dependent in map.dependents[name.entityType] ?? [] where dependent.cascades {
          next += try markedAsLive(dependents(of: name, dependent.entityType, dependent.column))
            .filter { seen.insert($0).inserted }
        }
      }
      found += next
      level = next
    }
    return found
  }

  /// The names whose records the server last stored as not deleted, whatever a trigger has done to their rows since.
  private func markedAsLive(_ names: [RecordName]) throws -> [RecordName] {
    try names.filter { try isDeleted($0) == false }
  }

  func forget(before time: Int64) throws {
    try connection.execute("DELETE FROM ServerAnswer WHERE storedAt < \(time)")
    // Those that the schemas make are there on each new device, which has to hear of their deletion at any time.
    var expired = try connection.fetchRows(
      """
      SELECT sequence, entityType, entityUuid FROM ServerRecord
      WHERE isDeleted = 1 AND firstVersion > 0 AND storedAt < \(time)
      """, as: Int64.self, String.self, String.self
    ).map { (sequence: $0.0, name: RecordName($0.1, $0.2)) }
    // A record that others still refer to stays; those that go make way for those that they referred to.
    while true {
      let free = try expired.filter { try !isReferredTo($0.name) }
      if free.isEmpty { return }
      for (sequence, name) in free { try purge(name, sequence) }
      let gone = Set(free.map(\.sequence))
      expired.removeAll { gone.contains($0.sequence) }
    }
  }

  private func purge(_ name: RecordName, _ sequence: Int64) throws {
    guard let table = map.tables[name.entityType]?.entity.table.name else { return }
    try WriteMode.purge(on: connection) {
      _ = try connection.execute("DELETE FROM \(identifier: table) WHERE uuid = \(name.entityUuid)")
    }
    try connection.execute("DELETE FROM ServerRecord WHERE sequence = \(sequence)")
    try connection.execute("UPDATE ServerState SET horizon = max(horizon, \(sequence))")
  }

  private func isReferredTo(_ name: RecordName) throws -> Bool {
    for dependent in map.dependents[name.entityType] ?? [] {
      let names = try dependents(of: name, dependent.entityType, dependent.column)
      if names.contains(where: { $0 != name }) { return true }
    }
    return false
  }
}
