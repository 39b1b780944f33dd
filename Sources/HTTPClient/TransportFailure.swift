/// The reason why a request has no usable response. It contains a remedy, and no token, value or path.
public enum TransportFailure: Error, Equatable, Sendable, CustomStringConvertible {
  /// The server cannot be reached, or the connection ended before the response did. The text is the system's.
  case noConnection(detail: String)
  /// Another service responded: a redirect, an HTML page, or bytes that are not HTTP.
  case notTheServer(detail: String)
  /// The response is larger than the limit and was cut there.
  case tooLarge(limitBytes: Int)
  /// The server sent nothing within the limit.
  case timedOut(seconds: Double)
  /// The task was cancelled.
  case cancelled
  /// The body could not be read, or the response could not be written.
  case bodyFailed
  /// The address would show the token and the records to everybody on the way.
  case insecure(detail: String)
  /// The address is not one of a server.
  case badAddress(detail: String)
  /// A header of the request has a name that is reserved for the transport, or a value with a line break.
  case badHeader
  /// The token has white space or characters other than printable ASCII.
  case badToken
  /// The token could not be read on this device.
  case tokenUnavailable
  /// The server wants another token, and the ``TokenProvider`` returned none that the server accepts for this vault. The
  /// detail is the reason of the provider or of the server.
  case noValidToken(detail: String, hint: String)
  /// The proxy failed, so the server was not asked. The text has its host and port, without credentials.
  case proxyFailed(proxy: String, detail: String)

  /// An HTML page instead of the server's response. It comes from an intermediary, such as a captive portal.
  package static let htmlPage = TransportFailure.notTheServer(detail: "it returned an HTML page")

  /// The connection could not be encrypted, or the certificate is from an unknown authority.
  package static let untrusted = TransportFailure.noConnection(detail: "TLS failed or its certificate is not trusted")

  /// A proxy reported that the server does not respond: 502 and 504.
  package static func unreachable(status: Int) -> TransportFailure {
    .noConnection(detail: "a proxy reports that the server is unreachable (status \(status))")
  }

  /// The failure, for the user.
  public var message: String {
    switch self {
    case .noConnection(let detail): "the server cannot be reached: \(detail)"
    case .notTheServer(let detail): "this address does not belong to a FieldVault server: \(detail)"
    case .tooLarge(let limit): "the response has more than \(limit) bytes"
    case .timedOut(let seconds): "the server did not respond within \(Int(seconds.rounded(.up))) s"
    case .cancelled: "the request was cancelled"
    case .bodyFailed: "a file could not be read or written on this device"
    case .insecure(let detail): "the connection would not be encrypted: \(detail)"
    case .badAddress(let detail): "invalid server address: \(detail)"
    case .badHeader: "a header of the request is not allowed: its name is reserved, or its value has a line break"
    case .badToken: "invalid token: it contains white space or characters other than printable ASCII"
    case .tokenUnavailable: "the token could not be read on this device"
    case .noValidToken(let detail, _): "no valid token could be obtained: \(detail)"
    case .proxyFailed(let proxy, let detail): "the proxy \(proxy) \(detail)"
    }
  }

  /// The remedy, for the user.
  public var hint: String {
    switch self {
    case .noConnection, .timedOut: "no data is lost; sync continues when the server is reachable"
    case .notTheServer: "sign in to the network if it requires that, or check the server's address"
    case .tooLarge: "request fewer records at a time"
    case .cancelled: "no data is lost; repeat the request"
    case .bodyFailed: "check the disk and its free space"
    case .insecure: "use an https:// address"
    case .badAddress: "an address looks like https://sync.example.org"
    case .badHeader: "check the headers in the route file"
    case .badToken: "set the token again without white space around it"
    case .tokenUnavailable: "no data is lost; the request is tried again"
    case .noValidToken(_, let hint): hint
    case .proxyFailed: "check the proxy in the settings of the system; no data is lost"
    }
  }

  /// Message and hint.
  public var description: String { "\(message) (\(hint))" }
}
