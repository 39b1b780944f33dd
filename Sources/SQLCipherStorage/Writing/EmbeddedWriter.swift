import CipherSQL
import RecordStore
import SchemaModel
import ServerStorage
import SyncModel

/// Changes an account's database within one transaction.
struct EmbeddedWriter: RecordWriting {
  let reader: EmbeddedReader
  let connection: WriteConnection
  let entities: Entities
  let map: EntityMap

  init(_ connection: WriteConnection, _ entities: Entities, _ map: EntityMap) {
    reader = EmbeddedReader(connection, map)
    self.connection = connection
    self.entities = entities
    self.map = map
  }

  var epochs: EpochHistory { get throws { try reader.epochs } }
  var lastSequence: Int64 { get throws { try reader.lastSequence } }
  var horizon: Int64 { get throws { try reader.horizon } }
  var largestStoredTime: Int64? { get throws { try reader.largestStoredTime } }

  /// Returns a record as if all jobs were done.
  func record(_ name: RecordName) throws -> ServerRecord? {
    try applyPendingCascades(to: name)
    return try reader.record(name)
  }

  func isDeleted(_ name: RecordName) throws -> Bool? {
    try applyPendingCascades(to: name)
    return try reader.isDeleted(name)
  }

  func sharedVersion(of record: ServerRecord, with epoch: String) throws -> Int64? {
    try reader.sharedVersion(of: record, with: epoch)
  }

  func changes(after sequence: Int64?, limit: Int, projects: Set<String>?) throws -> ChangePage {
    try reader.changes(after: sequence, limit: limit, projects: projects)
  }

  func entityDigests(projects: Set<String>?) throws -> [String: DigestSummary] {
    try reader.entityDigests(projects: projects)
  }

  func bucketDigests(of entityType: String, projects: Set<String>?) throws -> [String: DigestSummary] {
    try reader.bucketDigests(of: entityType, projects: projects)
  }

  func recordDigests(of entityType: String, buckets: [String], projects: Set<String>?) throws -> [RecordDigest] {
    try reader.recordDigests(of: entityType, buckets: buckets, projects: projects)
  }

  func contentsInUse(among contents: [String]) throws -> Set<String> { try reader.contentsInUse(among: contents) }
  func claims(on content: String) throws -> [ContentClaim] { try reader.claims(on: content) }

  func attempt<Result>(_ body: () throws -> Result) throws -> Result { try connection.savepoint(body) }

  func storedResponse(for idempotencyKey: String) throws -> StoredResponse? {
    try connection.withStatement("SELECT answer, digest FROM ServerAnswer WHERE idempotencyKey = ?") { statement in
      try statement.bind(idempotencyKey, at: 1)
      guard try statement.step() else { return nil }
      return StoredResponse(result: try statement.row.decode(at: 0), digest: try statement.row.decode(at: 1))
    }
  }

  func keep(response: String, to operation: OperationContent, at time: Int64) throws {
    try connection.withStatement(
      "INSERT INTO ServerAnswer (idempotencyKey, answer, digest, storedAt) VALUES (?, ?, ?, ?)"
    ) { statement in
      try statement.bind(operation.key, at: 1)
      try statement.bind(response, at: 2)
      try statement.bind(operation.digest, at: 3)
      try statement.bind(time, at: 4)
      try statement.run()
    }
  }

  func mark(of deviceId: String) throws -> DeviceCounter? {
    try connection.withStatement("SELECT counter, digest FROM ServerDevice WHERE deviceId = ?") { statement in
      try statement.bind(deviceId, at: 1)
      guard try statement.step() else { return nil }
      return DeviceCounter(counter: try statement.row.decode(at: 0), digest: try statement.row.decode(at: 1))
    }
  }

  func keep(_ mark: DeviceCounter, of deviceId: String, at time: Int64) throws {
    try connection.withStatement(
      """
      INSERT INTO ServerDevice (deviceId, counter, digest, seenAt) VALUES (?, ?, ?, ?)
      ON CONFLICT (deviceId) DO UPDATE SET counter = excluded.counter, digest = excluded.digest, seenAt = excluded.seenAt
      """
    ) { statement in
      try statement.bind(deviceId, at: 1)
      try statement.bind(mark.counter, at: 2)
      try statement.bind(mark.digest, at: 3)
      try statement.bind(time, at: 4)
      try statement.run()
    }
  }

  func startEpoch(at time: Int64) throws -> String {
    // The number of its own wakes devices that wait for a change.
    let start = try nextSequence()
    try connection.execute(
      """
      INSERT INTO ServerEpoch (number, epoch, startSequence, startedAt)
      SELECT max(number) + 1, lower(hex(randomblob(16))), \(start), \(time) FROM ServerEpoch
      """)
    return try epochs.current
  }

  func store(
    _ name: RecordName, over previous: ServerRecord?, _ state: RecordState, createdAt: Int64, computing: [String],
    serviceFields: Set<String>?, at time: Int64
  ) throws -> ServerRecord {
    try store(
      name, over: previous, state, createdAt: createdAt, computing: computing, serviceFields: serviceFields, at: time,
      checksReferences: true)
  }

  /// - Parameter checksReferences: `false` for values that SQLite has stored already.
  func store(
    _ name: RecordName, over previous: ServerRecord?, _ state: RecordState, createdAt: Int64, computing: [String],
    serviceFields: Set<String>?, at time: Int64, checksReferences: Bool
  ) throws -> ServerRecord {
    guard let table = map.tables[name.entityType] else {
      throw StorageRefusal.invalid(field: "entityType", message: "unknown entity")
    }
    var state = state
    state.syncVersion = try (previous?.version ?? forgottenVersion()) + 1
    let serverId = try previous?.serverId ?? nextServerId(name.entityType)
    // While the record is deleted, values that it has given up stay out of its row. A restored record takes them back, which fails
    // when another record has one.
    let before = previous?.released ?? [:]
    let released = state.isDeleted ? before.filter { state.fields[$0.name] == $0.value } : [:]
    let bookkeeping = RecordTable.Bookkeeping(
      serverId: .integer(serverId), createdAt: previous == nil ? createdAt : nil, lastSyncedAt: time)
    let left = try previous.map { try dependentsLeft(by: name, state, after: $0.state) } ?? []
    let references = checksReferences && !state.isDeleted ? table.keys(toCheckIn: state, after: previous?.state) : []
    try refusing(name, state, table, isChecked: !references.isEmpty) {
      try writeRow(name, state, bookkeeping, isNew: previous == nil, leavingOut: released, computing, table)
      try requireParents(of: name, by: references)
    }
    guard let row = try table.find(name.entityUuid, in: connection) else {
      throw ServerError(.system, "a row of \(name.entityType) is missing after it was written")
    }
    if released != before { try note(released, of: name) }
    state.fields = row.state.fields.overlaid(with: released)
    var record = ServerRecord(
      name: name, serverId: serverId, sequence: try nextSequence(), createdAt: row.createdAt, state: state,
      fieldVersions: Self.fieldVersions(from: previous, to: state),
      firstVersion: previous?.firstVersion ?? state.syncVersion,
      startVersions: try startVersions(after: previous), deletedWith: state.isDeleted ? previous?.deletedWith : nil,
      serviceFields: serviceFields ?? previous?.serviceFields ?? [])
    record.released = released
    try note(record, at: time)
    for (dependent, reference) in left { try noteValues(of: dependent, reference, under: name, at: time) }
    if let previous,
      map.references(.values, to: name.entityType).contains(where: { $0.follows(state, after: previous.state) })
    {
      try addJob(.values, name, at: time)
      try workWithinRequest()
    }
    return record
  }

  /// Performs a write, and once more if deleted records could release the UNIQUE values that it needs.
  /// - Parameter isChecked: whether the write is checked after the row is written, and may be refused then.
  /// - Throws: ``StorageRefusal`` for a rule of the data.
  private func refusing(
    _ name: RecordName, _ state: RecordState, _ table: RecordTable, isChecked: Bool, _ write: () throws -> Void
  ) throws {
    // Without the savepoint a deferred foreign key would fail at the commit, and with it the other operations. It may be
    // one of another table that references this row.
    let mayFailLater = isChecked || table.defersForeignKeys || !table.referencedColumns.isEmpty
    func attempt(_ body: () throws -> Void) throws {
      if mayFailLater { try connection.checkedSavepoint(body) } else { try body() }
    }
    do {
      do {
        try attempt(write)
      } catch let error as SQLError where error.isOfUniqueness {
        guard let holder = try freeUniqueValues(for: name, state, table) else { return try attempt(write) }
        throw refusal(error, table, holder: holder)
      }
    } catch let error as MissingReferences {
      throw StorageRefusal.parentMissing(columns: error.references.map(\.column))
    } catch let error as VaultError where error.code == .badValue {
      throw StorageRefusal.invalid(field: error.name, message: error.message)
    } catch let error as SQLError where error.code == .constraint {
      let missing = error.constraint == .foreignKey ? try missingParents(state.fields, table) : []
      throw missing.isEmpty ? refusal(error, table) : .parentMissing(columns: missing)
    }
  }

  private func writeRow(
    _ name: RecordName, _ state: RecordState, _ bookkeeping: RecordTable.Bookkeeping, isNew: Bool,
    leavingOut released: SyncObject, _ computing: [String], _ table: RecordTable
  ) throws {
    guard !isNew, let row = try table.find(name.entityUuid, in: connection) else {
      let key = try table.insert(name.entityUuid, state, bookkeeping, in: connection)
      return try table.compute(table.alwaysComputed, ofKey: key, in: connection)
    }
    var state = state
    for member in released.members { state.fields[member.name] = row.state.fields[member.name] }
    try table.update(row.key, from: row.state, to: state, bookkeeping, in: connection)
    try table.compute(computing.filter { !table.alwaysComputed.contains($0) }, ofKey: row.key, in: connection)
    try table.compute(table.alwaysComputed, ofKey: row.key, in: connection)
  }

  private func refusal(_ error: SQLError, _ table: RecordTable, holder: RecordName? = nil) -> StorageRefusal {
    if case .unique(let columns) = error.constraint {
      return .notUnique(columns: table.entity.uniqueColumns(of: columns), holder: holder)
    }
    let (field, message) = ConstraintMessage(entity: table.entity).explain(error, connection)
    return .invalid(field: field, message: field.map { "\($0) \(message)" } ?? message)
  }

  private static func fieldVersions(from previous: ServerRecord?, to state: RecordState) -> [String: Int64] {
    guard let previous else { return [:] }
    var versions = previous.fieldVersions
    for member in state.fields.members where previous.state.fields[member.name] != member.value {
      versions[member.name] = state.syncVersion
    }
    if previous.state.isDeleted != state.isDeleted { versions[RecordState.deletionField] = state.syncVersion }
    return versions
  }

  /// The highest version of a forgotten record. A device may still have a version of a record that is created again.
  private func forgottenVersion() throws -> Int64 {
    try connection.withStatement("SELECT forgottenVersion FROM ServerState") { statement in
      try statement.step() ? try statement.row.decode(at: 0) : 0
    }
  }

  func nextServerId(_ entityType: String) throws -> Int64 {
    try connection.withStatement(
      """
      INSERT INTO ServerCounter (entityType, lastId) VALUES (?, 1)
      ON CONFLICT (entityType) DO UPDATE SET lastId = lastId + 1 RETURNING lastId
      """
    ) { statement in
      try statement.bind(entityType, at: 1)
      return try statement.step() ? try statement.row.decode(at: 0) : 0
    }
  }

  func nextSequence() throws -> Int64 {
    try connection.withStatement("UPDATE ServerState SET lastSequence = lastSequence + 1 RETURNING lastSequence") {
      statement in try statement.step() ? try statement.row.decode(at: 0) : 0
    }
  }
}

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

  /// Returns the project of a record, by the first of its references that leads to a project.
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

  /// Returns the start versions of a record that is about to change; `nil` for a new record.
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

  /// Adopts rows that the schemas create, such as reference data, as records that have not changed since before the
  /// first version. Every device has them.
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
      in: connection)
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
