/// The response to `POST /v1/push`.
public struct PushResponse: Equatable, Sendable {
  /// The server's clock, in milliseconds since 1970-01-01 UTC.
  public var serverTime: Int64
  /// The epoch of the versions in the results and of the cursor.
  public var epoch: String
  /// The device's next cursor; `nil` if other devices made changes that it has to pull.
  public var cursor: String?
  /// One for each operation of the request, in its order.
  public var results: [PushResult]
  /// Deletions that the push discovered at a remote without a record of deletions. Not part of the wire format.
  public var gone: [RemoteDeletions] = []

  /// Creates a response; `serverTime` is in milliseconds since 1970-01-01 UTC.
  public init(serverTime: Int64, epoch: String, cursor: String?, results: [PushResult], gone: [RemoteDeletions] = []) {
    self.serverTime = serverTime
    self.epoch = epoch
    self.cursor = cursor
    self.results = results
    self.gone = gone
  }
}

extension PushResponse: WireMessage {
  /// Parses a response.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(
      serverTime: try reader.time("serverTime"), epoch: try reader.text("epoch"),
      cursor: try reader.optional("cursor", reader.text), results: try reader.messages("results"))
  }

  /// The response in the wire format.
  public var wire: SyncValue {
    .object(
      SyncObject(present: [
        "cursor": cursor.map(SyncValue.text), "epoch": .text(epoch), "results": .array(results.map(\.wire)),
        "serverTime": .time(serverTime),
      ]))
  }
}
