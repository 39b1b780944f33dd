/// A message between device and server, as `WireFormat.md` specifies.
///
/// Parsing is strict: a missing member, or one of another type, is an error that names it. Unknown members are
/// ignored.
public protocol WireMessage: Sendable {
  /// Reads the message.
  ///
  /// - Throws: ``SyncModelError`` with `missingMember` or `wrongMember`; ``SyncModelError/member`` says which.
  init(wire: SyncValue) throws(SyncModelError)

  /// The message in the wire format.
  var wire: SyncValue { get }
}

extension WireMessage {
  /// Reads the message from JSON in UTF-8.
  ///
  /// - Throws: ``SyncModelError``: the text is not JSON, or not this message.
  public init(json bytes: [UInt8]) throws(SyncModelError) {
    try self.init(wire: SyncValue(parsing: bytes))
  }

  /// The message as JSON in UTF-8.
  public var jsonBytes: [UInt8] { wire.jsonBytes }
}

extension SyncObject {
  /// Members from names and values, of which those without a value are left out.
  init(present members: KeyValuePairs<String, SyncValue?>) {
    self.init(members.lazy.compactMap { name, value in value.map { (name, $0) } })
  }
}

extension SyncValue {
  /// A time in the wire format.
  static func time(_ milliseconds: Int64) -> SyncValue { .text(WireTime.text(milliseconds)) }

  /// A set of names, ordered so that equal sets have one form.
  static func names(_ names: Set<String>) -> SyncValue { .array(names.sorted().map(SyncValue.text)) }

  /// Times by name, as in `editTimes`; `nil` if there are none.
  static func editTimes(_ times: [String: Int64]) -> SyncValue? {
    times.isEmpty ? nil : .object(SyncObject(times.map { ($0.key, .time($0.value)) }))
  }
}
