import CipherSQL
import RecordStore
import ServerStorage
import SyncModel

extension EmbeddedWriter {
  /// Writes the server's data about a record in addition to its row.
  func note(_ record: ServerRecord, at time: Int64) throws {
    let project = try project(of: record)
    let before = try stored(record.name)
    let digest = digest(of: record)
    try connection.withStatement(
      """
      INSERT INTO ServerRecord (sequence, entityType, entityUuid, serverId, firstVersion, isDeleted, editTimes,
        fieldVersions, project, digest, storedAt, startVersions, serviceFields)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (entityType, entityUuid) DO UPDATE SET
        sequence = excluded.sequence, isDeleted = excluded.isDeleted, editTimes = excluded.editTimes,
        fieldVersions = excluded.fieldVersions, project = excluded.project, digest = excluded.digest,
        storedAt = excluded.storedAt, startVersions = excluded.startVersions, serviceFields = excluded.serviceFields,
        wentAlong = wentAlong AND excluded.isDeleted,
        rootType = CASE WHEN excluded.isDeleted THEN rootType END, rootUuid = CASE WHEN excluded.isDeleted THEN rootUuid END
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
      try statement.bind(digest, at: 10)
      try statement.bind(time, at: 11)
      try statement.bind(EmbeddedReader.text(record.startVersions), at: 12)
      try statement.bind(EmbeddedReader.text(record.serviceFields), at: 13)
      try statement.run()
    }
    try count(
      record.name, from: before?.counted,
      to: record.state.isDeleted ? nil : Counted(project: project, digest: digest))
    if let before, before.project != project {
      // The dependents of a record that moved to another project move with it.
      try addJob(.project, record.name, at: time)
      try workWithinRequest()
    }
  }

  /// The project that a record belongs to, by the first of its references that leads to one.
  func project(of record: ServerRecord) throws -> String? {
    if record.name.entityType == ProjectPaths.projectType { return record.name.entityUuid }
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

  /// The start versions of a record that is about to change; nil for a new record.
  func startVersions(after previous: ServerRecord?) throws -> [Int: Int64] {
    let (number, start) =
      try connection.withStatement("SELECT number, startSequence FROM ServerEpoch ORDER BY number DESC LIMIT 1") {
        statement -> (Int, Int64) in
        guard try statement.step() else { return (0, 0) }
        return (try statement.row.decode(at: 0), try statement.row.decode(at: 1))
      }
    var versions = previous?.startVersions ?? [:]
    if number > 0, (previous?.sequence ?? 0) <= start { versions[number] = previous?.version ?? 0 }
    return versions
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
        fieldVersions: [:], firstVersion: 0, startVersions: startVersions(after: nil)), at: time)
  }
}

extension ServerRecord {
  func moved(to sequence: Int64, startVersions: [Int: Int64]) -> ServerRecord {
    ServerRecord(
      name: name, serverId: serverId, sequence: sequence, createdAt: createdAt, state: state,
      fieldVersions: fieldVersions, firstVersion: firstVersion, startVersions: startVersions,
      deletedWith: deletedWith, serviceFields: serviceFields)
  }
}
