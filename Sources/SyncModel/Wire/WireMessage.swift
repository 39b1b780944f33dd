/// A message between device and server, as `WireFormat.md` specifies.
///
/// Parsing is strict: a missing member, or a member of another type, causes an error that names the member. Unknown
/// members are ignored.
public protocol WireMessage: Sendable {
  /// Reads the message.
  ///
  /// - Throws: ``SyncModelError`` with `missingMember` or `wrongMember`; ``SyncModelError/member`` names the member.
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
  /// Creates an object from names and values. Omits names without a value.
  init(present members: KeyValuePairs<String, SyncValue?>) {
    self.init(members.lazy.compactMap { name, value in value.map { (name, $0) } })
  }
}

extension SyncValue {
  /// Returns a time in the wire format.
  static func time(_ milliseconds: Int64) -> SyncValue { .text(WireTime.text(milliseconds)) }

  /// Returns a set of names, ordered so that equal sets have the same form.
  static func names(_ names: Set<String>) -> SyncValue { .array(names.sorted().map(SyncValue.text)) }

  /// Returns the JSON object of edit times by name, or `nil` without times.
  static func editTimes(_ times: [String: Int64]) -> SyncValue? {
    times.isEmpty ? nil : .object(SyncObject(times.map { ($0.key, .time($0.value)) }))
  }
}
