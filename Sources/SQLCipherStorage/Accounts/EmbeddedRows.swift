import CipherSQL
import ServerStorage
import SyncModel

/// The rows of an account in its SQLCipher database. A statement costs no round trip here, so the names of a list are
/// looked up one by one.
class EmbeddedRows: AccountRows {
  let connection: Connection

  init(_ connection: Connection) { self.connection = connection }

  /// The reference by which the records of a bucket are found: its target is the bucket. No column has this name.
  static let bucketReference = ",bucket"

  /// Moves new references before references are read, because the search through new ones is linear. A reader cannot move them.
  func settleReferences() throws {}

  final func header() throws -> AccountHeader {
    var header = AccountHeader(lastSequence: 0, horizon: 0, forgottenVersion: 0, epochs: [], epochStart: 0)
    try connection.withStatement("SELECT lastSequence, horizon, forgottenVersion, recordCount FROM ServerState") {
      statement in
      guard try statement.step() else { return }
      header.lastSequence = try statement.row.decode(at: 0)
      header.horizon = try statement.row.decode(at: 1)
      header.forgottenVersion = try statement.row.decode(at: 2)
      header.recordCount = try statement.row.decode(at: 3)
    }
    try connection.withStatement("SELECT epoch, startSequence FROM ServerEpoch ORDER BY number") { statement in
      while try statement.step() {
        header.epochs.append(try statement.row.decode(at: 0))
        header.epochStart = try statement.row.decode(at: 1)
      }
    }
    return header
  }

  /// The columns of a row, in the order in which `RecordRow` reads them.
  private static let columns = """
    sequence, entityType, entityUuid, serverId, version, firstVersion, isDeleted, isCascaded, rootType, rootUuid, project,
    digest, createdAt, updatedAt, storedAt, fields, userEditedFields, editTimes, fieldVersions, startVersions,
    serviceFields, keys
    """

  final func records(_ names: [RecordName]) throws -> [RecordRow] {
    try connection.withStatement(
      """
      SELECT \(Self.columns)
      FROM ServerRecord WHERE entityType = ? AND entityUuid = ?
      """
    ) { statement in
      var rows: [RecordRow] = []
      for name in names {
        try statement.bind(name.entityType, at: 1)
        try statement.bind(name.entityUuid, at: 2)
        if try statement.step() { rows.append(try RecordRow(statement.row)) }
        statement.reset()
      }
      return rows
    }
  }

  final func records(with ids: [AssignedId]) throws -> [AssignedId: RecordName] {
    try connection.withStatement(
      "SELECT entityUuid FROM ServerRecord WHERE entityType = ? AND serverId = ?"
    ) { statement in
      try ids.reduce(into: [:]) { found, id in
        try statement.bind(id.entityType, at: 1)
        try statement.bind(id.serverId, at: 2)
        if try statement.step() { found[id] = RecordName(id.entityType, try statement.row.decode(at: 0)) }
        statement.reset()
      }
    }
  }

  final func page(_ selection: PageSelection, limit: Int) throws -> [RecordRow] {
    let sql: SQL = """
      SELECT \(raw: Self.columns)
      FROM ServerRecord WHERE sequence > \(selection.after) AND \(selection.condition) ORDER BY sequence LIMIT \(limit)
      """
    return try connection.withStatement(sql.text) { statement in
      try statement.bind(sql.arguments)
      var rows: [RecordRow] = []
      while try statement.step() { rows.append(try RecordRow(statement.row)) }
      return rows
    }
  }

  final func changes(_ selection: PageSelection, limit: Int, weight: Int) throws -> ChangeRows {
    try changes(
      """
      SELECT \(raw: ChangedRecord.columns)
      FROM ServerRecord WHERE sequence > \(selection.after) AND \(selection.condition) ORDER BY sequence
      """, limit: limit, weight: weight)
  }

  private func changes(_ sql: SQL, limit: Int, weight: Int) throws -> ChangeRows {
    var page = ChangeRows(rows: [], isLast: true)
    var left = weight
    try connection.withStatement(sql.text) { statement in
      try statement.bind(sql.arguments)
      while try statement.step() {
        guard page.rows.count < limit, left > 0 else {
          page.isLast = false
          return
        }
        let record = try ChangedRecord(statement.row)
        left -= record.weight
        page.rows.append(record)
      }
    }
    return page
  }

  final func changes(
    of projects: Set<String>, in numbers: ClosedRange<Int64>, limit: Int, weight: Int
  ) throws -> ChangeRows {
    try changes(
      """
      SELECT \(raw: ChangedRecord.columns)
      FROM ServerRecord INDEXED BY ServerRecord_live
      WHERE isDeleted IN (0, 1) AND project IN (\(list: projects.sorted())) AND sequence > \(numbers.lowerBound)
        AND sequence <= \(numbers.upperBound)
      ORDER BY sequence
      """, limit: limit, weight: weight)
  }

  final func count(after sequence: Int64, projects: Set<String>?) throws -> Int {
    let selection = PageSelection(after: sequence, projects: projects)
    // The plus keeps SQLite from reading the whole rows: an index holds all that is counted.
    return try connection.fetchOne(
      """
      SELECT count(*) FROM ServerRecord INDEXED BY ServerRecord_live
      WHERE isDeleted IN (0, 1) AND +sequence > \(selection.after) AND \(selection.condition)
      """, as: Int.self) ?? 0
  }

  final func buckets(of entityType: String?, projects: Set<String>?) throws -> [(name: BucketName, sum: DigestSum)] {
    let entity: SQL = entityType.map { "entityType = \($0)" } ?? "1"
    let scope: SQL = projects.map { "project IN (\(list: $0.sorted()))" } ?? "1"
    return try connection.fetchRows(
      "SELECT entityType, project, bucket, count, digest FROM ServerBucket WHERE \(entity) AND \(scope)",
      as: String.self, String.self, String.self, Int64.self, String.self
    ).map { (BucketName(entityType: $0.0, project: $0.1, bucket: $0.2), try Self.sum($0.3, $0.4)) }
  }

  final func buckets(_ names: [BucketName]) throws -> [BucketName: DigestSum] {
    try connection.withStatement(
      "SELECT count, digest FROM ServerBucket WHERE entityType = ? AND project = ? AND bucket = ?"
    ) { statement in
      var sums: [BucketName: DigestSum] = [:]
      for name in names {
        try statement.bind(name.entityType, at: 1)
        try statement.bind(name.project, at: 2)
        try statement.bind(name.bucket, at: 3)
        if try statement.step() { sums[name] = try Self.sum(statement.row.decode(at: 0), statement.row.decode(at: 1)) }
        statement.reset()
      }
      return sums
    }
  }

  private static func sum(_ count: Int64, _ digest: String) throws -> DigestSum {
    guard let sum = DigestSum(DigestSummary(count: count, digest: digest)) else {
      throw ServerError(.system, "a row of ServerBucket has no digest")
    }
    return sum
  }

  final func recordDigests(of entityType: String, buckets: [String], projects: Set<String>?) throws -> [RecordDigest] {
    try settleReferences()
    let list = SyncValue.array(buckets.map(SyncValue.text)).json
    let scope = PageSelection(after: 0, projects: projects).condition
    func records(of table: SQL) -> SQL {
      """
      SELECT record.entityUuid, record.version, record.digest, record.serverId FROM \(table) AS member CROSS JOIN ServerRecord AS record
        ON record.entityType = member.entityType AND record.entityUuid = member.entityUuid
      WHERE member.entityType = \(entityType) AND member.reference = \(Self.bucketReference)
        AND member.target IN (SELECT value FROM json_each(\(list))) AND record.isDeleted = 0 AND \(scope)
      """
    }
    return try connection.fetchRows(
      "\(records(of: "ServerReference")) UNION ALL \(records(of: "ServerNewReference"))", as: String.self, Int64.self,
      String.self, Int64.self
    ).map { RecordDigest(entityUuid: $0, version: $1, digest: $2, serverId: .integer($3)) }
  }

  final func holders(of values: [UniqueValue]) throws -> [UniqueValue: RecordName] {
    try connection.withStatement(
      "SELECT entityUuid FROM ServerUniqueKey WHERE entityType = ? AND keyName = ? AND value = ?"
    ) { statement in
      var holders: [UniqueValue: RecordName] = [:]
      for value in values {
        try statement.bind(value.entityType, at: 1)
        try statement.bind(value.key, at: 2)
        try statement.bind(value.value, at: 3)
        if try statement.step() { holders[value] = RecordName(value.entityType, try statement.row.decode(at: 0)) }
        statement.reset()
      }
      return holders
    }
  }

  final func dependents(_ reference: ReferenceValue, after uuid: String?, limit: Int) throws -> [String] {
    try settleReferences()
    return try connection.withStatement(
      """
      SELECT entityUuid FROM ServerReference
      WHERE entityType = ?1 AND reference = ?2 AND target = ?3 AND entityUuid > ?4
      UNION ALL
      SELECT entityUuid FROM ServerNewReference
      WHERE entityType = ?1 AND reference = ?2 AND target = ?3 AND entityUuid > ?4
      ORDER BY entityUuid LIMIT ?5
      """
    ) { statement in
      try statement.bind(reference.entityType, at: 1)
      try statement.bind(reference.reference, at: 2)
      try statement.bind(reference.target, at: 3)
      try statement.bind(uuid ?? "", at: 4)
      try statement.bind(Int64(limit), at: 5)
      var uuids: [String] = []
      while try statement.step() { uuids.append(try statement.row.decode(at: 0)) }
      return uuids
    }
  }

  final func dependents(of references: [ReferenceValue], limit: Int) throws -> [ReferenceValue: [String]] {
    try references.reduce(into: [:]) { $0[$1] = try dependents($1, after: nil, limit: limit) }
  }

  final func targets(of entityType: String, reference: String, among targets: [String]) throws -> Set<String> {
    try settleReferences()
    let list = SyncValue.array(targets.map { .text($0) }).json
    func selection(_ table: SQL) -> SQL {
      """
      SELECT DISTINCT target FROM \(table)
      WHERE entityType = \(entityType) AND reference = \(reference) AND target IN (SELECT value FROM json_each(\(list)))
      """
    }
    return Set(
      try connection.fetch(
        "\(selection("ServerReference")) UNION ALL \(selection("ServerNewReference"))", as: String.self))
  }

  final func jobs() throws -> [AccountJob] {
    try connection.withStatement(
      "SELECT number, kind, entityType, entityUuid, reference, after, time FROM ServerJob ORDER BY number"
    ) { statement in
      var jobs: [AccountJob] = []
      while try statement.step() {
        let row = statement.row
        jobs.append(
          AccountJob(
            number: try row.decode(at: 0), kind: AccountJob.Kind(rawValue: try row.decode(at: 1)) ?? .cascade,
            name: RecordName(try row.decode(at: 2), try row.decode(at: 3)), reference: try row.decode(at: 4),
            after: try row.decode(at: 5), time: try row.decode(at: 6)))
      }
      return jobs
    }
  }

  final func lastServerIds() throws -> [String: Int64] {
    Dictionary(
      try connection.fetchRows("SELECT entityType, lastId FROM ServerCounter", as: String.self, Int64.self),
      uniquingKeysWith: { first, _ in first })
  }

  final func responses(_ keys: [String]) throws -> [String: StoredResponse] {
    try connection.withStatement("SELECT answer, digest FROM ServerAnswer WHERE idempotencyKey = ?") { statement in
      var responses: [String: StoredResponse] = [:]
      for key in keys {
        try statement.bind(key, at: 1)
        if try statement.step() {
          responses[key] = StoredResponse(
            result: try statement.row.decode(at: 0), digest: try statement.row.decode(at: 1))
        }
        statement.reset()
      }
      return responses
    }
  }

  final func deviceIds() throws -> [String] {
    try connection.fetch("SELECT deviceId FROM ServerDevice ORDER BY deviceId", as: String.self)
  }

  final func mark(of deviceId: String) throws -> DeviceCounter? {
    try connection.withStatement("SELECT counter, digest FROM ServerDevice WHERE deviceId = ?") { statement in
      try statement.bind(deviceId, at: 1)
      guard try statement.step() else { return nil }
      return DeviceCounter(counter: try statement.row.decode(at: 0), digest: try statement.row.decode(at: 1))
    }
  }

  final func tombstones(among names: [RecordName]) throws -> Set<RecordName> {
    try connection.withStatement("SELECT 1 FROM ServerTombstone WHERE entityType = ? AND entityUuid = ?") { statement in
      var found: Set<RecordName> = []
      for name in names {
        try statement.bind(name.entityType, at: 1)
        try statement.bind(name.entityUuid, at: 2)
        if try statement.step() { found.insert(name) }
        statement.reset()
      }
      return found
    }
  }

  final func memberships(of holders: [String]) throws -> [Membership] {
    try holders.flatMap { try memberships(where: "holder = \($0)") }
  }

  final func memberships(of projects: [String], holders: [String]) throws -> [Membership] {
    try projects.flatMap { project in
      try memberships(where: "project = \(project) AND source = \(project)")
        + holders.flatMap { try memberships(where: "holder = \($0) AND project = \(project)") }
    }
  }

  private func memberships(where condition: SQL) throws -> [Membership] {
    try connection.fetchRows(
      "SELECT source, holder, project, isMember, sequence FROM ServerMembership WHERE \(condition)", as: String.self,
      String.self, String.self, Bool.self, Int64.self
    ).map { Membership(Membership.Key(source: $0.0, holder: $0.1, project: $0.2), isMember: $0.3, sequence: $0.4) }
  }

  final func largestStoredTime() throws -> Int64? {
    try connection.fetch(
      """
      SELECT time FROM (
        SELECT max(storedAt) AS time FROM ServerAnswer
        UNION ALL SELECT max(storedAt) FROM ServerRecord INDEXED BY ServerRecord_deletions WHERE isDeleted = 1)
      WHERE time IS NOT NULL
      """, as: Int64.self
    ).max()
  }

  final func deletions(
    before time: Int64, after place: RetentionCursor?, limit: Int
  ) throws -> [(place: RetentionCursor, name: RecordName)] {
    let place = place ?? RetentionCursor(storedAt: Int64.min, sequence: 0)
    return try connection.fetchRows(
      """
      SELECT storedAt, sequence, entityType, entityUuid FROM ServerRecord INDEXED BY ServerRecord_deletions
      WHERE isDeleted = 1 AND (storedAt, sequence) > (\(place.storedAt), \(place.sequence)) AND storedAt < \(time)
        AND firstVersion > 0
      ORDER BY storedAt, sequence LIMIT \(limit)
      """, as: Int64.self, Int64.self, String.self, String.self
    ).map { (RetentionCursor(storedAt: $0.0, sequence: $0.1), RecordName($0.2, $0.3)) }
  }
}

extension PageSelection {
  /// The records of the selection, without the number after which they changed.
  fileprivate var condition: SQL {
    let visible: SQL = onlyLive ? (withSeeds ? "(isDeleted = 0 OR firstVersion = 0)" : "isDeleted = 0") : "1"
    guard let projects else { return visible }
    return "\(visible) AND (project IS NULL OR project IN (\(list: projects.sorted())))"
  }
}
