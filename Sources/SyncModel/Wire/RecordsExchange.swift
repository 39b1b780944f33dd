/// The request `POST /v1/records` for single records.
public struct RecordsRequest: Equatable, Sendable {
  /// The greatest number of records in a request.
  public static let greatestCount = 500

  /// The entity, such as `Room`.
  public var entityType: String
  /// The lowercase UUIDs, at most ``greatestCount``.
  public var uuids: [String]
  /// The epoch of the device's versions. If it is not the server's epoch, the response has
  /// ``RemoteRecord/sharedVersion``.
  public var epoch: String?

  /// Creates a request for at most ``greatestCount`` records.
  public init(entityType: String, uuids: [String], epoch: String? = nil) {
    self.entityType = entityType
    self.epoch = epoch
    self.uuids = uuids
  }
}

extension RecordsRequest: WireMessage {
  /// Reads a request.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(
      entityType: try reader.text("entityType"), uuids: try reader.names("uuids"),
      epoch: try reader.optional("epoch", reader.text))
  }

  /// The request in the wire format.
  public var wire: SyncValue {
    .object(
      SyncObject(present: [
        "entityType": .text(entityType), "epoch": epoch.map(SyncValue.text),
        "uuids": .array(uuids.map(SyncValue.text)),
      ]))
  }
}

/// The response to `POST /v1/records`.
public struct RecordsResponse: Equatable, Sendable {
  /// The server's clock, in milliseconds since 1970-01-01 UTC.
  public var serverTime: Int64
  /// The epoch of the records.
  public var epoch: String
  /// The records of the server, including deleted ones.
  public var changes: [RemoteRecord]
  /// The UUIDs of records that the server lacks.
  public var missing: [String]

  /// Creates a response; `serverTime` is in milliseconds since 1970-01-01 UTC.
  public init(serverTime: Int64, epoch: String, changes: [RemoteRecord], missing: [String]) {
    self.serverTime = serverTime
    self.epoch = epoch
    self.changes = changes
    self.missing = missing
  }
}

extension RecordsResponse: WireMessage {
  /// Parses a response.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(
      serverTime: try reader.time("serverTime"), epoch: try reader.text("epoch"),
      changes: try reader.messages("changes"), missing: try reader.names("missing"))
  }

  /// The response in the wire format.
  public var wire: SyncValue {
    [
      "changes": .array(changes.map(\.wire)), "epoch": .text(epoch),
      "missing": .array(missing.map(SyncValue.text)), "serverTime": .time(serverTime),
    ]
  }
}
