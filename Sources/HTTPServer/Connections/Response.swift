import SyncModel

/// A response to a client.
public struct Response: Sendable {
  /// The HTTP status.
  public var status: Int
  /// The media type of the body.
  public var contentType: String
  /// The headers in addition to the content type.
  public var headers: [(name: String, value: String)]
  /// The body, unless it is a file or is made while it is sent.
  public var body: [UInt8]
  /// The part of a file that is the body.
  package var file: FilePart?
  /// Makes the body while it is sent. The server cuts it when the request ends.
  package var source: (any BodySource)?
  /// The pattern of the route that responded, for the log; `nil` without a route.
  package var pattern: String?
  /// The device that the request named, for the log; `nil` if it named none.
  package var device: String?

  /// Creates a response from its parts.
  public init(status: Int, contentType: String, headers: [(name: String, value: String)] = [], body: [UInt8]) {
    self.status = status
    self.contentType = contentType
    self.headers = headers
    self.body = body
  }

  /// Creates a response without a body.
  package static func empty(_ status: Int, _ headers: [(name: String, value: String)] = []) -> Response {
    Response(status: status, contentType: "", headers: headers, body: [])
  }

  /// The size of the body, in bytes; 0 for a body that is made while it is sent.
  var byteCount: Int { file?.count ?? body.count }

  /// All headers except the headers of the connection.
  var allHeaders: [(name: String, value: String)] {
    (contentType.isEmpty ? [] : [("Content-Type", contentType)]) + [("Cache-Control", "no-store")] + headers
  }

  /// Creates a response in JSON.
  /// - Parameter device: the device that the request named.
  public static func json(_ value: SyncValue, status: Int = 200, device: String? = nil) -> Response {
    var response = json(Array(value.json.utf8), status: status)
    response.device = device
    return response
  }

  /// Creates a response from JSON text.
  public static func json(_ text: [UInt8], status: Int = 200) -> Response {
    Response(status: status, contentType: "application/json", body: text)
  }
}
