import CipherSQL
import SyncModel

/// Digests of what the server is known to have, as `WireFormat.md` defines them: anybody can compute the same.
package struct StoreDigests {
  package let catalog: SyncCatalog
  package let connection: Connection

  package init(catalog: SyncCatalog, connection: Connection) {
    (self.catalog, self.connection) = (catalog, connection)
  }

  /// The digest of one record.
  package static func digest(of fields: SyncObject, _ type: String, _ uuid: String) -> String {
    SyncValue.object(["entityType": .text(type), "entityUuid": .text(uuid), "fields": .object(fields)]).digest
  }

  /// The digest of all records of an entity, and of each bucket.
  package func digests(of table: RecordTable) throws -> (whole: DigestSummary, buckets: [String: DigestSummary]) {
    var whole = SHA256()
    var count: Int64 = 0
    var buckets: [String: (SHA256, Int64)] = [:]
    try forEach(table) { uuid, _, digest in
      let line = "\(uuid) \(digest)\n"
      whole.add(line)
      count += 1
      var bucket = buckets[String(uuid.suffix(2))] ?? (SHA256(), 0)
      bucket.0.add(line)
      bucket.1 += 1
      buckets[String(uuid.suffix(2))] = bucket
    }
    return (
      DigestSummary(count: count, digest: whole.hexDigest()),
      buckets.mapValues { bucket in
        var hash = bucket.0
        return DigestSummary(count: bucket.1, digest: hash.hexDigest())
      }
    )
  }

  /// The records of some buckets.
  package func records(of table: RecordTable, in buckets: Set<String>) throws -> [RecordDigest] {
    var records: [RecordDigest] = []
    try forEach(table) { uuid, version, digest in
      guard buckets.contains(String(uuid.suffix(2))) else { return }
      records.append(RecordDigest(entityUuid: uuid, version: version, digest: digest))
    }
    return records
  }

  private func forEach(
    _ table: RecordTable, _ body: (_ uuid: String, _ version: Int64, _ digest: String) throws -> Void
  ) throws {
    let type = table.entity.type
    let extra = try Dictionary(
      connection.fetchRows(
        "SELECT entityUuid, fields FROM SyncExtraFields WHERE entityType = \(type)", as: String.self, String.self
      ).map { ($0, try SyncObject(parsing: $1)) }, uniquingKeysWith: { first, _ in first })
    try table.forEach(where: "record.syncVersion > 0 ORDER BY record.uuid", in: connection) { record in
      guard let state = try asTheServerHasIt(record, table) else { return }
      let fields = extra[record.uuid].map(state.fields.overlaid) ?? state.fields
      try body(record.uuid, state.syncVersion, Self.digest(of: fields, type, record.uuid))
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
