/// What brings a request to the server and an answer back; one type per platform.
protocol HTTPBackend: Sendable {
  /// Sends a request. What comes goes to the exchange.
  func start(_ request: OutgoingRequest, _ exchange: RequestTask)

  /// Ends an exchange that nobody waits for any more.
  func stop(_ exchange: RequestTask)
}

/// A request as it goes out.
struct OutgoingRequest: Sendable {
  var url: String
  var headers: [(name: String, value: String)]
  var method: String
  var body: [UInt8]?
  var upload: HTTPUpload?
  /// Whether the body of the answer is wanted as it was before anything compressed it.
  var decompresses: Bool
  /// What is not encrypted goes to the server itself and to no proxy: there it could be read, the token too.
  var usesProxies: Bool
  /// Whether its body may be sent a second time on another connection.
  var isRepeatable: Bool
}

/// What comes before the body of an answer.
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
