/// The response to `GET /v1/digests`: one digest for each entity.
public struct EntityDigests: Equatable, Sendable {
  /// The server's clock, in milliseconds since 1970-01-01 UTC.
  public var serverTime: Int64
  /// The epoch of the digests and of the cursor.
  public var epoch: String
  /// The cursor before all changes that are committed after these digests.
  public var cursor: String
  /// The digests by entity. Entities without records may be absent.
  public var entities: [String: DigestSummary]
  /// The projects of which the user is a member, if the user sees only those; otherwise `nil`. The records of other projects are not
  /// among the digests.
  public var memberProjects: Set<String>?
  /// The columns that digests may omit, by entity. Entities without such columns are absent.
  public var columns: [String: DigestColumns]

  /// Creates digests; `serverTime` is in milliseconds since 1970-01-01 UTC.
  public init(
    serverTime: Int64, epoch: String, cursor: String, entities: [String: DigestSummary],
    columns: [String: DigestColumns] = [:], memberProjects: Set<String>? = nil
  ) {
    self.serverTime = serverTime
    self.epoch = epoch
    self.memberProjects = memberProjects
    self.cursor = cursor
    self.entities = entities
    self.columns = columns
  }
}

extension EntityDigests: WireMessage {
  /// Reads the digests.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(
      serverTime: try reader.time("serverTime"), epoch: try reader.text("epoch"), cursor: try reader.text("cursor"),
      entities: try reader.summaries("entities"),
      columns: try reader.columns("columns"),
      memberProjects: try reader.optional("memberProjects", reader.names).map { Set($0) })
  }

  /// The digests in the wire format.
  public var wire: SyncValue {
    .object(
      SyncObject(present: [
        "cursor": .text(cursor), "entities": .summaries(entities), "epoch": .text(epoch),
        "memberProjects": memberProjects.map { .names($0) },
        "serverTime": .time(serverTime),
        "columns": columns.isEmpty ? nil : .object(SyncObject(columns.map { ($0.key, $0.value.wire) })),
      ]))
  }
}

/// The response to `GET /v1/digests/ENTITY`: one digest for each bucket of an entity.
public struct BucketDigests: Equatable, Sendable {
  /// The epoch of the digests.
  public var epoch: String
  /// The digests by bucket, the last two hexadecimal digits of the UUID. Empty buckets may be absent.
  public var buckets: [String: DigestSummary]
  /// The most buckets that one request for ``RecordDigests`` may name; `nil` for one.
  public var bucketLimit: Int?

  /// Creates digests by bucket.
  public init(epoch: String, buckets: [String: DigestSummary], bucketLimit: Int? = nil) {
    (self.epoch, self.buckets, self.bucketLimit) = (epoch, buckets, bucketLimit)
  }
}

extension BucketDigests {
  /// The most records for whose digests a device asks in one request of several buckets.
  static let mostRecords = 2_000

  /// Returns the buckets that each request for ``RecordDigests`` names, in their order: several if they have few records
  /// together, and always at least one.
  public func requests(for names: [String]) -> [[String]] {
    var requests: [[String]] = []
    var records: Int64 = 0
    for name in names {
      let count = buckets[name]?.count ?? 0
      if let last = requests.last, last.count < bucketLimit ?? 1, records + count <= Self.mostRecords {
        requests[requests.count - 1].append(name)
        records += count
      } else {
        requests.append([name])
        records = count
      }
    }
    return requests
  }
}

extension BucketDigests: WireMessage {
  /// Reads the digests.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(
      epoch: try reader.text("epoch"), buckets: try reader.summaries("buckets"),
      bucketLimit: try reader.optional("bucketLimit", reader.natural).map(Int.init(clamping:)))
  }

  /// The digests in the wire format.
  public var wire: SyncValue {
    .object(
      SyncObject(present: [
        "buckets": .summaries(buckets), "epoch": .text(epoch),
        "bucketLimit": bucketLimit.map { .integer(Int64($0)) },
      ]))
  }
}

/// One record of a bucket.
public struct RecordDigest: Equatable, Sendable {
  /// The lowercase UUID of the record.
  public var entityUuid: String
  /// The version on the server.
  public var version: Int64
  /// The digest, 64 hexadecimal digits.
  public var digest: String
  /// The id on the server, which is not part of the digest; `nil` if it is unknown.
  public var serverId: ServerId?

  /// Creates the digest of a record.
  public init(entityUuid: String, version: Int64, digest: String, serverId: ServerId? = nil) {
    self.entityUuid = entityUuid
    self.version = version
    self.digest = digest
    self.serverId = serverId
  }
}

extension RecordDigest: WireMessage {
  /// Reads the digest.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(
      entityUuid: try reader.text("entityUuid"), version: try reader.natural("version"),
      digest: try reader.text("digest"), serverId: try reader.optional("serverId", reader.serverId))
  }

  /// The digest in the wire format.
  public var wire: SyncValue {
    .object(
      SyncObject(present: [
        "digest": .text(digest), "entityUuid": .text(entityUuid), "serverId": serverId?.value,
        "version": .integer(version),
      ]))
  }
}

/// The response to `GET /v1/digests/ENTITY/BUCKETS`: one digest for each record of some buckets, whose names are separated
/// by commas.
public struct RecordDigests: Equatable, Sendable {
  /// The epoch of the digests and versions.
  public var epoch: String
  /// The records, without deleted ones.
  public var records: [RecordDigest]

  /// Creates the digests of records.
  public init(epoch: String, records: [RecordDigest]) { (self.epoch, self.records) = (epoch, records) }
}

extension RecordDigests: WireMessage {
  /// Reads the digests.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(epoch: try reader.text("epoch"), records: try reader.messages("records"))
  }

  /// The digests in the wire format.
  public var wire: SyncValue { ["epoch": .text(epoch), "records": .array(records.map(\.wire))] }
}
