/// A refusal of the server with its reason: `application/problem+json` (RFC 9457). It names fields and rules, never
/// values.
public struct ServerProblem: Equatable, Sendable {
  /// The kind, for programs; `about:blank` if the status is sufficient.
  public var type: String
  /// The kind, for the user.
  public var title: String
  /// The HTTP status, 400 to 599, of the response, or of the operation within a response.
  public var status: Int
  /// The problem of this request, and the remedy.
  public var detail: String
  /// The wrong field, if the problem concerns a field.
  public var field: String?

  /// The cursor is unknown to the server, or no longer known.
  public static let cursorUnknown = "urn:fieldvault:cursor-unknown"
  /// The server does not have the device's schema yet.
  public static let schemaTooOld = "urn:fieldvault:schema-too-old"
  /// The server has stored another payload under the operation's idempotency key.
  public static let keyReused = "urn:fieldvault:key-reused"
  /// Another copy of the vault has pushed under the same device id.
  public static let deviceCopied = "urn:fieldvault:device-copied"
  /// The operator has revoked the device.
  public static let deviceRevoked = "urn:fieldvault:device-revoked"
  /// The record belongs to a project of which the user is no member.
  public static let notMember = "urn:fieldvault:not-a-member"
  /// The account or the user has as many records, devices or bytes as the operator allows.
  public static let quotaExceeded = "urn:fieldvault:quota-exceeded"
  /// The server does not accept the device's version of the wire format.
  public static let otherProtocol = "urn:fieldvault:protocol"

  /// The server may have stored the operation. The user has to check this before it is sent again.
  public static let perhapsTaken = "urn:fieldvault:perhaps-taken"

  /// Creates a problem with an HTTP status of 400 to 599.
  public init(type: String = "about:blank", title: String, status: Int, detail: String, field: String? = nil) {
    self.type = type
    self.title = title
    self.status = status
    self.detail = detail
    self.field = field
  }
}

extension ServerProblem: WireMessage {
  /// Parses a problem. RFC 9457 makes all members optional. The status is required, because it decides the next step.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    guard let status = Int(exactly: try reader.integer("status")), (400...599).contains(status) else {
      throw reader.wrong("status", "expected a status from 400 to 599")
    }
    self.init(
      type: try reader.optional("type", reader.text) ?? "about:blank",
      title: try reader.optional("title", reader.text) ?? "", status: status,
      detail: try reader.optional("detail", reader.text) ?? "", field: try reader.optional("field", reader.text))
  }

  /// The problem in the wire format.
  public var wire: SyncValue {
    .object(
      SyncObject(present: [
        "detail": .text(detail), "field": field.map(SyncValue.text), "status": .integer(Int64(status)),
        "title": .text(title), "type": .text(type),
      ]))
  }
}
