import SyncModel

/// The API of the server for programs: OpenAPI 3.1. `WireFormat.md` is the specification.
struct OpenAPI {
  let limits: ServerLimits
  /// Whether files go to an object store.
  var isPresigned = false

  /// Returns the document.
  /// - Throws: `SyncModelError` if the texts in this folder are not JSON. A test excludes this.
  func document() throws(SyncModelError) -> SyncValue {
    var document: SyncObject = [
      "openapi": "3.1.0",
      "info": [
        "title": "FieldVault sync", "version": .text(String(WireProtocol.version)),
        "description": "The protocol between a device and a server. Errors are application/problem+json (RFC 9457).",
      ],
      "security": [["token": [:]]],
    ]
    document["paths"] = try SyncValue(parsing: Self.paths(limits, isPresigned: isPresigned))
    document["components"] = [
      "securitySchemes": ["token": ["type": "http", "scheme": "bearer", "description": .text(Self.tokens)]],
      "schemas": try SyncValue(parsing: Self.schemas(limits)),
      "responses": try SyncValue(parsing: Self.responses(limits)),
      "parameters": try SyncValue(parsing: Self.parameters),
    ]
    return .object(document)
  }

  private static let tokens =
    "A token of the server; or a token (JWT) of the identity provider, if the server has one. While the keys of the provider are "
    + "fetched, its tokens get 503 with Retry-After."

  static func responses(_ limits: ServerLimits) -> String {
    func problem(_ description: String) -> String {
      """
      {"description": "\(description)",
       "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}}
      """
    }
    return """
      {
        "BadRequest": \(problem("The body or a header is not valid for the route")),
        "Unauthorized": \(problem("No valid token")),
        "Forbidden": \(problem(
          "The role of the token does not allow this, or the user has no access; or urn:fieldvault:device-revoked: the operator has "
            + "revoked the device")),
        "NotFound": \(problem("No such path or entity")),
        "PushRefused": \(problem(
          "urn:fieldvault:schema-too-old: the device's schema is newer than the server's; or "
            + "urn:fieldvault:device-copied: two copies of a vault push under one deviceId")),
        "OtherProtocol": \(problem("urn:fieldvault:protocol: the server does not accept this version")),
        "CursorUnknown": \(problem("urn:fieldvault:cursor-unknown: compare digests")),
        "TooLarge": \(problem("The body has more than \(limits.http.bodyBytes) bytes, or too many operations")),
        "NotJSON": \(problem("Content-Type is not application/json")),
        "Invalid": \(problem("A value is not allowed; field names the value")),
        \(fileResponses(limits, problem)),
        "TooManyRequests": {"description": "Later", "headers": {"Retry-After": {"schema": {"type": "integer"}}},
          "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}},
        "Failure": \(problem("The server failed")),
        "NotNow": \(problem(
          "The machine of the server fails: retry as Retry-After says; or urn:fieldvault:store-not-reached: the object "
            + "store is unreachable")),
        "NoRoom": \(problem("The disk of the server is full: retry later; or urn:fieldvault:quota-exceeded"))
      }
      """
  }

  static let parameters = """
    {
      "projects": {"name": "projects", "in": "query", "description":
        "Only records of these projects and records without a project; comma-separated UUIDs.",
        "schema": {"type": "string"}},
      "entity": {"name": "entity", "in": "path", "required": true, "schema": {"type": "string"}},
      "protocol": {"name": "\(WireProtocol.header)", "in": "header", "required": true,
        "description": "The device's version of the wire format", "schema": {"const": "\(WireProtocol.version)"}},
      "device": {"name": "\(WireProtocol.deviceHeader)", "in": "header",
        "description": "The deviceId of the pushes, by which the operator knows the device",
        "schema": {"$ref": "#/components/schemas/DeviceId"}},
      \(fileParameters)
    }
    """
}
