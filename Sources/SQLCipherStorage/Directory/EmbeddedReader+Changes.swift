import CipherSQL
import ServerStorage
import SyncModel

extension EmbeddedReader {
  /// A page ends early when its records are large: about as many bytes as a push may have.
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

  /// The records among these that a job will delete.
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
      throw ServerError(.system, "a row of ServerBucket holds no digest")
    }
    return sum
  }

  func recordDigests(
    of entityType: String, bucket: String, projects: Set<String>?
  ) throws -> [RecordDigest] {
    guard let table = map.tables[entityType] else { return [] }
    return try connection.fetchRows(
      """
      SELECT entityUuid, syncVersion, digest FROM ServerRecord
      JOIN \(identifier: table.entity.table.name) AS record ON record.uuid = entityUuid
      WHERE entityType = \(entityType) AND ServerRecord.isDeleted = 0 AND substr(entityUuid, -2) = \(bucket)
        AND \(Self.belonging(to: projects))
      """, as: String.self, Int64.self, String.self
    ).map { RecordDigest(entityUuid: $0, version: $1, digest: $2) }
  }

  private static func belonging(to projects: Set<String>?) -> SQL {
    guard let projects else { return "1" }
    return "(project IS NULL OR project IN (\(list: projects.sorted())))"
  }
}
