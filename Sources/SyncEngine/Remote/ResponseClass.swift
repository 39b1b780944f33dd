import SyncModel
import WebTransport

/// What an answer to a whole request means for the one who sent it; `WireFormat.md`, "Statuses of whole requests".
public enum ResponseClass: Equatable, Sendable {
  /// The answer is what was asked for.
  case ok
  /// The token is not valid (any more): nothing is sent until there is another.
  case pauseCredentials
  /// The versions of the protocol do not match: nothing is sent until one side is upgraded.
  case otherProtocol
  /// Another copy of the vault pushes under the same device id.
  case deviceCopied
  /// The server's data belong to another epoch than the device's versions.
  case newEpoch
  /// The server does not know the cursor (any more).
  case cursorUnknown
  /// The server does not have the device's schema yet: nothing is sent until it does.
  case schemaTooOld
  /// The request's body, or its answer, is too large: fewer operations or records at once.
  case tooLarge
  /// The server wants to be left alone for so many seconds; no attempt is counted. Nil when it does not say for how long.
  case later(seconds: Int?)
  /// The server was not reached; no attempt is counted.
  case unreachable
  /// The server failed at it: an attempt for a request of one operation.
  case attempt
  /// One of the two programs is mistaken: a person has to look.
  case refused
  /// Ended by the one who sent it; says nothing about the server.
  case cancelled

  /// What a status means.
  ///
  /// A server of this format says why it refuses. A refusal without a problem comes from somebody between: a captive
  /// portal, a proxy. Only that a body is too large, and that there were too many requests, is believed of these.
  ///
  /// - Parameters:
  ///   - status: the HTTP status, 100 to 599.
  ///   - problem: the body, where it is a problem of this format.
  ///   - retryAfterSeconds: what the answer has as `Retry-After`, in seconds.
  public init(status: Int, problem: ServerProblem?, retryAfterSeconds: Int? = nil) {
    self =
      switch (status, problem) {
      case (200, _): .ok
      case (413, _): .tooLarge
      case (429, _): .later(seconds: retryAfterSeconds)
      case (_, nil): .unreachable
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

  /// What a failure of the transport means.
  public init(_ failure: TransportFailure) {
    self =
      switch failure {
      case .noConnection, .notTheServer, .timedOut: .unreachable
      case .cancelled: .cancelled
      case .tooLarge: .tooLarge
      case .badToken: .pauseCredentials
      case .insecure, .badAddress, .badHeader, .bodyFailed: .refused
      }
  }
}
