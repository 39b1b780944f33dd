import CipherSQL
import OfflineStore
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

  var identity: String { get throws { try reader.identity } }
  var lastSequence: Int64 { get throws { try reader.lastSequence } }
  var horizon: Int64 { get throws { try reader.horizon } }
  func record(_ name: RecordName) throws -> ServerRecord? { try reader.record(name) }
  func isDeleted(_ name: RecordName) throws -> Bool? { try reader.isDeleted(name) }

  func changes(after sequence: Int64?, limit: Int, projects: Set<String>?) throws -> ChangePage {
    try reader.changes(after: sequence, limit: limit, projects: projects)
  }

  func forEachDigest(
    _ entityType: String, bucket: String?, projects: Set<String>?, _ body: (RecordDigest) -> Void
  ) throws {
    try reader.forEachDigest(entityType, bucket: bucket, projects: projects, body)
  }

  func contentsInUse(among contents: [String]) throws -> Set<String> { try reader.contentsInUse(among: contents) }

  func attempt<Result>(_ body: () throws -> Result) throws -> Result { try connection.savepoint(body) }

  func answer(to operationId: String) throws -> String? {
    try connection.withStatement("SELECT answer FROM ServerAnswer WHERE operationId = ?") { statement in
      try statement.bind(operationId, at: 1)
      return try statement.step() ? try statement.row.decode(at: 0) : nil
    }
  }

  func keep(answer: String, to operationId: String, at time: Int64) throws {
    try connection.withStatement("INSERT INTO ServerAnswer (operationId, answer, storedAt) VALUES (?, ?, ?)") {
      statement in
      try statement.bind(operationId, at: 1)
      try statement.bind(answer, at: 2)
      try statement.bind(time, at: 3)
      try statement.run()
    }
  }

  func store(_ new: NewVersion, at time: Int64) throws -> ServerRecord {
    guard let table = map.tables[new.name.entityType] else {
      throw StorageRefusal.invalid(field: "entityType", message: "there is no such kind of record")
    }
    var state = new.state
    state.syncVersion = (new.previous?.version ?? 0) + 1
    let serverId = try new.previous?.serverId ?? nextServerId(new.name.entityType)
    try write(new, state, serverId, table, at: time)
    guard let row = try table.find(new.name.entityUuid, in: connection) else {
      throw ServerError(.system, "a row of \(new.name.entityType) is not there after it was written")
    }
    state.fields = row.state.fields
    let record = ServerRecord(
      name: new.name, serverId: serverId, sequence: try nextSequence(), createdAt: row.createdAt, state: state,
      fieldVersions: Self.fieldVersions(from: new.previous, to: state), firstVersion: new.previous?.firstVersion ?? 1)
    try note(record, at: time)
    return record
  }

  private func write(
    _ new: NewVersion, _ state: RecordState, _ serverId: Int64, _ table: RecordTable, at time: Int64
  ) throws {
    let bookkeeping = RecordTable.Bookkeeping(
      serverId: .integer(serverId), createdAt: new.previous == nil ? new.createdAt : nil, lastSyncedAt: time)
    do {
      if let previous = new.previous, let row = try table.find(new.name.entityUuid, in: connection) {
        try table.update(
          row.key, from: previous.state, to: state, bookkeeping, references: references, in: connection)
        try table.compute(new.computing.filter { !table.alwaysComputed.contains($0) }, ofKey: row.key, in: connection)
        try table.compute(table.alwaysComputed, ofKey: row.key, in: connection)
      } else {
        let key = try table.insert(new.name.entityUuid, state, bookkeeping, references: references, in: connection)
        try table.compute(table.alwaysComputed, ofKey: key, in: connection)
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

  private func refusal(_ error: SQLError, _ table: RecordTable) -> StorageRefusal {
    if case .unique(let columns) = error.constraint {
      return .notUnique(columns: columns.map { $0.split(separator: ".").last.map(String.init) ?? $0 })
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
