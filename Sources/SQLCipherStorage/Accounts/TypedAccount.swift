import CipherSQL
import RecordStore
import SchemaModel
import ServerStorage
import SyncModel

/// The data of an account that version 0.3 or an earlier version has stored: the tables of the schemas, and the table that is
/// now called `TypedRecord`.
enum TypedAccount {
  /// Moves the records to the generic layout, and removes the tables of the schemas. Keys and digests are computed later.
  /// - Returns: `false` if the account has no such tables.
  static func move(on connection: WriteConnection) throws -> Bool {
    guard try exists("TypedRecord", connection) else { return false }
    if try exists("SyncedEntity", connection) {
      try moveRecords(EntityMap(try Entities.read(from: connection)), connection)
    }
    try moveJobs(connection)
    try connection.execute("DROP TABLE TypedRecord")
    try connection.execute("DROP TABLE TypedJob")
    try dropTables(connection)
    return true
  }

  private static func exists(_ table: String, _ connection: Connection) throws -> Bool {
    try connection.fetchOne("SELECT 1 FROM sqlite_schema WHERE name = \(table)", as: Int.self) != nil
  }

  private static func moveRecords(_ map: EntityMap, _ connection: WriteConnection) throws {
    let rows = EmbeddedRowsWriter(connection)
    // Values that were following a record when the server stopped have no version of their own yet.
    let isFollowing = try connection.fetchOne("SELECT 1 FROM TypedJob WHERE kind = 'values'", as: Int.self) != nil
    var last: Int64 = 0
    while true {
      let page = try connection.fetch(
        "SELECT sequence FROM TypedRecord WHERE sequence > \(last) ORDER BY sequence LIMIT 500", as: Int64.self)
      guard let end = page.last else { return }
      var changes = AccountChanges()
      for sequence in page {
        guard var row = try row(sequence, map.tables, connection) else { continue }
        if isFollowing, row.digest != map.digest(of: row.record) {
          row.record = try follow(row.record, rows, map.tables)
        }
        changes.records[row.name] = (nil, row)
      }
      try rows.apply(changes)
      last = end
    }
  }

  private static func row(
    _ sequence: Int64, _ tables: [String: RecordTable], _ connection: WriteConnection
  ) throws -> RecordRow? {
    try connection.withStatement(
      """
      SELECT entityType, entityUuid, serverId, firstVersion, editTimes, fieldVersions, project, digest, storedAt, wentAlong,
        rootType, rootUuid, startVersions, serviceFields, released
      FROM TypedRecord WHERE sequence = ?
      """
    ) { statement in
      try statement.bind(sequence, at: 1)
      guard try statement.step() else { return nil }
      let row = statement.row
      let name = RecordName(try row.decode(at: 0), try row.decode(at: 1))
      guard let table = tables[name.entityType], let stored = try table.find(name.entityUuid, in: connection) else {
        return nil
      }
      let released = try row.decode(String?.self, at: 14).map { try SyncObject(parsing: $0) } ?? [:]
      var state = stored.state
      state.fields = state.fields.overlaid(with: released)
      state.editTimes = try RowText.numbers(row.decode(at: 4))
      let (rootType, rootUuid): (String?, String?) = (try row.decode(at: 10), try row.decode(at: 11))
      let record = ServerRecord(
        name: name, serverId: try row.decode(at: 2), sequence: sequence, createdAt: stored.createdAt, state: state,
        fieldVersions: try RowText.numbers(row.decode(at: 5)), firstVersion: try row.decode(at: 3),
        startVersions: try RowText.startVersions(row.decode(at: 12)),
        deletedWith: rootType.flatMap { type in rootUuid.map { RecordName(type, $0) } },
        serviceFields: try RowText.names(row.decode(at: 13)))
      return RecordRow(
        record: record, isCascaded: try row.decode(at: 9), project: try row.decode(at: 6),
        digest: try row.decode(at: 7), storedAt: try row.decode(at: 8),
        keys: RecordKeys(released: table.uniqueKeyNames(of: released)))
    }
  }

  /// Gives a version to a record whose values follow those of another one.
  private static func follow(
    _ record: ServerRecord, _ rows: EmbeddedRowsWriter, _ tables: [String: RecordTable]
  ) throws -> ServerRecord {
    var header = try rows.header()
    header.lastSequence += 1
    var changes = AccountChanges()
    changes.header = header
    try rows.apply(changes)
    var state = record.state
    state.syncVersion += 1
    var versions = record.fieldVersions
    for column in tables[record.name.entityType]?.keys.flatMap(\.columns) ?? [] { versions[column] = state.syncVersion }
    return ServerRecord(
      name: record.name, serverId: record.serverId, sequence: header.lastSequence, createdAt: record.createdAt,
      state: state, fieldVersions: versions, firstVersion: record.firstVersion, startVersions: record.startVersions,
      deletedWith: record.deletedWith, serviceFields: record.serviceFields)
  }

  /// Deletions and moves that the server had not finished begin again.
  private static func moveJobs(_ connection: WriteConnection) throws {
    try connection.execute(
      """
      INSERT INTO ServerJob (number, kind, entityType, entityUuid, reference, time)
      SELECT number, kind, entityType, entityUuid, 0, time FROM TypedJob WHERE kind <> 'values'
      """)
  }

  /// Removes the tables and views of the schemas.
  private static func dropTables(_ connection: WriteConnection) throws {
    func names(_ condition: SQL) throws -> [String] {
      try connection.fetch(
        """
        SELECT name FROM sqlite_schema WHERE \(condition) AND name NOT GLOB 'sqlite_*'
          AND tbl_name NOT IN (\(list: BookkeepingSchema.tables))
        """, as: String.self)
    }
    // Triggers and indexes go with their tables.
    for name in try names("type = 'view'") { try connection.execute("DROP VIEW \(identifier: name)") }
    // A virtual table removes the tables that it consists of.
    for name in try names("type = 'table' AND sql LIKE 'CREATE VIRTUAL%'") {
      try connection.execute("DROP TABLE \(identifier: name)")
    }
    for name in try names("type = 'table'") { try connection.execute("DROP TABLE \(identifier: name)") }
  }
}

extension RecordTable {
  /// Returns the unique keys with released values.
  fileprivate func uniqueKeyNames(of released: SyncObject) -> Set<String> {
    if released.isEmpty { return [] }
    return Set(
      entity.table.uniqueIndexes.filter { $0.termColumns.contains { released[$0] != nil } }.map(\.keyName))
  }
}
