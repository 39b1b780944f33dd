/// A type that sends requests and receives responses; one per platform.
protocol HTTPBackend: Sendable {
  /// Sends a request. The exchange receives the response.
  func start(_ request: OutgoingRequest, _ exchange: RequestTask)

  /// Cancels an exchange.
  func stop(_ exchange: RequestTask)
}

/// A request in the form that is sent.
struct OutgoingRequest: Sendable {
  var url: String
  var headers: [(name: String, value: String)]
  var method: String
  var body: [UInt8]?
  var upload: HTTPUpload?
  /// Whether the body of the response is wanted without decompression.
  var decompresses: Bool
  /// An unencrypted request is sent to the server itself and never to a proxy, which could read it and the token.
  var usesProxies: Bool
  /// Whether its body may be sent a second time on another connection.
  var isRepeatable: Bool
}

/// The status and the headers of a response.
struct ResponseHead: Equatable, Sendable {
  var status: Int
  /// By their names in lower case.
  var headers: [String: String] = [:]

  var contentType: String? { headers["content-type"] }
  /// In bytes, as the server claims; nil when it does not.
  var contentLength: Int64? { headers["content-length"].flatMap { Int64($0) } }
  var retryAfter: String? { headers["retry-after"] }
  var date: String? { headers["date"] }
}
