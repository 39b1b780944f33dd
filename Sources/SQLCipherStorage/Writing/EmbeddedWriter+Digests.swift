import CipherSQL
import ServerStorage
import SyncModel

/// The sums of digests: the table `ServerBucket`.
extension EmbeddedWriter {
  /// The digest that a record adds to the sum of its bucket.
  struct Counted: Equatable {
    var project: String?
    var digest: String
  }

  /// The stored data of a record before a change.
  struct Stored {
    var project: String?
    var digest: String
    /// The digest in the sums; `nil` for a deleted record.
    var counted: Counted?
  }

  func stored(_ name: RecordName) throws -> Stored? {
    try connection.withStatement(
      "SELECT project, digest, isDeleted FROM ServerRecord WHERE entityType = ? AND entityUuid = ?"
    ) { statement in
      try statement.bind(name.entityType, at: 1)
      try statement.bind(name.entityUuid, at: 2)
      guard try statement.step() else { return nil }
      let project: String? = try statement.row.decode(at: 0)
      let digest: String = try statement.row.decode(at: 1)
      let isDeleted: Bool = try statement.row.decode(at: 2)
      return Stored(
        project: project, digest: digest, counted: isDeleted ? nil : Counted(project: project, digest: digest))
    }
  }

  /// Replaces the digest of a record in the sums.
  func count(_ name: RecordName, from old: Counted?, to new: Counted?) throws {
    if old == new { return }
    if let old, let new, old.project == new.project {
      return try changeBucket(of: name, old.project) { sum in
        sum.remove(old.digest)
        sum.add(new.digest)
      }
    }
    if let old { try changeBucket(of: name, old.project) { $0.remove(old.digest) } }
    if let new { try changeBucket(of: name, new.project) { $0.add(new.digest) } }
  }

  private func changeBucket(of name: RecordName, _ project: String?, _ change: (inout DigestSum) -> Void) throws {
    let bucket = RecordDigest.bucket(of: name.entityUuid)
    var sum = try connection.withStatement(
      "SELECT count, digest FROM ServerBucket WHERE entityType = ? AND project = ? AND bucket = ?"
    ) { statement -> DigestSum in
      try statement.bind(name.entityType, at: 1)
      try statement.bind(project ?? "", at: 2)
      try statement.bind(bucket, at: 3)
      guard try statement.step() else { return DigestSum() }
      return try EmbeddedReader.sum(statement.row.decode(at: 0), statement.row.decode(at: 1))
    }
    change(&sum)
    let summary = sum.summary
    try connection.withStatement(
      """
      INSERT INTO ServerBucket (entityType, project, bucket, count, digest) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (entityType, project, bucket) DO UPDATE SET count = excluded.count, digest = excluded.digest
      """
    ) { statement in
      try statement.bind(name.entityType, at: 1)
      try statement.bind(project ?? "", at: 2)
      try statement.bind(bucket, at: 3)
      try statement.bind(summary.count, at: 4)
      try statement.bind(summary.digest, at: 5)
      try statement.run()
    }
  }

  // MARK: After a schema file

  /// Returns the schema versions of the account. A schema file may change the values of any record.
  func appliedSchemas() throws -> String {
    try connection.fetchOne(
      """
      SELECT group_concat(schema || ' ' || version, ', ') FROM
        (SELECT schema, max(version) AS version FROM SchemaMigration GROUP BY schema ORDER BY schema)
      """, as: String.self) ?? ""
  }

  /// Recomputes stored digests after a schema file was applied, within a time limit.
  /// - Returns: whether any are left.
  func refreshDigests(for schemas: String, within budget: ThreadTime) throws -> Bool {
    let state = try connection.fetchRows(
      "SELECT digestSchemas, pendingSchemas, digestSequence FROM ServerState", as: Optional<String>.self,
      Optional<String>.self, Int64.self
    ).first
    if state?.0 == schemas { return false }
    var place = state?.2 ?? 0
    if state?.1 != schemas {
      place = 0
      try connection.execute("DELETE FROM ServerBucket")
      try connection.execute("UPDATE ServerState SET digestSchemas = NULL, pendingSchemas = \(schemas)")
    }
    let limit = 500
    let page = try connection.fetchRows(
      """
      SELECT sequence, entityType, entityUuid, project FROM ServerRecord
      WHERE sequence > \(place) ORDER BY sequence LIMIT \(limit)
      """, as: Int64.self, String.self, String.self, Optional<String>.self)
    var isCut = page.count == limit
    for (sequence, type, uuid, project) in page {
      try refreshDigest(of: RecordName(type, uuid), project)
      place = sequence
      if budget.isOver {
        isCut = true
        break
      }
    }
    try connection.execute(
      """
      UPDATE ServerState SET digestSequence = \(place), digestSchemas = \((isCut ? nil : schemas).sqlArgument)
      """)
    return isCut
  }

  private func refreshDigest(of name: RecordName, _ project: String?) throws {
    guard let record = try reader.record(name), !record.state.isDeleted else { return }
    let digest = digest(of: record)
    try connection.execute("UPDATE ServerRecord SET digest = \(digest) WHERE sequence = \(record.sequence)")
    try count(name, from: nil, to: Counted(project: project, digest: digest))
  }

  /// Returns the record digest that `WireFormat.md` defines.
  func digest(of record: ServerRecord) -> String {
    RecordDigest(
      record.name.entityType, record.name.entityUuid, version: record.version, createdAt: record.createdAt,
      updatedAt: record.state.updatedAt, fields: record.state.fields,
      columns: map.tables[record.name.entityType]?.digestColumns ?? DigestColumns()
    ).digest
  }
}
