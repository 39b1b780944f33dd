import CipherSQL
import OfflineStore
import SyncModel

/// One state of an account in its database.
struct EmbeddedReader: RecordReading {
  let connection: Connection
  let map: EntityMap

  init(_ connection: Connection, _ map: EntityMap) {
    self.connection = connection
    self.map = map
  }

  var identity: String {
    get throws { try connection.fetchOne("SELECT identity FROM ServerState", as: String.self) ?? "" }
  }

  var lastSequence: Int64 {
    get throws {
      try connection.withStatement("SELECT lastSequence FROM ServerState") { statement in
        try statement.step() ? try statement.row.decode(at: 0) : 0
      }
    }
  }

  var horizon: Int64 {
    get throws { try connection.fetchOne("SELECT horizon FROM ServerState", as: Int64.self) ?? 0 }
  }

  /// What the server keeps beside the row.
  struct Bookkeeping {
    var sequence: Int64
    var serverId: Int64
    var firstVersion: Int64
    var editTimes: [String: Int64]
    var fieldVersions: [String: Int64]
  }

  func bookkeeping(_ name: RecordName) throws -> Bookkeeping? {
    try connection.withStatement(
      """
      SELECT sequence, serverId, firstVersion, editTimes, fieldVersions FROM ServerRecord
      WHERE entityType = ? AND entityUuid = ?
      """
    ) { statement in
      try statement.bind(name.entityType, at: 1)
      try statement.bind(name.entityUuid, at: 2)
      guard try statement.step() else { return nil }
      return Bookkeeping(
        sequence: try statement.row.decode(at: 0), serverId: try statement.row.decode(at: 1),
        firstVersion: try statement.row.decode(at: 2), editTimes: try Self.numbers(statement.row.decode(at: 3)),
        fieldVersions: try Self.numbers(statement.row.decode(at: 4)))
    }
  }

  func record(_ name: RecordName) throws -> ServerRecord? {
    guard let table = map.tables[name.entityType], let kept = try bookkeeping(name),
      let row = try table.find(name.entityUuid, in: connection)
    else { return nil }
    return ServerRecord(
      name: name, serverId: kept.serverId, sequence: kept.sequence, createdAt: row.createdAt,
      state: RecordState(
        fields: row.state.fields, isDeleted: row.state.isDeleted, syncVersion: row.state.syncVersion,
        updatedAt: row.state.updatedAt, editTimes: kept.editTimes, userEditedFields: row.state.userEditedFields),
      fieldVersions: kept.fieldVersions, firstVersion: kept.firstVersion)
  }

  func isDeleted(_ name: RecordName) throws -> Bool? {
    try connection.withStatement("SELECT isDeleted FROM ServerRecord WHERE entityType = ? AND entityUuid = ?") {
      statement in
      try statement.bind(name.entityType, at: 1)
      try statement.bind(name.entityUuid, at: 2)
      return try statement.step() ? try statement.row.decode(at: 0) : nil
    }
  }

  func contentsInUse(among contents: [String]) throws -> Set<String> {
    let list = SyncValue.array(contents.map { .text($0) }).json
    var used: Set<String> = []
    for table in map.tables.values where table.columns.contains(where: { $0.name == Self.contentColumn }) {
      used.formUnion(
        try connection.fetch(
          """
          SELECT DISTINCT contentUuid FROM \(identifier: table.entity.table.name)
          WHERE contentUuid IN (SELECT value FROM json_each(\(list)))
          """, as: String.self))
    }
    return used
  }

  /// A kind of record with this column has a file.
  private static let contentColumn = "contentUuid"

  // MARK: Numbers by field, as JSON

  private static func numbers(_ text: String) throws -> [String: Int64] {
    if text == "{}" { return [:] }
    guard case .object(let object) = try SyncValue(parsing: text) else { return [:] }
    var numbers: [String: Int64] = [:]
    for member in object.members {
      if case .integer(let number) = member.value { numbers[member.name] = number }
    }
    return numbers
  }

  static func text(_ numbers: [String: Int64]) -> String {
    numbers.isEmpty ? "{}" : SyncValue.object(SyncObject(numbers.map { ($0.key, .integer($0.value)) })).json
  }
}
