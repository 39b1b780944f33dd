/// What a round of sync does.
public enum RoundStep: Equatable, Sendable {
  /// Asks who answers.
  case identify
  /// Compares all records with the server's.
  case reconcile
  /// Fetches and applies one page.
  case pull(limit: Int)
  /// Fetches records that others refer to and that have not come.
  case fetchParents
  /// Sends one batch; by age alone, or by priority.
  case push(limit: Int, byAge: Bool)
  /// Waits, then goes on.
  case wait(seconds: Int)
  /// Tidies up and ends.
  case finish(RoundOutcome)

  /// The step in words, for a trace.
  var name: String {
    switch self {
    case .identify: "asking who answers"
    case .reconcile: "comparing all records"
    case .pull: "fetching a page"
    case .fetchParents: "fetching records that others refer to"
    case .push: "sending a batch"
    case .wait(let seconds): "waiting \(seconds) s because the server asked for that"
    case .finish: "ending"
    }
  }
}

/// How a round ended.
public enum RoundOutcome: String, Equatable, Sendable {
  case done
  /// No connection, or a server that could not answer; nothing lost an attempt.
  case offline
  /// The server wants other credentials or lacks the schema, or a comparison would delete many records: the outbox pauses
  /// until a user has decided.
  case paused
  /// The server or this program is at fault.
  case failed
  case cancelled
}

/// What became of a step of a round.
public enum RoundEvent: Equatable, Sendable {
  /// Who answers is known; `mustReconcile`: everything is to be compared.
  case identified(mustReconcile: Bool)
  case reconciled
  /// The comparison would delete many records, and a user has to accept that first; nothing was changed.
  case heldDeletions
  /// A page was applied.
  case pulled(hasMore: Bool)
  case fetchedParents
  /// A batch was sent and answered; with no operation when none is ready. `sawOthers`: the server has changes that this
  /// device does not have.
  case pushed(sent: Int, sawOthers: Bool)
  case waited
  /// A request failed that carried so many operations.
  case failed(ResponseClass, operations: Int)
}

/// What a person or a program wants of a round.
public struct RoundRequest: Equatable, Sendable {
  /// Whether changes of the server are fetched.
  public var pulls: Bool
  /// Whether the outbox is sent.
  public var pushes: Bool
  /// Whether all records are compared.
  public var isFull: Bool

  /// By default both directions, without comparing.
  public init(pulls: Bool = true, pushes: Bool = true, isFull: Bool = false) {
    (self.pulls, self.pushes, self.isFull) = (pulls, pushes, isFull)
  }
}
