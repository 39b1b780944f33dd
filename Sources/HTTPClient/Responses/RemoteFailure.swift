import SyncModel

/// The reason why a request to a remote failed. It names fields and rules, never values or tokens.
public struct RemoteFailure: Error, Equatable, Sendable, CustomStringConvertible {
  /// The class, for programs.
  public let answer: ResponseClass
  /// The failure, for the user.
  public let message: String
  /// The remedy, for the user.
  public let hint: String
  /// The problem in the response, if it has one.
  public let problem: ServerProblem?
  /// The delay that the server asks for, in seconds; `nil` if the response has no delay.
  public let retryAfterSeconds: Int?

  /// A failure of any remote.
  public init(
    _ answer: ResponseClass, message: String, hint: String, problem: ServerProblem? = nil, retryAfterSeconds: Int? = nil
  ) {
    self.answer = answer
    self.message = message
    self.hint = hint
    self.problem = problem
    self.retryAfterSeconds = retryAfterSeconds
  }

  /// A failure of the way to the server.
  public init(_ failure: TransportFailure) {
    self.init(ResponseClass(failure), message: failure.message, hint: failure.hint)
  }

  /// Message and hint.
  public var description: String { "\(message) (\(hint))" }

  /// A response about another epoch than that of this device's versions.
  package static let newEpoch = RemoteFailure(
    .newEpoch, message: "the server's data were restored", hint: "the next sync compares everything")

  /// The failure without a request while there is no network.
  package static let offline = RemoteFailure(
    .unreachable, message: "there is no network", hint: "nothing is lost; sync goes on when there is one again")
}

extension RemoteFailure {
  /// Returns the failure for a response with a status other than 200.
  init(_ answer: HTTPResponse, problem: ServerProblem?) {
    let meaning = ResponseClass(
      status: answer.status, problem: problem, retryAfterSeconds: answer.retryAfterSeconds)
    // An invalid token needs no further reason.
    let said = answer.status == 401 ? "" : problem.map { ": " + ($0.detail.isEmpty ? $0.title : $0.detail) } ?? ""
    let (message, hint): (String, String) =
      switch meaning {
      case .pauseCredentials: ("the server does not accept the token", "fieldvault remote set URL --token-file FILE")
      case .cursorUnknown: ("the server does not know how far this device is", "the next sync compares everything")
      case .otherProtocol:
        ("the server speaks another version of the sync protocol", "update this program or the server; nothing is lost")
      case .deviceCopied:
        ("another copy of this vault syncs under the same device id", "the next sync continues as a new device")
      case .newEpoch: ("the server's data were restored", "the next sync compares everything")
      case .schemaTooOld: ("the server does not have this vault's schema yet", "update the server, then sync again")
      case .tooLarge: ("the request was too large for the server", "fewer operations are sent at once")
      case .later(let seconds):
        ("the server has too much to do", "it is asked again \(seconds.map { "in \($0) s" } ?? "later")")
      case .attempt: ("the server failed", "it is tried again; look at the server's log if it stays so")
      case .refused where answer.status == 404:
        ("the server has nothing at this address", "check the server's address, or update the server")
      case .refused: ("the server refuses the request", "update this program or the server")
      case .unreachable where problem != nil:
        ("the server cannot do this now", "nothing is lost; sync goes on when it can")
      case .ok, .unreachable, .cancelled:
        ("the server cannot be reached", "nothing is lost; sync goes on when it can be reached again")
      }
    self.init(
      meaning, message: "\(message) (status \(answer.status))\(said)", hint: hint, problem: problem,
      retryAfterSeconds: answer.retryAfterSeconds)
  }
}
