import SyncModel

/// The meaning of a response to a whole request for its sender; see `WireFormat.md`, "Statuses of whole requests".
public enum ResponseClass: Equatable, Sendable {
  /// The request succeeded.
  case ok
  /// The token is invalid. Nothing is sent until the user sets another one.
  case pauseCredentials
  /// The operator of the server has revoked this device. Nothing is sent until the user logs in again.
  case deviceRevoked
  /// The account has no room for this device: nothing is sent until the operator raises the limit.
  case quotaExceeded
  /// The versions of the protocol do not match: nothing is sent until one side is upgraded.
  case otherProtocol
  /// Another copy of the vault pushes under the same device id.
  case deviceCopied
  /// The server's data belong to another epoch than the device's versions.
  case newEpoch
  /// The server does not know the cursor.
  case cursorUnknown
  /// The server does not have the device's schema yet: nothing is sent until it does.
  case schemaTooOld
  /// The body of the request or response is too large: send fewer operations or records.
  case tooLarge
  /// The server asks for a delay of this many seconds; `nil` without a number. No attempt is counted.
  case later(seconds: Int?)
  /// The server was not reached; no attempt is counted.
  case unreachable
  /// The server failed. The failure counts as an attempt for a request of one operation.
  case attempt
  /// The device and the server disagree about the format. The user has to act.
  case refused
  /// The sender cancelled the request. The class proves nothing about the server.
  case cancelled

  /// Returns the class of a status.
  ///
  /// A server of this format names the reason of a refusal. A refusal without a problem comes from an intermediary,
  /// such as a captive portal or a proxy. Of these, only 413 and 429 are trusted.
  ///
  /// - Parameters:
  ///   - status: the HTTP status, 100 to 599.
  ///   - problem: the body, if it is a problem of this format.
  ///   - retryAfterSeconds: the header `Retry-After`, in seconds.
  public init(status: Int, problem: ServerProblem?, retryAfterSeconds: Int? = nil) {
    self =
      switch (status, problem) {
      case (200, _): .ok
      case (413, _): .tooLarge
      case (429, _): .later(seconds: retryAfterSeconds)
      case (_, nil): .unreachable
      case (403, let problem?) where problem.type == ServerProblem.deviceRevoked: .deviceRevoked
      case (403, let problem?) where problem.type == ServerProblem.quotaExceeded: .quotaExceeded
      case (401, _), (403, _): .pauseCredentials
      case (409, let problem?) where problem.type == ServerProblem.schemaTooOld: .schemaTooOld
      case (409, let problem?) where problem.type == ServerProblem.deviceCopied: .deviceCopied
      case (410, _): .cursorUnknown
      case (426, _): .otherProtocol
      case (500, _): .attempt
      case (407, _), (408, _): .unreachable
      case (400..<500, _): .refused
      default: .unreachable
      }
  }

  /// Returns the class of a failure of the transport.
  public init(_ failure: TransportFailure) {
    self =
      switch failure {
      case .noConnection, .notTheServer, .timedOut, .tokenUnavailable, .proxyFailed: .unreachable
      case .cancelled: .cancelled
      case .tooLarge: .tooLarge
      case .badToken, .noValidToken: .pauseCredentials
      case .insecure, .badAddress, .badHeader, .bodyFailed: .refused
      }
  }
}
