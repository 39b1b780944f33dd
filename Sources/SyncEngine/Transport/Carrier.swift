/// What brings a request to the server and an answer back; one type per platform.
protocol Carrier: Sendable {
  /// Sends a request. What comes goes to the exchange.
  func start(_ request: OutgoingRequest, _ exchange: Exchange)

  /// Ends an exchange that nobody waits for any more.
  func stop(_ exchange: Exchange)
}

/// A request as it goes out.
struct OutgoingRequest: Sendable {
  var url: String
  var headers: [(name: String, value: String)]
  /// With a body it is a `POST`, without one a `GET`.
  var body: [UInt8]?
  /// What is not encrypted goes to the server itself and to no proxy: there it could be read, the token too.
  var usesProxies: Bool
}

/// What comes before the body of an answer.
struct AnswerHead: Equatable, Sendable {
  var status: Int
  var contentType: String?
  /// In bytes, as the server claims; nil when it does not.
  var contentLength: Int64?
  var retryAfter: String?
  var date: String?
}
