/// Why a request has no answer that can be used. Says what to do next, and never what was sent: no token, no value, no
/// path.
public enum TransportFailure: Error, Equatable, Sendable, CustomStringConvertible {
  /// There is no way to the server, or it ended before the answer did. The text is the system's.
  case noConnection(detail: String)
  /// Somebody answers who is not the server: a redirect, a page of HTML, something that is no HTTP.
  case notTheServer(detail: String)
  /// The answer has more bytes than the limit. It was cut off there.
  case tooLarge(limitBytes: Int)
  /// Nothing came within the limit.
  case timedOut(seconds: Double)
  /// The task was cancelled.
  case cancelled
  /// What was to be sent could not be read, or what came could not be kept.
  case bodyFailed
  /// The address would show the token and the records to everybody on the way.
  case insecure(detail: String)
  /// The address is not one of a server.
  case badAddress(detail: String)
  /// A header of the request has a name that the transport sets itself, or a value with a line break.
  case badHeader
  /// The token has characters that none has: white space, a control character.
  case badToken

  /// Somebody on the way answers that the server does not: 502 and 504.
  package static func unreachable(status: Int) -> TransportFailure {
    .noConnection(detail: "somebody on the way answers that it is not there (status \(status))")
  }

  /// What happened, for people.
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

  /// What to do next, for people.
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
    case .badToken: "fieldvault remote set URL --token-file FILE"
    }
  }

  /// Message and hint.
  public var description: String { "\(message) (\(hint))" }
}
