import CipherSQL
import SyncModel

/// Digests of what the server is known to have, as `WireFormat.md` defines them: anybody can compute the same.
package struct StoreDigests {
  package let catalog: SyncCatalog
  package let connection: Connection

  package init(catalog: SyncCatalog, connection: Connection) {
    (self.catalog, self.connection) = (catalog, connection)
  }

  /// The digest of all records of an entity, and of each bucket.
  package func digests(of table: RecordTable) throws -> (whole: DigestSummary, buckets: [String: DigestSummary]) {
    var whole = DigestSum()
    var buckets: [String: DigestSum] = [:]
    try forEach(table) { record in
      whole.add(record)
      buckets[record.bucket, default: DigestSum()].add(record)
    }
    return (whole.summary, buckets.mapValues(\.summary))
  }

  /// The records of some buckets.
  package func records(of table: RecordTable, in buckets: Set<String>) throws -> [RecordDigest] {
    var records: [RecordDigest] = []
    try forEach(table) { record in if buckets.contains(record.bucket) { records.append(record) } }
    return records
  }

  private func forEach(_ table: RecordTable, _ body: (RecordDigest) throws -> Void) throws {
    let type = table.entity.type
    let extra = try Dictionary(
      connection.fetchRows(
        "SELECT entityUuid, fields FROM SyncExtraFields WHERE entityType = \(type)", as: String.self, String.self
      ).map { ($0, try SyncObject(parsing: $1)) }, uniquingKeysWith: { first, _ in first })
    try table.forEach(where: "record.syncVersion > 0 ORDER BY record.uuid", in: connection) { record in
      guard let state = try asTheServerHasIt(record, table) else { return }
      let fields = extra[record.uuid].map(state.fields.overlaid) ?? state.fields
      try body(RecordDigest(type, record.uuid, version: state.syncVersion, fields: fields))
    }
  }

  /// Nil for a record that is not at the server, or deleted there.
  private func asTheServerHasIt(_ record: StoredRecord, _ table: RecordTable) throws -> RecordState? {
    if record.isDirty {
      let base = try BaseTable.find(table.entity.type, record.key, in: connection)
      return base?.isDeleted == true ? nil : base
    }
    guard record.state.isDeleted else { return record.state }
    let isTaken = try connection.fetchOne(
      "SELECT 1 FROM SyncCascade WHERE entityId = \(record.key) AND entityType = \(table.entity.type)", as: Int.self)
    return isTaken == nil ? nil : record.state
  }
}
