/// What several records are together: the SHA-256 of the lines `UUID DIGEST\n`, ordered by uuid.
package struct DigestSum {
  private var sum = SHA256()
  private var count: Int64 = 0

  package init() {}

  /// Takes the next record, in the order of the uuids.
  package mutating func add(_ record: RecordDigest) {
    sum.add("\(record.entityUuid) \(record.digest)\n")
    count += 1
  }

  /// The records so far.
  package var summary: DigestSummary { DigestSummary(count: count, digest: sum.hexDigest) }
}

extension RecordDigest {
  /// The part of an entity that a record belongs to: the last two hexadecimal digits of its uuid.
  package var bucket: String { String(entityUuid.suffix(2)) }

  /// The digest of a version of a record.
  package init(_ entityType: String, _ entityUuid: String, version: Int64, fields: SyncObject) {
    let content: SyncValue = [
      "entityType": .text(entityType), "entityUuid": .text(entityUuid), "fields": .object(fields),
    ]
    self.init(entityUuid: entityUuid, version: version, digest: content.digest)
  }
}

extension DigestSummary {
  /// Of no records.
  package static let none = DigestSum().summary
}
