import CipherSQL
import SyncModel

extension EmbeddedReader {
  /// A page ends early when its records are large: about as many bytes as a push may have.
  private static let pageWeight = 8 << 20

  func changes(after sequence: Int64?, limit: Int, projects: Set<String>?) throws -> ChangePage {
    let belongs = Self.belonging(to: projects)
    // A device that begins has what the schemas make, and has to hear when it is deleted.
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
    for (sequence, type, uuid) in found.prefix(limit) where weight < Self.pageWeight {
      end = sequence
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

  func forEachDigest(
    _ entityType: String, bucket: String?, projects: Set<String>?, _ body: (RecordDigest) -> Void
  ) throws {
    guard let table = map.tables[entityType] else { return }
    let ending: SQL = bucket.map { "substr(entityUuid, -2) = \($0)" } ?? "1"
    try connection.forEach(
      """
      SELECT entityUuid, syncVersion, digest FROM ServerRecord
      JOIN \(identifier: table.entity.table.name) AS record ON record.uuid = entityUuid
      WHERE entityType = \(entityType) AND ServerRecord.isDeleted = 0 AND \(ending) AND \(Self.belonging(to: projects))
      ORDER BY entityUuid
      """
    ) { row in
      body(
        RecordDigest(
          entityUuid: try row.decode(at: 0), version: try row.decode(at: 1), digest: try row.decode(at: 2)))
    }
  }

  private static func belonging(to projects: Set<String>?) -> SQL {
    guard let projects else { return "1" }
    return "(project IS NULL OR project IN (\(list: projects.sorted())))"
  }
}
