/// `POST /v1/push`: operations that the server executes in order, each in its own transaction.
public struct PushRequest: Equatable, Sendable {
  /// How many operations one request may have.
  public static let greatestCount = 25

  /// The device's own name, a uuid.
  public var deviceId: String
  /// Grows with every push of the device, so that the server notices two copies of a vault.
  public var deviceCounter: Int64
  /// The cursor of the device; `nil` before the first pull.
  public var cursor: String?
  /// At most ``greatestCount``. Reading does not count them: the server says so in its own words.
  public var operations: [PushOperation]

  /// A request of at most ``greatestCount`` operations.
  public init(deviceId: String, deviceCounter: Int64, cursor: String?, operations: [PushOperation]) {
    self.deviceId = deviceId
    self.deviceCounter = deviceCounter
    self.cursor = cursor
    self.operations = operations
  }
}

extension PushRequest: WireMessage {
  /// Reads a request; an error names the operation by its place, such as `operations[3].updatedAt`.
  public init(wire: SyncValue) throws(SyncModelError) {
    let envelope = try PushEnvelope(wire: wire)
    self.init(
      deviceId: envelope.deviceId, deviceCounter: envelope.deviceCounter, cursor: envelope.cursor,
      operations: try WireReader(wire).messages("operations"))
  }

  /// The request in the wire format.
  public var wire: SyncValue {
    PushEnvelope(
      deviceId: deviceId, deviceCounter: deviceCounter, cursor: cursor, operations: operations.map(\.wire)
    ).wire
  }
}

/// A ``PushRequest`` whose operations are not parsed: one that cannot be parsed fails alone.
package struct PushEnvelope: Equatable, Sendable {
  /// The device's own name.
  package var deviceId: String
  /// The number of this push of the device.
  package var deviceCounter: Int64
  /// The cursor of the device; `nil` before the first pull.
  package var cursor: String?
  /// The operations as JSON.
  package var operations: [SyncValue]

  init(deviceId: String, deviceCounter: Int64, cursor: String?, operations: [SyncValue]) {
    self.deviceId = deviceId
    self.deviceCounter = deviceCounter
    self.cursor = cursor
    self.operations = operations
  }
}

extension PushEnvelope: WireMessage {
  /// Parses the request without its operations.
  package init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(
      deviceId: try reader.text("deviceId"), deviceCounter: try reader.natural("deviceCounter"),
      cursor: try reader.optional("cursor", reader.text), operations: try reader.array("operations"))
  }

  /// The request in the wire format.
  package var wire: SyncValue {
    .object(
      SyncObject(present: [
        "cursor": cursor.map(SyncValue.text), "deviceCounter": .integer(deviceCounter), "deviceId": .text(deviceId),
        "operations": .array(operations),
      ]))
  }
}
