/// A request to the server.
public struct HTTPRequest: Sendable {
  /// `GET` or `POST`.
  public var method: String
  /// Below the server's address, such as `/v1/push`. Its parts are percent-encoded.
  public var path: String
  /// Names and values as they are; the transport encodes them.
  public var query: [(name: String, value: String)]
  /// JSON in UTF-8; nil for none.
  public var body: [UInt8]?
  /// Whether the token goes along.
  public var isAuthorized: Bool
  /// How long the server may take on purpose, in seconds, on top of the limits.
  public var patienceSeconds: Double

  /// A request; with a body it is a `POST`.
  public init(
    _ path: String, query: [(name: String, value: String)] = [], body: [UInt8]? = nil, isAuthorized: Bool = true,
    patienceSeconds: Double = 0
  ) {
    method = body == nil ? "GET" : "POST"
    self.path = path
    self.query = query
    self.body = body
    self.isAuthorized = isAuthorized
    self.patienceSeconds = patienceSeconds
  }
}

/// What came back, whole.
public struct HTTPAnswer: Equatable, Sendable {
  /// The HTTP status, 200 to 599 without redirects.
  public var status: Int
  /// How long the server wants to be left alone, in seconds; nil when it says nothing.
  public var retryAfterSeconds: Int?
  /// The media type without parameters, in lower case, such as `application/json`; empty when there is none.
  public var contentType: String
  /// The body after decompression.
  public var body: [UInt8]
  /// From the beginning of the request to the end of the answer.
  public var duration: Duration
  /// The bytes of the request's body.
  public var bytesSent: Int
  /// The bytes of the answer's body.
  public var bytesReceived: Int
}
