/// A request to the server.
public struct HTTPRequest: Sendable {
  /// The method in upper case, such as `GET` or `POST`.
  public var method: String
  /// A path below the server's address, such as `/v1/push`, with its segments percent-encoded. Or a URL that the server
  /// returned: of the same origin or, for a request without the token, encrypted. The transport refuses all other
  /// values.
  public var path: String
  /// The names and values of the query without encoding. The transport encodes them.
  public var query: [(name: String, value: String)]
  /// The body, JSON in UTF-8; `nil` without a body.
  public var body: [UInt8]?
  /// Headers in addition to the transport's own.
  public var headers: [(name: String, value: String)] = []
  /// A body that is read while it is sent, in place of ``body``.
  public var upload: HTTPUpload?
  /// The destination of a response's body that is not collected in memory.
  public var download: HTTPDownload?
  /// Whether to send the token.
  public var isAuthorized: Bool
  /// Whether the transport may repeat the request when a reused connection proves to be closed. The server may
  /// receive it twice in this case.
  public var isRepeatable = true
  /// The time that the server may wait before it responds, in seconds, in addition to the limits.
  public var timeoutSeconds: Double
  /// The responses after which the request is repeated with a renewed token; `nil` for a request that never renews the
  /// token.
  package var tokenRefusal: TokenRefusal? = TokenRefusal()

  /// Creates a request; by default a `POST` if it has a body.
  public init(
    _ path: String, query: [(name: String, value: String)] = [], body: [UInt8]? = nil, isAuthorized: Bool = true,
    timeoutSeconds: Double = 0
  ) {
    self.method = body == nil ? "GET" : "POST"
    self.path = path
    self.query = query
    self.body = body
    self.isAuthorized = isAuthorized
    self.timeoutSeconds = timeoutSeconds
  }
}

/// A body that is read part by part while it is sent. Requests with one have no limit for the whole, only for silence.
public struct HTTPUpload: Sendable {
  /// The exact number of bytes to send.
  public var byteCount: Int64
  /// Reads bytes of the body from an offset and returns their number, at least one. It is called again for the same
  /// offset when the connection is opened again. An error ends the request.
  public var read: @Sendable (_ offset: Int64, _ buffer: UnsafeMutableRawBufferPointer) throws -> Int

  /// Creates a body of a known length.
  public init(
    byteCount: Int64, read: @escaping @Sendable (_ offset: Int64, _ buffer: UnsafeMutableRawBufferPointer) throws -> Int
  ) {
    (self.byteCount, self.read) = (byteCount, read)
  }
}

/// The destination of a response's body. Requests with a destination have no timeout for the whole, only for silence,
/// and bodies are not decompressed.
public struct HTTPDownload: Sendable {
  /// Receives the next bytes. An error ends the request.
  public typealias Sink = @Sendable (UnsafeRawBufferPointer) throws -> Void

  /// Called once, after the headers; `nil` for a response that is collected in memory, such as a problem.
  public var begin: @Sendable (HTTPHead) -> Sink?

  /// Creates a destination.
  public init(begin: @escaping @Sendable (HTTPHead) -> Sink?) { self.begin = begin }
}

/// The status and the headers of a response.
public struct HTTPHead: Equatable, Sendable {
  /// The HTTP status.
  public var status: Int
  /// The headers by lowercase name. For a repeated header, the last value.
  public var headers: [String: String]
}

/// A complete response.
public struct HTTPResponse: Equatable, Sendable {
  /// The HTTP status, 200 to 599 without redirects.
  public var status: Int
  /// The headers by lowercase name.
  public var headers: [String: String]
  /// The delay that the server asks for in `Retry-After`, in seconds; `nil` without the header.
  public var retryAfterSeconds: Int?
  /// The media type without parameters, in lower case, such as `application/json`; empty by default.
  public var contentType: String
  /// The body after decompression; empty if it had another destination.
  public var body: [UInt8]
  /// The time from the beginning of the request to the end of the response.
  public var duration: Duration
  /// The number of bytes of the request's body.
  public var bytesSent: Int
  /// The number of bytes of the response's body.
  public var bytesReceived: Int
}

extension HTTPResponse {
  /// Creates a response that was not received over a network.
  package init(status: Int, contentType: String, body: [UInt8]) {
    self.init(
      status: status, headers: [:], retryAfterSeconds: nil, contentType: contentType, body: body, duration: .zero,
      bytesSent: 0, bytesReceived: body.count)
  }
}
