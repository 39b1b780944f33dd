import SyncModel

/// What a client is answered.
public struct Response: Sendable {
  /// The status of HTTP.
  public var status: Int
  /// The media type of the body.
  public var contentType: String
  /// Headers beside the content type.
  public var headers: [(name: String, value: String)]
  /// The body.
  public var body: [UInt8]
  /// The pattern of the route that answered, for the log; nil where none did.
  var pattern: String?

  /// An answer from its parts.
  public init(status: Int, contentType: String, headers: [(name: String, value: String)] = [], body: [UInt8]) {
    self.status = status
    self.contentType = contentType
    self.headers = headers
    self.body = body
  }

  /// An answer in JSON.
  public static func json(_ value: SyncValue, status: Int = 200) -> Response {
    Response(status: status, contentType: "application/json", body: Array(value.json.utf8))
  }
}
