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
      _ = try store(NewVersion(name: name, previous: known, state: state, createdAt: dependent.createdAt), at: time)
    }
    return names.count
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
    var expired = try connection.fetchRows(
      "SELECT sequence, entityType, entityUuid FROM ServerRecord WHERE isDeleted = 1 AND storedAt < \(time)",
      as: Int64.self, String.self, String.self
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
