/// The answer to `POST /v1/push`.
public struct PushResponse: Equatable, Sendable {
  /// The server's clock, in milliseconds since 1970-01-01 UTC.
  public var serverTime: Int64
  /// The epoch of the versions in the results and of the cursor.
  public var epoch: String
  /// From where the device may go on; nil where it has to pull what others changed.
  public var cursor: String?
  /// One for each operation of the request, in its order.
  public var results: [PushResult]
  /// What was found to be gone, where the server does not tell it by a pull. Does not stand on the wire.
  public var gone: [RemoteDeletions] = []

  /// An answer; `serverTime` is in milliseconds since 1970-01-01 UTC.
  public init(serverTime: Int64, epoch: String, cursor: String?, results: [PushResult], gone: [RemoteDeletions] = []) {
    self.serverTime = serverTime
    self.epoch = epoch
    self.cursor = cursor
    self.results = results
    self.gone = gone
  }
}

extension PushResponse: WireMessage {
  /// Reads an answer.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(
      serverTime: try reader.time("serverTime"), epoch: try reader.text("epoch"),
      cursor: try reader.optional("cursor", reader.text), results: try reader.messages("results"))
  }

  /// The answer as it is written.
  public var wire: SyncValue {
    .object(
      SyncObject(present: [
        "cursor": cursor.map(SyncValue.text), "epoch": .text(epoch), "results": .array(results.map(\.wire)),
        "serverTime": .time(serverTime),
      ]))
  }
}
