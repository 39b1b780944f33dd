import CipherSQL
import RecordStore
import SchemaModel
import ServerStorage
import SyncModel

/// An account's database while it is changed.
struct EmbeddedWriter: RecordWriting {
  let reader: EmbeddedReader
  let connection: WriteConnection
  let entities: Entities
  let map: EntityMap
  private let references = ReferenceCache()

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

  /// The record as if all jobs were done.
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

  func recordDigests(of entityType: String, bucket: String, projects: Set<String>?) throws -> [RecordDigest] {
    try reader.recordDigests(of: entityType, bucket: bucket, projects: projects)
  }

  func contentsInUse(among contents: [String]) throws -> Set<String> { try reader.contentsInUse(among: contents) }
  func claims(on content: String) throws -> [ContentClaim] { try reader.claims(on: content) }

  func attempt<Result>(_ body: () throws -> Result) throws -> Result { try connection.savepoint(body) }

  func answer(to idempotencyKey: String) throws -> StoredResponse? {
    try connection.withStatement("SELECT answer, digest FROM ServerAnswer WHERE idempotencyKey = ?") { statement in
      try statement.bind(idempotencyKey, at: 1)
      guard try statement.step() else { return nil }
      return StoredResponse(result: try statement.row.decode(at: 0), digest: try statement.row.decode(at: 1))
    }
  }

  func keep(answer: String, to operation: OperationContent, at time: Int64) throws {
    try connection.withStatement(
      "INSERT INTO ServerAnswer (idempotencyKey, answer, digest, storedAt) VALUES (?, ?, ?, ?)"
    ) { statement in
      try statement.bind(operation.key, at: 1)
      try statement.bind(answer, at: 2)
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

  func store(_ new: NewVersion, at time: Int64) throws -> ServerRecord {
    guard let table = map.tables[new.name.entityType] else {
      throw StorageRefusal.invalid(field: "entityType", message: "there is no such kind of record")
    }
    var state = new.state
    state.syncVersion = (new.previous?.version ?? 0) + 1
    let serverId = try new.previous?.serverId ?? nextServerId(new.name.entityType)
    // While the record is deleted, values that it has given up stay out of its row. A restored record takes them back, which fails
    // when another record has one.
    let before = new.previous?.released ?? [:]
    let released = state.isDeleted ? before.filter { state.fields[$0.name] == $0.value } : [:]
    try write(new, state, leavingOut: released, serverId, table, at: time)
    guard let row = try table.find(new.name.entityUuid, in: connection) else {
      throw ServerError(.system, "a row of \(new.name.entityType) is not there after it was written")
    }
    if released != before { try note(released, of: new.name) }
    state.fields = row.state.fields.overlaid(with: released)
    var record = ServerRecord(
      name: new.name, serverId: serverId, sequence: try nextSequence(), createdAt: row.createdAt, state: state,
      fieldVersions: Self.fieldVersions(from: new.previous, to: state), firstVersion: new.previous?.firstVersion ?? 1,
      startVersions: try startVersions(after: new.previous),
      deletedWith: state.isDeleted ? new.previous?.deletedWith : nil,
      serviceFields: new.serviceFields ?? new.previous?.serviceFields ?? [])
    record.released = released
    try note(record, at: time)
    return record
  }

  private func write(
    _ new: NewVersion, _ state: RecordState, leavingOut released: SyncObject, _ serverId: Int64, _ table: RecordTable,
    at time: Int64
  ) throws {
    do {
      do {
        try writeRow(new, state, leavingOut: released, serverId, table, at: time)
      } catch let error as SQLError where error.isOfUniqueness {
        guard let holder = try freeUniqueValues(for: new.name, state, table) else {
          return try writeRow(new, state, leavingOut: released, serverId, table, at: time)
        }
        throw refusal(error, table, holder: holder)
      }
    } catch let error as MissingReferences {
      throw StorageRefusal.invalid(
        field: error.references.first?.column, message: "refers to a record that is not there")
    } catch let error as VaultError where error.code == .badValue {
      throw StorageRefusal.invalid(field: error.name, message: error.message)
    } catch let error as SQLError where error.code == .constraint {
      throw refusal(error, table)
    }
  }

  private func writeRow(
    _ new: NewVersion, _ state: RecordState, leavingOut released: SyncObject, _ serverId: Int64, _ table: RecordTable,
    at time: Int64
  ) throws {
    let bookkeeping = RecordTable.Bookkeeping(
      serverId: .integer(serverId), createdAt: new.previous == nil ? new.createdAt : nil, lastSyncedAt: time)
    guard new.previous != nil, let row = try table.find(new.name.entityUuid, in: connection) else {
      let key = try table.insert(new.name.entityUuid, state, bookkeeping, references: references, in: connection)
      return try table.compute(table.alwaysComputed, ofKey: key, in: connection)
    }
    var state = state
    for member in released.members { state.fields[member.name] = row.state.fields[member.name] }
    try table.update(row.key, from: row.state, to: state, bookkeeping, references: references, in: connection)
    try table.compute(new.computing.filter { !table.alwaysComputed.contains($0) }, ofKey: row.key, in: connection)
    try table.compute(table.alwaysComputed, ofKey: row.key, in: connection)
  }

  private func refusal(_ error: SQLError, _ table: RecordTable, holder: RecordName? = nil) -> StorageRefusal {
    if case .unique(let columns) = error.constraint {
      return .notUnique(columns: columns.map { $0.split(separator: ".").last.map(String.init) ?? $0 }, holder: holder)
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
