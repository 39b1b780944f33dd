/// A request with its headers, and with its body if it is complete.
public struct Request: Sendable {
  /// The id of the request for its response and the log; `nil` for a request without a connection.
  package internal(set) var id: String?
  /// The unchanged method of the client, such as `GET` or `POST`.
  public let method: String
  /// The path without the query, with percent escapes resolved.
  public let path: String
  /// The parameters after the question mark.
  public let query: [String: String]
  /// The headers by name in lower case. For a duplicate name, the last value.
  public let headers: [String: String]
  /// The body; empty until it is complete.
  public package(set) var body: [UInt8]
  /// The user, if the token was checked before the body.
  package var caller: (any Caller)?
  /// Whether the rate limit has counted the request.
  package var isCounted = false

  /// Creates a request from its parts.
  /// - Parameters:
  ///   - query: percent escapes are resolved.
  ///   - headers: names in lower case.
  public init(
    method: String, path: String, query: [String: String] = [:], headers: [String: String] = [:], body: [UInt8] = []
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.headers = headers
    self.body = body
  }

  /// The token of `Authorization: Bearer TOKEN`, or `nil`.
  public var bearerToken: String? {
    guard let value = headers["authorization"] else { return nil }
    let words = value.split(separator: " ", omittingEmptySubsequences: true)
    guard words.count == 2, words[0].lowercased() == "bearer" else { return nil }
    return String(words[1])
  }

  /// Returns the id that the client, or a proxy in front of the server, gave the request: 1 to 64 letters, digits, dots,
  /// hyphens and underscores. `nil` without such an id.
  var clientId: String? {
    guard let id = headers[Self.idHeader.lowercased()], (1...64).contains(id.utf8.count),
      id.utf8.allSatisfy({ byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      })
    else { return nil }
    return id
  }

  /// The header with the id of a request.
  package static let idHeader = "X-Request-Id"

  /// Whether the headers announce a body.
  package var announcesBody: Bool {
    headers["transfer-encoding"] != nil || (headers["content-length"].map { $0 != "0" } ?? false)
  }

  /// Whether the type of the body is JSON.
  package var isJSON: Bool {
    guard let type = headers["content-type"] else { return false }
    let name = type.prefix { $0 != ";" }.filter { $0 != " " }
    return name.lowercased() == "application/json"
  }
}
