/// The reason why the HTTP server cannot listen or use a certificate.
public struct HTTPServerError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of failure. Kinds can be added; a `switch` always needs a `default`.
  public enum Code: String, Sendable {
    /// The server cannot listen on the address, for example because this machine does not have it.
    case cannotListen
    /// Another program listens on the address.
    case addressInUse
    /// The certificate or its key cannot be read or used.
    case badCertificate
  }

  /// The kind of failure, for programs.
  public let code: Code
  /// The failure, for the administrator.
  public let message: String
  /// The remedy, if it is known.
  public let hint: String?

  /// Creates an error from its parts.
  public init(_ code: Code, _ message: String, hint: String? = nil) {
    self.code = code
    self.message = message
    self.hint = hint
  }

  /// The message, followed by the hint in parentheses.
  public var description: String { hint.map { "\(message) (\($0))" } ?? message }
}
