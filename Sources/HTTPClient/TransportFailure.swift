/// The reason why a request has no usable response. It contains a remedy, and no token, value or path.
public enum TransportFailure: Error, Equatable, Sendable, CustomStringConvertible {
  /// The server cannot be reached, or the connection ended before the response did. The text is the system's.
  case noConnection(detail: String)
  /// Another service answered: a redirect, an HTML page, or bytes that are not HTTP.
  case notTheServer(detail: String)
  /// The response is larger than the limit and was cut there.
  case tooLarge(limitBytes: Int)
  /// Nothing came within the limit.
  case timedOut(seconds: Double)
  /// The task was cancelled.
  case cancelled
  /// The body could not be read, or the response could not be written.
  case bodyFailed
  /// The address would show the token and the records to everybody on the way.
  case insecure(detail: String)
  /// The address is not one of a server.
  case badAddress(detail: String)
  /// A header of the request has a name that the transport sets itself, or a value with a line break.
  case badHeader
  /// The token has characters that no token has: white space or control characters.
  case badToken

  /// An HTML page instead of the server's response. It comes from an intermediary, such as a captive portal.
  package static let htmlPage = TransportFailure.notTheServer(detail: "it returned an HTML page")

  /// A proxy reported that the server does not respond: 502 and 504.
  package static func unreachable(status: Int) -> TransportFailure {
    .noConnection(detail: "a proxy reports that the server is unreachable (status \(status))")
  }

  /// The failure, for the user.
  public var message: String {
    switch self {
    case .noConnection(let detail): "the server cannot be reached: \(detail)"
    case .notTheServer(let detail): "what answers at this address is not a FieldVault server: \(detail)"
    case .tooLarge(let limit): "the answer has more than \(limit) bytes"
    case .timedOut(let seconds): "the server did not answer within \(Int(seconds.rounded(.up))) s"
    case .cancelled: "the request was cancelled"
    case .bodyFailed: "a file could not be read or written on this device"
    case .insecure(let detail): "the connection would not be encrypted: \(detail)"
    case .badAddress(let detail): "this is not the address of a server: \(detail)"
    case .badHeader: "a header of the request is not allowed: its name is reserved, or its value has a line break"
    case .badToken: "the token is none: it has white space or other characters that no token has"
    }
  }

  /// The remedy, for the user.
  public var hint: String {
    switch self {
    case .noConnection, .timedOut: "nothing is lost; sync goes on when the server can be reached again"
    case .notTheServer: "sign in to the network if it wants that, or check the server's address"
    case .tooLarge: "ask for fewer records at once"
    case .cancelled: "nothing is lost; repeat it"
    case .bodyFailed: "look at the disk, and whether it has room"
    case .insecure: "use an https:// address"
    case .badAddress: "an address looks like https://sync.example.org"
    case .badHeader: "look at the headers of the route file"
    case .badToken: "set the token again, without white space around it"
    }
  }

  /// Message and hint.
  public var description: String { "\(message) (\(hint))" }
}
