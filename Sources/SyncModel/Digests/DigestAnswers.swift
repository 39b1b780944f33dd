/// `GET /v1/digests`: one digest for each kind of record.
public struct EntityDigests: Equatable, Sendable {
  /// The server's clock, in milliseconds since 1970-01-01 UTC.
  public var serverTime: Int64
  /// Everything that is committed after these digests comes after this cursor.
  public var cursor: String
  /// By entity type; those without records may be absent.
  public var entities: [String: DigestSummary]

  /// Digests; `serverTime` is in milliseconds since 1970-01-01 UTC.
  public init(serverTime: Int64, cursor: String, entities: [String: DigestSummary]) {
    self.serverTime = serverTime
    self.cursor = cursor
    self.entities = entities
  }
}

extension EntityDigests: WireMessage {
  /// Reads the digests.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(
      serverTime: try reader.time("serverTime"), cursor: try reader.text("cursor"),
      entities: try reader.summaries("entities"))
  }

  /// The digests as they are written.
  public var wire: SyncValue {
    ["cursor": .text(cursor), "entities": .summaries(entities), "serverTime": .time(serverTime)]
  }
}

/// `GET /v1/digests/ENTITY`: one digest for each bucket of an entity.
public struct BucketDigests: Equatable, Sendable {
  /// By the last two hexadecimal digits of the uuid; empty buckets may be absent.
  public var buckets: [String: DigestSummary]

  /// Digests by bucket.
  public init(buckets: [String: DigestSummary]) { self.buckets = buckets }
}

extension BucketDigests: WireMessage {
  /// Reads the digests.
  public init(wire: SyncValue) throws(SyncModelError) {
    self.init(buckets: try WireReader(wire).summaries("buckets"))
  }

  /// The digests as they are written.
  public var wire: SyncValue { ["buckets": .summaries(buckets)] }
}

/// One record of a bucket.
public struct RecordDigest: Equatable, Sendable {
  /// The record's uuid, in lower case.
  public var entityUuid: String
  /// Its version at the server.
  public var version: Int64
  /// 64 hexadecimal digits.
  public var digest: String

  /// The digest of a record.
  public init(entityUuid: String, version: Int64, digest: String) {
    self.entityUuid = entityUuid
    self.version = version
    self.digest = digest
  }
}

extension RecordDigest: WireMessage {
  /// Reads the digest.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(
      entityUuid: try reader.text("entityUuid"), version: try reader.natural("version"),
      digest: try reader.text("digest"))
  }

  /// The digest as it is written.
  public var wire: SyncValue {
    ["digest": .text(digest), "entityUuid": .text(entityUuid), "version": .integer(version)]
  }
}

/// `GET /v1/digests/ENTITY/BUCKET`: one digest for each record of a bucket.
public struct RecordDigests: Equatable, Sendable {
  /// The records, without deleted ones.
  public var records: [RecordDigest]

  /// The digests of a bucket.
  public init(records: [RecordDigest]) { self.records = records }
}

extension RecordDigests: WireMessage {
  /// Reads the digests.
  public init(wire: SyncValue) throws(SyncModelError) {
    self.init(records: try WireReader(wire).messages("records"))
  }

  /// The digests as they are written.
  public var wire: SyncValue { ["records": .array(records.map(\.wire))] }
}
