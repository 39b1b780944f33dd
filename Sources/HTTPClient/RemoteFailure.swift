import SyncModel

/// The reason why a request to a remote failed. It names fields and rules, never values or tokens.
public struct RemoteFailure: Error, Equatable, Sendable, CustomStringConvertible {
  /// The class, for programs.
  public let responseClass: ResponseClass
  /// The failure, for the user.
  public let message: String
  /// The action that resolves the failure.
  public let remedy: Remedy
  /// The problem in the response, if it has one.
  public let problem: ServerProblem?
  /// The delay that the server asks for, in seconds; `nil` if the response has no delay.
  public let retryAfterSeconds: Int?

  /// The remedy as a text; empty if only a program can word it.
  public var hint: String { remedy.advice ?? "" }

  /// A failure of any remote.
  public init(
    _ responseClass: ResponseClass, message: String, hint: String, problem: ServerProblem? = nil,
    retryAfterSeconds: Int? = nil
  ) {
    self.init(
      responseClass, message: message, remedy: .advice(hint), problem: problem, retryAfterSeconds: retryAfterSeconds)
  }

  /// A failure of any remote, with the action that resolves it.
  public init(
    _ responseClass: ResponseClass, message: String, remedy: Remedy, problem: ServerProblem? = nil,
    retryAfterSeconds: Int? = nil
  ) {
    self.responseClass = responseClass
    self.message = message
    self.remedy = remedy
    self.problem = problem
    self.retryAfterSeconds = retryAfterSeconds
  }

  /// A failure of the connection to the server.
  public init(_ failure: TransportFailure) {
    self.init(
      ResponseClass(failure), message: failure.message,
      remedy: failure == .badToken ? .setRemote : .advice(failure.hint))
  }

  /// The message, followed by the hint in parentheses.
  public var description: String { hint.isEmpty ? message : "\(message) (\(hint))" }
  /// The message and the hint as one sentence, for the history.
  package var sentence: String { hint.isEmpty ? message : "\(message); \(hint)" }

  /// A response about another epoch than that of this device's versions.
  package static let newEpoch = RemoteFailure(
    .newEpoch, message: "the server's data were restored", hint: "the next sync compares everything")

  /// The failure without a request while the device has no network.
  package static let offline = RemoteFailure(
    .unreachable, message: "there is no network", hint: "no data is lost; sync continues when the network is available")
}

extension RemoteFailure {
  /// Returns the failure for a response with a status other than 200.
  init(_ response: HTTPResponse, problem: ServerProblem?) {
    let meaning = ResponseClass(
      status: response.status, problem: problem, retryAfterSeconds: response.retryAfterSeconds)
    // The problem of a revoked device has no further reason.
    let said =
      meaning == .deviceRevoked ? "" : problem.map { ": " + ($0.detail.isEmpty ? $0.title : $0.detail) } ?? ""
    let (message, remedy): (String, Remedy) =
      switch meaning {
      case .pauseCredentials: ("the server does not accept the token", .setRemote)
      case .quotaExceeded:
        ("the server does not accept this device", .advice("no data is lost; sync continues when the account has room"))
      case .deviceRevoked:
        (
          "the operator of the server has revoked this device",
          .advice("unsent changes stay on this device; ask the operator for a new token")
        )
      case .cursorUnknown:
        ("the server does not recognize the cursor of this device", .advice("the next sync compares everything"))
      case .otherProtocol:
        (
          "the server speaks another version of the sync protocol",
          .advice("update this program or the server; no data is lost")
        )
      case .deviceCopied:
        (
          "another copy of this vault syncs under the same device id",
          .advice("the next sync continues as a new device")
        )
      case .newEpoch: ("the server's data were restored", .advice("the next sync compares everything"))
      case .schemaTooOld:
        ("the server does not have this vault's schema yet", .advice("update the server, then sync again"))
      case .tooLarge: ("the request was too large for the server", .advice("the next request sends fewer operations"))
      case .later(let seconds):
        ("the server is overloaded", .advice("the request is retried \(seconds.map { "in \($0) s" } ?? "later")"))
      case .attempt: ("the server failed", .advice("the request is retried; if it fails again, check the server's log"))
      case .refused where response.status == 404:
        ("the server has no such path", .advice("check the server's address, or update the server"))
      case .refused: ("the server refuses the request", .advice("update this program or the server"))
      case .unreachable where problem != nil:
        ("the server cannot do this now", .advice("no data is lost; sync continues when the server accepts requests"))
      case .ok, .unreachable, .cancelled:
        ("the server cannot be reached", .advice("no data is lost; sync continues when the server is reachable"))
      }
    self.init(
      meaning, message: "\(message) (status \(response.status))\(said)", remedy: remedy, problem: problem,
      retryAfterSeconds: response.retryAfterSeconds)
  }
}
