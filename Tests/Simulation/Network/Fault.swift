import TestSupport

/// The fault that affects one request.
enum Fault: String, CaseIterable, Sendable {
  case pass
  case delay
  /// The connection ends at a random byte of the request.
  case cutRequest = "cut request"
  /// The server has executed the request, and the connection ends at a random byte of the response.
  case cutResponse = "cut response"
  /// The server has executed the request, and the response never arrives.
  case swallow
  /// The request reaches the server twice, one after the other or at the same time.
  case repeated = "repeated"
  /// An intermediary returns a server error.
  case error
  /// An intermediary returns an HTML page.
  case portal
  /// The response arrives in small pieces.
  case trickle

  /// How often it is chosen, out of 100.
  private var weight: Int {
    switch self {
    case .pass: 55
    case .delay: 8
    case .cutRequest: 6
    case .cutResponse: 9
    case .swallow: 3
    case .repeated: 8
    case .error: 5
    case .portal: 3
    case .trickle: 3
    }
  }

  static func random(_ random: inout Seeded) -> Fault {
    var number = random.number(0..<100)
    for fault in allCases {
      number -= fault.weight
      if number < 0 { return fault }
    }
    return .pass
  }

  /// Responses of an intermediary, or of a failing server.
  static func errorResponse(_ random: inout Seeded) -> [UInt8] {
    switch random.number(0..<5) {
    case 0: HTTPText.response("502 Bad Gateway", ["Content-Type: text/html"], "<h1>bad gateway</h1>")
    case 1: HTTPText.response("503 Service Unavailable", ["Retry-After: 1"], "")
    case 2: HTTPText.response("503 Service Unavailable", [], "")
    case 3: HTTPText.response("429 Too Many Requests", ["Retry-After: 1"], "")
    default: HTTPText.response("500 Internal Server Error", ["Content-Type: text/plain"], "oh")
    }
  }

  static let portalResponse = HTTPText.response(
    "200 OK", ["Content-Type: text/html"], "<html><body>Welcome to the hotel. Please log in.</body></html>")
}
