/// `POST /v1/records`: asks for single records.
public struct RecordsRequest: Equatable, Sendable {
  /// How many records one request may ask for.
  public static let greatestCount = 500

  /// The kind of record, such as `Room`.
  public var entityType: String
  /// At most ``greatestCount``, in lower case.
  public var uuids: [String]

  /// A request for at most ``greatestCount`` records.
  public init(entityType: String, uuids: [String]) {
    self.entityType = entityType
    self.uuids = uuids
  }
}

extension RecordsRequest: WireMessage {
  /// Reads a request.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(entityType: try reader.text("entityType"), uuids: try reader.names("uuids"))
  }

  /// The request as it is written.
  public var wire: SyncValue {
    ["entityType": .text(entityType), "uuids": .array(uuids.map(SyncValue.text))]
  }
}

/// The answer to `POST /v1/records`.
public struct RecordsAnswer: Equatable, Sendable {
  /// The records that the server has, deleted ones too.
  public var changes: [RemoteRecord]
  /// The uuids that it does not have.
  public var missing: [String]

  /// An answer.
  public init(changes: [RemoteRecord], missing: [String]) {
    self.changes = changes
    self.missing = missing
  }
}

extension RecordsAnswer: WireMessage {
  /// Reads an answer.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(changes: try reader.messages("changes"), missing: try reader.names("missing"))
  }

  /// The answer as it is written.
  public var wire: SyncValue {
    ["changes": .array(changes.map(\.wire)), "missing": .array(missing.map(SyncValue.text))]
  }
}
