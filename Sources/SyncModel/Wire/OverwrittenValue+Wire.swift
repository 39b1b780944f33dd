extension OverwrittenValue: WireMessage {
  /// Reads a value that gave way.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(field: try reader.text("field"), side: try reader.word("side"), value: try reader.value("value"))
  }

  /// The value in the wire format.
  public var wire: SyncValue { ["field": .text(field), "side": .text(side.rawValue), "value": value] }
}
