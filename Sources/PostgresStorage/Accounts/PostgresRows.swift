import ServerStorage
import SyncModel

/// The rows of an account in a transaction. Each call is one statement, whatever the number of names.
///
/// A name is looked up in a subquery with a limit, which PostgreSQL evaluates for each name. A plain join could read the whole
/// account and look for each row among the names, with a plan from a time when the account was small.
class PostgresRows: AccountRows {
  let connection: PostgresConnection
  let account: PostgresValue
  private var knownHeader: AccountHeader
  /// The form of the account's values.
  final var form = ValueForm.unsealed

  init(_ connection: PostgresConnection, _ account: PostgresValue, _ header: AccountHeader) {
    (self.connection, self.account, knownHeader) = (connection, account, header)
  }

  /// Runs a statement after all changes so far.
  func run(_ command: Statement.Command) throws -> PostgresResult { try connection.run(command) }

  final func header() throws -> AccountHeader { knownHeader }

  final func set(_ header: AccountHeader) { knownHeader = header }

  final func records(_ names: [RecordName]) throws -> [RecordRow] {
    if names.isEmpty { return [] }
    return try run(Self.recordsByName(account, names.types, names.uuids)).map { try RecordRow($0, in: form) }
  }

  private static let recordsByName = Statement(
    """
    SELECT \(RecordRow.columns("found")) FROM unnest($2::text[], $3::text[]) AS wanted (entity_type, entity_uuid)
    CROSS JOIN LATERAL (
      SELECT * FROM fieldvault.record AS record
      WHERE record.account_id = $1::uuid AND record.entity_type = wanted.entity_type
        AND record.entity_uuid = wanted.entity_uuid
      LIMIT 1) AS found
    """)

  final func records(with ids: [AssignedId]) throws -> [AssignedId: RecordName] {
    let types = ids.map { IndexText.of($0.entityType) }
    let found = try run(Self.recordsById(account, .texts(types), .integers(ids.map(\.serverId)))).map { row in
      let id = ids[Int(row.integer(0)) - 1]
      return (id, RecordName(id.entityType, row.text(1)))
    }
    return Dictionary(found, uniquingKeysWith: { $1 })
  }

  private static let recordsById = Statement(
    """
    SELECT wanted.place, found.entity_uuid
    FROM unnest($2::text[], $3::bigint[]) WITH ORDINALITY AS wanted (entity_type, server_id, place)
    CROSS JOIN LATERAL (
      SELECT record.entity_uuid FROM fieldvault.record AS record
      WHERE record.account_id = $1::uuid AND record.entity_type = wanted.entity_type
        AND record.server_id = wanted.server_id
      LIMIT 1) AS found
    """)

  final func page(_ selection: PageSelection, limit: Int) throws -> [RecordRow] {
    try run(Self.page.with([account] + selection.values + [.integer(Int64(limit))])).map { try RecordRow($0, in: form) }
  }

  final func changes(_ selection: PageSelection, limit: Int, weight: Int) throws -> ChangeRows {
    try changes(limit: limit, weight: weight, after: selection.after) { sequence, limit in
      var selection = selection
      selection.after = sequence
      let statement = selection.onlyLive && !selection.withSeeds ? Self.liveChanges : Self.changes
      return statement.with([account] + selection.values + [.integer(limit)])
    }
  }

  /// - Parameter command: returns the query of the rows after a number of the sequence.
  final func changes(
    limit: Int, weight: Int, after sequence: Int64,
    _ command: (_ sequence: Int64, _ limit: Int64) -> Statement.Command
  ) throws -> ChangeRows {
    var page = ChangeRows(rows: [], isLast: true)
    var (sequence, left) = (sequence, weight)
    // Parts, because a whole page of large records would take much memory.
    while true {
      let part = min(Self.rowsAtOnce, limit - page.rows.count)
      let found = try run(command(sequence, Int64(part + 1)))
      for index in 0..<min(found.count, part) {
        guard left > 0 else {
          page.isLast = false
          return page
        }
        let record = try ChangedRecord(found.row(index), in: form)
        left -= record.weight
        page.rows.append(record)
      }
      guard found.count > part else { return page }
      guard page.rows.count < limit, let last = page.rows.last else {
        page.isLast = false
        return page
      }
      sequence = last.sequence
    }
  }

  private static let rowsAtOnce = 200

  private static let page = selected(RecordRow.columns("record"))
  private static let changes = selected(ChangedRecord.columns("record"))

  private static func selected(_ columns: String) -> Statement {
    Statement(
      """
      SELECT \(columns) FROM fieldvault.record AS record
      WHERE account_id = $1::uuid AND sequence > $2::bigint
        AND ($3::text[] IS NULL OR project IS NULL OR project = ANY ($3::text[]))
        AND ($4::boolean IS FALSE OR is_deleted IS FALSE OR first_version = 0)
      ORDER BY sequence LIMIT $5::bigint
      """)
  }

  private static let liveChanges = Statement(
    """
    SELECT \(ChangedRecord.columns("record")) FROM fieldvault.record AS record
    WHERE account_id = $1::uuid AND sequence > $2::bigint AND is_deleted IS FALSE
      AND ($3::text[] IS NULL OR project IS NULL OR project = ANY ($3::text[])) AND $4::boolean
    ORDER BY sequence LIMIT $5::bigint
    """)

  final func count(after sequence: Int64, projects: Set<String>?) throws -> Int {
    let command = Self.count(account, .integer(sequence), projects.map { .texts($0.map { $0 }) } ?? .null)
    return Int(try run(command).first { $0.integer(0) } ?? 0)
  }

  private static let count = Statement(
    """
    SELECT count(*) FROM fieldvault.record
    WHERE account_id = $1::uuid AND sequence > $2::bigint
      AND ($3::text[] IS NULL OR project IS NULL OR project = ANY ($3::text[]))
    """)

  final func buckets(of entityType: String?, projects: Set<String>?) throws -> [(name: BucketName, sum: DigestSum)] {
    try run(
      Self.bucketsByEntity(account, .optional(entityType), projects.map { .texts($0.map { $0 }) } ?? .null)
    ).map { try bucket($0) }
  }

  private static let bucketsByEntity = Statement(
    """
    SELECT entity_type, project, bucket, count, digest FROM fieldvault.bucket
    WHERE account_id = $1::uuid AND ($2::text IS NULL OR entity_type = $2::text)
      AND ($3::text[] IS NULL OR project = ANY ($3::text[]))
    """)

  final func buckets(_ names: [BucketName]) throws -> [BucketName: DigestSum] {
    let found = try run(
      Self.bucketsByName(
        account, .texts(names.map(\.entityType)), .texts(names.map(\.project)), .texts(names.map(\.bucket))))
    return Dictionary(try found.map { try bucket($0) }.map { ($0.name, $0.sum) }, uniquingKeysWith: { $1 })
  }

  private static let bucketsByName = Statement(
    """
    SELECT wanted.entity_type, wanted.project, wanted.bucket, found.count, found.digest
    FROM unnest($2::text[], $3::text[], $4::text[]) AS wanted (entity_type, project, bucket)
    CROSS JOIN LATERAL (
      SELECT count, digest FROM fieldvault.bucket AS bucket
      WHERE bucket.account_id = $1::uuid AND bucket.entity_type = wanted.entity_type
        AND bucket.project = wanted.project AND bucket.bucket = wanted.bucket
      LIMIT 1) AS found
    """)

  private func bucket(_ row: PostgresRow) throws -> (name: BucketName, sum: DigestSum) {
    let name = BucketName(entityType: row.text(0), project: row.text(1), bucket: row.text(2))
    let digest = try form.text(row.text(4), at: .bucket(name))
    guard let sum = DigestSum(DigestSummary(count: row.integer(3), digest: digest)) else {
      throw ServerError(.system, "a row of fieldvault.bucket has no digest")
    }
    return (name, sum)
  }

  final func recordDigests(of entityType: String, buckets: [String], projects: Set<String>?) throws -> [RecordDigest] {
    try run(
      Self.digestsOfBuckets(
        account, .text(entityType), .texts(buckets), projects.map { .texts($0.map { $0 }) } ?? .null)
    ).map { row in
      let (uuid, version) = (row.text(0), row.integer(1))
      return RecordDigest(
        entityUuid: uuid, version: version,
        digest: try RecordRow.digest(row.text(2), of: entityType, uuid, version: version, in: form),
        serverId: .integer(row.integer(3)))
    }
  }

  private static let digestsOfBuckets = Statement(
    """
    SELECT entity_uuid, version, digest, server_id FROM fieldvault.record
    WHERE account_id = $1::uuid AND entity_type = $2::text AND is_deleted IS FALSE
      AND right(entity_uuid, 2) = ANY ($3::text[])
      AND ($4::text[] IS NULL OR project IS NULL OR project = ANY ($4::text[]))
    """)

  final func holders(of values: [UniqueValue]) throws -> [UniqueValue: RecordName] {
    let found = try run(
      Self.holdersByValue(
        account, .texts(values.map(\.entityType)), .texts(values.map(\.key)),
        .texts(values.map { form.indexed($0.value) }), .integers(values.indices.map { Int64($0) })))
    var holders: [UniqueValue: RecordName] = [:]
    for index in 0..<found.count {
      let row = found.row(index)
      let value = values[Int(row.integer(0))]
      holders[value] = RecordName(value.entityType, row.text(1))
    }
    return holders
  }

  private static let holdersByValue = Statement(
    """
    SELECT wanted.place, found.entity_uuid
    FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[]) AS wanted (entity_type, key_name, value, place)
    CROSS JOIN LATERAL (
      SELECT entity_uuid FROM fieldvault.unique_key AS held
      WHERE held.account_id = $1::uuid AND held.entity_type = wanted.entity_type AND held.key_name = wanted.key_name
        AND held.value = wanted.value
      LIMIT 1) AS found
    """)

  final func dependents(_ reference: ReferenceValue, after uuid: String?, limit: Int) throws -> [String] {
    try run(
      Self.dependentsByReference(
        account, .text(reference.entityType), .text(reference.reference), .text(form.indexed(reference.target)),
        .text(uuid ?? ""), .integer(Int64(limit)))
    ).map { $0.text(0) }
  }

  private static let dependentsByReference = Statement(
    """
    SELECT entity_uuid FROM fieldvault.reference
    WHERE account_id = $1::uuid AND entity_type = $2::text AND reference = $3::text AND target = $4::text
      AND entity_uuid > $5::text
    ORDER BY entity_uuid LIMIT $6::bigint
    """)

  final func dependents(of references: [ReferenceValue], limit: Int) throws -> [ReferenceValue: [String]] {
    let found = try run(
      Self.dependentsByReferences(
        account, .texts(references.map(\.entityType)), .texts(references.map(\.reference)),
        .texts(references.map { form.indexed($0.target) }), .integers(references.indices.map { Int64($0) }),
        .integer(Int64(limit))))
    var dependents: [ReferenceValue: [String]] = [:]
    for index in 0..<found.count {
      let row = found.row(index)
      dependents[references[Int(row.integer(0))], default: []].append(row.text(1))
    }
    return dependents
  }

  private static let dependentsByReferences = Statement(
    """
    SELECT wanted.place, found.entity_uuid
    FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[]) AS wanted (entity_type, reference, target, place)
    CROSS JOIN LATERAL (
      SELECT entity_uuid FROM fieldvault.reference AS held
      WHERE held.account_id = $1::uuid AND held.entity_type = wanted.entity_type AND held.reference = wanted.reference
        AND held.target = wanted.target
      ORDER BY entity_uuid LIMIT $6::bigint) AS found
    ORDER BY wanted.place, found.entity_uuid
    """)

  final func targets(of entityType: String, reference: String, among targets: [String]) throws -> Set<String> {
    let byForm = Dictionary(targets.map { (form.indexed($0), $0) }, uniquingKeysWith: { $1 })
    let found = try run(
      Self.targetsInUse(account, .text(entityType), .text(reference), .texts(Array(byForm.keys))))
    return Set(found.map { byForm[$0.text(0)] }.compactMap { $0 })
  }

  private static let targetsInUse = Statement(
    """
    SELECT wanted.target FROM unnest($4::text[]) AS wanted (target)
    CROSS JOIN LATERAL (
      SELECT FROM fieldvault.reference AS held
      WHERE held.account_id = $1::uuid AND held.entity_type = $2::text AND held.reference = $3::text
        AND held.target = wanted.target
      LIMIT 1) AS found
    """)

  func jobs() throws -> [AccountJob] { try run(Self.jobs(account)).map(AccountJob.init) }

  static let jobs = Statement(
    """
    SELECT number, kind, entity_type, entity_uuid, reference, after, time FROM fieldvault.job
    WHERE account_id = $1::uuid ORDER BY number
    """)

  final func lastServerIds() throws -> [String: Int64] {
    Dictionary(
      try run(Self.counters(account)).map { ($0.text(0), $0.integer(1)) }, uniquingKeysWith: { first, _ in first })
  }

  private static let counters = Statement(
    "SELECT entity_type, last_id FROM fieldvault.counter WHERE account_id = $1::uuid")

  final func responses(_ keys: [String]) throws -> [String: StoredResponse] {
    let byForm = Dictionary(keys.map { (IndexText.of($0), $0) }, uniquingKeysWith: { $1 })
    let found = try run(Self.responsesByKey(account, .texts(Array(byForm.keys))))
    var responses: [String: StoredResponse] = [:]
    for index in 0..<found.count {
      let row = found.row(index)
      guard let key = byForm[row.text(0)] else { continue }
      responses[key] = try response(row)
    }
    return responses
  }

  /// Reads a response from its key, result and digest.
  final func response(_ row: PostgresRow) throws -> StoredResponse {
    let key = row.text(0)
    return StoredResponse(
      result: try form.text(row.text(1), at: .response("result", key)),
      digest: try row.optionalText(2).map { try form.text($0, at: .response("digest", key)) })
  }

  private static let responsesByKey = Statement(
    """
    SELECT wanted.idempotency_key, found.result, found.digest FROM unnest($2::text[]) AS wanted (idempotency_key)
    CROSS JOIN LATERAL (
      SELECT result, digest FROM fieldvault.response AS response
      WHERE response.account_id = $1::uuid AND response.idempotency_key = wanted.idempotency_key
      LIMIT 1) AS found
    """)

  final func deviceIds() throws -> [String] { try run(Self.devices(account)).map { $0.text(0) } }

  private static let devices = Statement(
    "SELECT device_id FROM fieldvault.device WHERE account_id = $1::uuid ORDER BY device_id")

  final func mark(of deviceId: String) throws -> DeviceCounter? {
    try run(Self.markOfDevice(account, .text(deviceId)))
      .first { DeviceCounter(counter: $0.integer(0), digest: try form.text($0.text(1), at: .device(deviceId))) }
  }

  private static let markOfDevice = Statement(
    "SELECT counter, digest FROM fieldvault.device WHERE account_id = $1::uuid AND device_id = $2::text")

  final func tombstones(among names: [RecordName]) throws -> Set<RecordName> {
    let found = try run(Self.tombstonesByName(account, names.types, names.uuids))
    return Set(found.map { RecordName($0.text(0), $0.text(1)) })
  }

  private static let tombstonesByName = Statement(
    """
    SELECT wanted.entity_type, wanted.entity_uuid
    FROM unnest($2::text[], $3::text[]) AS wanted (entity_type, entity_uuid)
    CROSS JOIN LATERAL (
      SELECT FROM fieldvault.tombstone AS tombstone
      WHERE tombstone.account_id = $1::uuid AND tombstone.entity_type = wanted.entity_type
        AND tombstone.entity_uuid = wanted.entity_uuid
      LIMIT 1) AS found
    """)

  final func largestStoredTime() throws -> Int64? {
    try run(Self.largestTime(account)).first { $0.optionalInteger(0) } ?? nil
  }

  private static let largestTime = Statement(
    """
    SELECT greatest(
      (SELECT max(stored_at) FROM fieldvault.response WHERE account_id = $1::uuid),
      (SELECT max(stored_at) FROM fieldvault.record WHERE account_id = $1::uuid AND is_deleted))
    """)

  final func deletions(
    before time: Int64, after place: RetentionCursor?, limit: Int
  ) throws -> [(place: RetentionCursor, name: RecordName)] {
    let place = place ?? RetentionCursor(storedAt: Int64.min, sequence: 0)
    return try run(
      Self.oldDeletions(
        account, .integer(place.storedAt), .integer(place.sequence), .integer(time), .integer(Int64(limit)))
    ).map {
      (RetentionCursor(storedAt: $0.integer(0), sequence: $0.integer(1)), RecordName($0.text(2), $0.text(3)))
    }
  }

  private static let oldDeletions = Statement(
    """
    SELECT stored_at, sequence, entity_type, entity_uuid FROM fieldvault.record
    WHERE account_id = $1::uuid AND is_deleted AND (stored_at, sequence) > ($2::bigint, $3::bigint)
      AND stored_at < $4::bigint AND first_version > 0
    ORDER BY stored_at, sequence LIMIT $5::bigint
    """)
}

extension PageSelection {
  /// The values of `$2` to `$4`. The last one asks for records that are not deleted.
  fileprivate var values: [PostgresValue] {
    [.integer(after), projects.map { .texts($0.map { $0 }) } ?? .null, .flag(onlyLive)]
  }
}
