import CipherSQL
import SchemaModel
import ServerStorage
import SyncModel

/// The jobs that a transaction has read, so that records need no separate queries.
final class CascadeJobCache {
  var isAny: Bool?
  /// The number of dependents that may still change in this transaction.
  var left = EmbeddedWriter.dependentsPerWrite
  var isWorking = false
  /// Whether a reference that cannot be set to NULL refuses the deletion. True in the transaction of the deletion.
  var isRefusing = false
}

extension EmbeddedReader {
  /// Returns whether any record has dependents that still have to follow it.
  func hasJobs() throws -> Bool {
    if let known = notes.isAny { return known }
    let isAny = try connection.withStatement("SELECT 1 FROM ServerJob LIMIT 1") { try $0.step() }
    notes.isAny = isAny
    return isAny
  }

  /// Adds a record and its ancestors to a graph, unless it has them.
  func load(_ name: RecordName, into graph: inout CascadeGraph<RecordName>) throws {
    var open = [name]
    while let next = open.popLast() {
      guard graph.records[next] == nil, let record = try cascadeRecord(next) else { continue }
      graph.records[next] = record
      open += record.parents
    }
  }

  private func cascadeRecord(_ name: RecordName) throws -> CascadeGraph<RecordName>.Record? {
    let stored = try connection.withStatement(
      """
      SELECT isDeleted, wentAlong, EXISTS (SELECT 1 FROM ServerJob AS job
        WHERE job.kind = 'cascade' AND job.entityType = record.entityType AND job.entityUuid = record.entityUuid)
      FROM ServerRecord AS record WHERE entityType = ? AND entityUuid = ?
      """
    ) { statement -> CascadeGraph<RecordName>.Record? in
      try statement.bind(name.entityType, at: 1)
      try statement.bind(name.entityUuid, at: 2)
      guard try statement.step() else { return nil }
      return CascadeGraph.Record(
        isDeleted: try statement.row.decode(at: 0), isCascaded: try statement.row.decode(at: 1),
        isPending: try statement.row.decode(at: 2))
    }
    guard var record = stored else { return nil }
    record.parents = try parents(of: name).filter(\.key.cascades).map(\.name)
    return record
  }

  static func name(_ type: String?, _ uuid: String?) -> RecordName? {
    guard let type, let uuid else { return nil }
    return RecordName(type, uuid)
  }

  /// Returns the records that a record references.
  func parents(of name: RecordName) throws -> [(key: Dependency, name: RecordName)] {
    guard let parents = map.parents[name.entityType] else { return [] }
    return try connection.withStatement(parents.sql) { statement in
      try statement.bind(name.entityUuid, at: 1)
      guard try statement.step() else { return [] }
      var names: [(key: Dependency, name: RecordName)] = []
      for (index, key) in parents.keys.enumerated() {
        if let uuid: String = try statement.row.decode(at: Int32(index)) {
          names.append((key, RecordName(key.parent.type, uuid)))
        }
      }
      return names
    }
  }

  /// Returns the dependents of a record by one reference after a row, including deleted ones.
  func dependents(
    of name: RecordName, by reference: EntityMap.Dependent, after row: Int64?, limit: Int
  ) throws -> [(row: Int64, name: RecordName)] {
    try connection.withStatement(reference.page) { statement in
      try statement.bind(name.entityUuid, at: 1)
      try statement.bind(row ?? Int64.min, at: 2)
      try statement.bind(Int64(limit), at: 3)
      var page: [(row: Int64, name: RecordName)] = []
      while try statement.step() {
        page.append(
          (try statement.row.decode(at: 0), RecordName(reference.entityType, try statement.row.decode(at: 1))))
      }
      return page
    }
  }
}
