/// `POST /v1/records`: asks for single records.
public struct RecordsRequest: Equatable, Sendable {
  /// How many records one request may ask for.
  public static let greatestCount = 500

  /// The entity, such as `Room`.
  public var entityType: String
  /// At most ``greatestCount``, in lower case.
  public var uuids: [String]
  /// The epoch of the device's versions: with another epoch than its own the server tells ``RemoteRecord/sharedVersion``.
  public var epoch: String?

  /// A request for at most ``greatestCount`` records.
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
  /// The records that the server has, deleted ones too.
  public var changes: [RemoteRecord]
  /// The uuids that it does not have.
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
