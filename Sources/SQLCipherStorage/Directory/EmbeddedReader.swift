import CipherSQL
import SchemaModel
import ServerStorage
import SyncModel

/// One state of an account in its database.
struct EmbeddedReader: RecordReading {
  let connection: Connection
  let map: EntityMap
  let notes = CascadeJobCache()

  init(_ connection: Connection, _ map: EntityMap) {
    self.connection = connection
    self.map = map
  }

  var epochs: EpochHistory {
    get throws {
      EpochHistory(
        epochs: try connection.fetch("SELECT epoch FROM ServerEpoch ORDER BY number", as: String.self))
    }
  }

  func sharedVersion(of record: ServerRecord, with epoch: String) throws -> Int64? {
    try epochs.sharedVersion(of: record.version, startVersions: record.startVersions, with: epoch)
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

  var largestStoredTime: Int64? {
    get throws {
      try connection.fetch(
        """
        SELECT time FROM (
          SELECT max(storedAt) AS time FROM ServerAnswer
          UNION ALL SELECT max(storedAt) FROM ServerRecord INDEXED BY ServerRecord_deletions WHERE isDeleted = 1)
        WHERE time IS NOT NULL
        """, as: Int64.self
      ).max()
    }
  }

  /// The server's data about a record in addition to its row.
  struct Bookkeeping {
    var sequence: Int64
    var serverId: Int64
    var firstVersion: Int64
    var editTimes: [String: Int64]
    var fieldVersions: [String: Int64]
    var deletedWith: RecordName?
    var startVersions: [Int: Int64]
    var serviceFields: Set<String>
    /// The UNIQUE values that the row of a deleted record has released to another record.
    var released: SyncObject
  }

  func bookkeeping(_ name: RecordName) throws -> Bookkeeping? {
    try connection.withStatement(
      """
      SELECT sequence, serverId, firstVersion, editTimes, fieldVersions, rootType, rootUuid, startVersions, serviceFields,
        released
      FROM ServerRecord
      WHERE entityType = ? AND entityUuid = ?
      """
    ) { statement in
      try statement.bind(name.entityType, at: 1)
      try statement.bind(name.entityUuid, at: 2)
      guard try statement.step() else { return nil }
      return Bookkeeping(
        sequence: try statement.row.decode(at: 0), serverId: try statement.row.decode(at: 1),
        firstVersion: try statement.row.decode(at: 2), editTimes: try Self.numbers(statement.row.decode(at: 3)),
        fieldVersions: try Self.numbers(statement.row.decode(at: 4)),
        deletedWith: try Self.name(statement.row.decode(at: 5), statement.row.decode(at: 6)),
        startVersions: try Self.startVersions(statement.row.decode(at: 7)),
        serviceFields: try Self.names(statement.row.decode(at: 8)),
        released: try Self.released(statement.row.decode(at: 9)))
    }
  }

  func record(_ name: RecordName) throws -> ServerRecord? {
    guard let table = map.tables[name.entityType], let kept = try bookkeeping(name),
      let row = try table.find(name.entityUuid, in: connection)
    else { return nil }
    var record = ServerRecord(
      name: name, serverId: kept.serverId, sequence: kept.sequence, createdAt: row.createdAt,
      state: RecordState(
        fields: row.state.fields.overlaid(with: kept.released), isDeleted: row.state.isDeleted,
        syncVersion: row.state.syncVersion,
        updatedAt: row.state.updatedAt, editTimes: kept.editTimes, userEditedFields: row.state.userEditedFields),
      fieldVersions: kept.fieldVersions, firstVersion: kept.firstVersion, startVersions: kept.startVersions,
      deletedWith: kept.deletedWith, serviceFields: kept.serviceFields)
    record.released = kept.released
    return record
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

  func claims(on content: String) throws -> [ContentClaim] {
    try map.tables.values.compactMap { table in AttachmentEntity(table.entity) }.compactMap { attachment in
      let thumbnail: SQL = attachment.has(.thumbnailDigest) ? "thumbnailDigest" : "NULL"
      // Values of another type are passed over, as the triggers do.
      return try connection.fetchRows(
        """
        SELECT CASE typeof(contentKey) WHEN 'blob' THEN contentKey ELSE x'' END,
          CASE typeof(contentDigest) WHEN 'text' THEN contentDigest END,
          CASE typeof(\(thumbnail)) WHEN 'text' THEN \(thumbnail) END
        FROM \(identifier: attachment.entity.table.name) WHERE contentUuid = \(content) ORDER BY serverId LIMIT 1
        """, as: [UInt8].self, Optional<String>.self, Optional<String>.self
      ).first.map { ContentClaim(key: $0.0, digest: $0.1, thumbnailDigest: $0.2) }
    }
  }

  /// The column that an entity with attachments has.
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

  private static func released(_ text: String?) throws -> SyncObject {
    guard let text, case .object(let fields) = try SyncValue(parsing: text) else { return [:] }
    return fields
  }

  static func startVersions(_ text: String) throws -> [Int: Int64] {
    if text == "{}" { return [:] }
    return Dictionary(
      try numbers(text).compactMap { name, version in Int(name).map { ($0, version) } },
      uniquingKeysWith: { first, _ in first })
  }

  static func text(_ versions: [Int: Int64]) -> String {
    versions.isEmpty ? "{}" : SyncValue.object(SyncObject(versions.map { (String($0.key), .integer($0.value)) })).json
  }

  private static func names(_ text: String) throws -> Set<String> {
    guard text != "[]", case .array(let elements) = try SyncValue(parsing: text) else { return [] }
    return Set(
      elements.compactMap { element in
        if case .text(let name) = element { return name }
        return nil
      })
  }

  static func text(_ names: Set<String>) -> String {
    names.isEmpty ? "[]" : SyncValue.array(names.sorted().map { .text($0) }).json
  }

  static func text(_ numbers: [String: Int64]) -> String {
    numbers.isEmpty ? "{}" : SyncValue.object(SyncObject(numbers.map { ($0.key, .integer($0.value)) })).json
  }
}

extension EmbeddedReader {
  /// The approximate size in bytes after which a page ends early: the limit of a push.
  private static let pageWeight = 8 << 20

  func changes(after sequence: Int64?, limit: Int, projects: Set<String>?) throws -> ChangePage {
    let belongs = Self.belonging(to: projects)
    // A new device has the seed rows of the schemas, and must learn of their deletion.
    let visible: SQL = sequence == nil ? "(isDeleted = 0 OR firstVersion = 0)" : "1"
    let condition: SQL = "\(visible) AND \(belongs)"
    let start = sequence ?? 0
    let found = try connection.fetchRows(
      """
      SELECT sequence, entityType, entityUuid FROM ServerRecord
      WHERE sequence > \(start) AND \(condition) ORDER BY sequence LIMIT \(limit + 1)
      """, as: Int64.self, String.self, String.self)
    var records: [ServerRecord] = []
    var end: Int64 = start
    var weight = 0
    let deleted = try willBeDeleted(found.prefix(limit).map { RecordName($0.1, $0.2) })
    for (sequence, type, uuid) in found.prefix(limit) where weight < Self.pageWeight {
      end = sequence
      // It comes under a higher number when it is deleted.
      if deleted.contains(RecordName(type, uuid)) { continue }
      guard let record = try record(RecordName(type, uuid)) else { continue }
      weight += record.weight
      records.append(record)
    }
    if end == found.last?.0 ?? start {
      return ChangePage(records: records, end: try lastSequence, remaining: 0)
    }
    // The plus keeps SQLite from reading the whole rows: an index holds all that is counted. Deleted rows of the schemas
    // are not worth reading them for.
    let counted: SQL = sequence == nil ? "isDeleted = 0" : "1"
    let remaining = try connection.fetchOne(
      "SELECT count(*) FROM ServerRecord INDEXED BY ServerRecord_live WHERE isDeleted IN (0, 1) AND +sequence > \(end) AND \(counted) AND \(belongs)",
      as: Int.self)
    return ChangePage(records: records, end: end, remaining: remaining ?? 0)
  }

  /// Returns the records among some that a job will delete.
  private func willBeDeleted(_ names: [RecordName]) throws -> Set<RecordName> {
    guard try hasJobs() else { return [] }
    var graph = CascadeGraph<RecordName>()
    for name in names { try load(name, into: &graph) }
    return Set(
      graph.pendingChanges().compactMap { name, change in
        if case .delete = change { return name }
        return nil
      })
  }

  func entityDigests(projects: Set<String>?) throws -> [String: DigestSummary] {
    var digests: [String: DigestSummary] = [:]
    for type in map.tables.keys {
      var sum = DigestSum()
      for (_, bucket) in try buckets(of: type, projects: projects) { sum.add(bucket) }
      if sum != DigestSum() { digests[type] = sum.summary }
    }
    return digests
  }

  func bucketDigests(of entityType: String, projects: Set<String>?) throws -> [String: DigestSummary] {
    try buckets(of: entityType, projects: projects).filter { $0.value != DigestSum() }.mapValues(\.summary)
  }

  private func buckets(of entityType: String, projects: Set<String>?) throws -> [String: DigestSum] {
    let scope: SQL = projects.map { "project IN (\(list: [""] + $0.sorted()))" } ?? "1"
    let rows = try connection.fetchRows(
      "SELECT bucket, count, digest FROM ServerBucket WHERE entityType = \(entityType) AND \(scope)",
      as: String.self, Int64.self, String.self)
    var sums: [String: DigestSum] = [:]
    for (bucket, count, digest) in rows {
      sums[bucket, default: DigestSum()].add(try Self.sum(count, digest))
    }
    return sums
  }

  static func sum(_ count: Int64, _ digest: String) throws -> DigestSum {
    guard let sum = DigestSum(DigestSummary(count: count, digest: digest)) else {
      throw ServerError(.system, "a row of ServerBucket has no digest")
    }
    return sum
  }

  func recordDigests(
    of entityType: String, buckets: [String], projects: Set<String>?
  ) throws -> [RecordDigest] {
    guard let table = map.tables[entityType] else { return [] }
    let list = SyncValue.array(buckets.map(SyncValue.text)).json
    return try connection.fetchRows(
      """
      SELECT entityUuid, syncVersion, digest FROM ServerRecord
      JOIN \(identifier: table.entity.table.name) AS record ON record.uuid = entityUuid
      WHERE entityType = \(entityType) AND ServerRecord.isDeleted = 0 AND substr(entityUuid, -2) IN (SELECT value FROM json_each(\(list)))
        AND \(Self.belonging(to: projects))
      """, as: String.self, Int64.self, String.self
    ).map { RecordDigest(entityUuid: $0, version: $1, digest: $2) }
  }

  private static func belonging(to projects: Set<String>?) -> SQL {
    guard let projects else { return "1" }
    return "(project IS NULL OR project IN (\(list: projects.sorted())))"
  }
}
