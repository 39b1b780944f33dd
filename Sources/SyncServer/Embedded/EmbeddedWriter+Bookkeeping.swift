import CipherSQL
import OfflineStore
import SyncModel

extension EmbeddedWriter {
  /// Writes what the server knows of a record beside its row.
  func note(_ record: ServerRecord, at time: Int64) throws {
    let project = try project(of: record)
    let before = try connection.withStatement(
      "SELECT project FROM ServerRecord WHERE entityType = ? AND entityUuid = ?"
    ) { statement -> String?? in
      try statement.bind(record.name.entityType, at: 1)
      try statement.bind(record.name.entityUuid, at: 2)
      return try statement.step() ? .some(try statement.row.decode(Optional<String>.self, at: 0)) : nil
    }
    try connection.withStatement(
      """
      INSERT INTO ServerRecord (sequence, entityType, entityUuid, serverId, firstVersion, isDeleted, editTimes,
        fieldVersions, project, digest, storedAt)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (entityType, entityUuid) DO UPDATE SET
        sequence = excluded.sequence, isDeleted = excluded.isDeleted, editTimes = excluded.editTimes,
        fieldVersions = excluded.fieldVersions, project = excluded.project, digest = excluded.digest,
        storedAt = excluded.storedAt, wentAlong = wentAlong AND excluded.isDeleted
      """
    ) { statement in
      try statement.bind(record.sequence, at: 1)
      try statement.bind(record.name.entityType, at: 2)
      try statement.bind(record.name.entityUuid, at: 3)
      try statement.bind(record.serverId, at: 4)
      try statement.bind(record.firstVersion, at: 5)
      try statement.bind(record.state.isDeleted, at: 6)
      try statement.bind(EmbeddedReader.text(record.state.editTimes), at: 7)
      try statement.bind(EmbeddedReader.text(record.fieldVersions), at: 8)
      try statement.bind(project, at: 9)
      try statement.bind(record.digest, at: 10)
      try statement.bind(time, at: 11)
      try statement.run()
    }
    if let before, before != project { try moveDependents(of: record.name, at: time) }
  }

  /// The project that a record belongs to, by the first of its references that leads to one.
  private func project(of record: ServerRecord) throws -> String? {
    if record.name.entityType == EntityMap.projectType { return record.name.entityUuid }
    for way in map.ways[record.name.entityType] ?? [] {
      guard case .text(let uuid)? = record.state.fields[way.column] else { continue }
      let found = try connection.withStatement(
        "SELECT project FROM ServerRecord WHERE entityType = ? AND entityUuid = ?"
      ) { statement -> String? in
        try statement.bind(way.parent, at: 1)
        try statement.bind(uuid, at: 2)
        return try statement.step() ? try statement.row.decode(at: 0) : nil
      }
      if let found { return found }
    }
    return nil
  }

  /// What belongs to a record that moved to another project moves along. It gets new numbers, so that devices which have
  /// only that project pull it.
  private func moveDependents(of name: RecordName, at time: Int64) throws {
    for (type, ways) in map.ways {
      for way in ways where way.parent == name.entityType {
        for dependent in try dependents(of: name, type, way.column) {
          guard let record = try record(dependent) else { continue }
          try note(record.moved(to: try nextSequence()), at: time)
        }
      }
    }
  }

  /// The records of a kind that refer to a record by a column, deleted ones too.
  func dependents(of name: RecordName, _ type: String, _ column: String) throws -> [RecordName] {
    guard let child = map.tables[type]?.entity, let parent = map.tables[name.entityType]?.entity else { return [] }
    return try connection.fetch(
      """
      SELECT child.uuid FROM \(identifier: child.table.name) AS child
      JOIN \(identifier: parent.table.name) AS parent ON child.\(identifier: column) = parent.\(identifier: parent.key)
      WHERE parent.uuid = \(name.entityUuid)
      """, as: String.self
    ).map { RecordName(type, $0) }
  }

  /// Rows that the schemas themselves make, such as reference data, become records that have not changed since before the
  /// first version: every device has them.
  func adoptRows(at time: Int64) throws {
    for (type, table) in map.tables.sorted(by: { $0.key < $1.key }) {
      let uuids = try connection.fetch(
        """
        SELECT uuid FROM \(identifier: table.entity.table.name)
        WHERE uuid NOT IN (SELECT entityUuid FROM ServerRecord WHERE entityType = \(type)) ORDER BY uuid
        """, as: String.self)
      for uuid in uuids { try adopt(RecordName(type, uuid), table, at: time) }
    }
  }

  private func adopt(_ name: RecordName, _ table: RecordTable, at time: Int64) throws {
    guard let row = try table.find(name.entityUuid, in: connection) else { return }
    var state = row.state
    state.syncVersion = 1
    let serverId = try nextServerId(name.entityType)
    try table.update(
      row.key, from: row.state, to: state, RecordTable.Bookkeeping(serverId: .integer(serverId), lastSyncedAt: time),
      references: ReferenceCache(), in: connection)
    try note(
      ServerRecord(
        name: name, serverId: serverId, sequence: try nextSequence(), createdAt: row.createdAt, state: state,
        fieldVersions: [:], firstVersion: 0), at: time)
  }
}

extension ServerRecord {
  /// SHA-256 of what `WireFormat.md` says is the content.
  var digest: String {
    RecordDigest(name.entityType, name.entityUuid, version: version, fields: state.fields).digest
  }

  func moved(to sequence: Int64) -> ServerRecord {
    ServerRecord(
      name: name, serverId: serverId, sequence: sequence, createdAt: createdAt, state: state,
      fieldVersions: fieldVersions, firstVersion: firstVersion)
  }
}
