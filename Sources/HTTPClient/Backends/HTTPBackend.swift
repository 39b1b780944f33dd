/// A type that sends requests and receives responses; one per platform.
package protocol HTTPBackend: Sendable {
  /// Sends a request. The exchange receives the response.
  func start(_ request: OutgoingRequest, _ exchange: RequestTask)

  /// Cancels an exchange.
  func stop(_ exchange: RequestTask)
}

/// A request in the form that is sent.
package struct OutgoingRequest: Sendable {
  package var url: String
  package var headers: [(name: String, value: String)]
  package var method: String
  package var body: [UInt8]?
  package var upload: HTTPUpload?
  /// Whether the body of the response is wanted without decompression.
  var decompresses: Bool
  /// The proxy, as the variables of the process name it; `nil` for none. URLSession uses the settings of the system.
  var proxy: ProxySettings.Proxy?
  /// Whether its body may be sent a second time on another connection.
  var isRepeatable: Bool
}

/// The status and the headers of a response.
package struct ResponseHead: Equatable, Sendable {
  var status: Int
  /// The headers by lowercase name.
  var headers: [String: String]

  package init(status: Int, headers: [String: String] = [:]) { (self.status, self.headers) = (status, headers) }

  var contentType: String? { headers["content-type"] }
  /// The length of the body in bytes that the server claims; `nil` without the header.
  var contentLength: Int64? { headers["content-length"].flatMap { Int64($0) } }
  var retryAfter: String? { headers["retry-after"] }
  var date: String? { headers["date"] }
}
