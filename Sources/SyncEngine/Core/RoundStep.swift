import HTTPClient
/// A step of a sync round.
public enum RoundStep: Equatable, Sendable {
  /// Identifies server and account.
  case identify
  /// Compares all records with the server's.
  case reconcile
  /// Fetches and applies one page.
  case pull(limit: Int)
  /// Fetches referenced records that are missing.
  case fetchParents
  /// Sends one batch; by age alone, or by priority.
  case push(limit: Int, byAge: Bool)
  /// Waits, then continues.
  case wait(seconds: Int)
  /// Removes the records that the server has, because the device is revoked.
  case removeRecords
  /// Tidies up and ends.
  case finish(RoundOutcome)

  /// Whether the round ends.
  var isFinish: Bool { if case .finish = self { true } else { false } }

  /// The step in words, for a trace.
  var name: String {
    switch self {
    case .identify: "identifying the server"
    case .reconcile: "comparing all records"
    case .pull: "fetching a page"
    case .fetchParents: "fetching records that others refer to"
    case .push: "sending a batch"
    case .wait(let seconds): "waiting \(seconds) s because the server asked for that"
    case .removeRecords: "removing the records of a revoked device"
    case .finish: "ending"
    }
  }
}

/// The outcome of a round.
public enum RoundOutcome: String, Equatable, Sendable {
  case done
  /// The connection failed or the server could not respond. No attempt is counted.
  case offline
  /// The server wants other credentials: the outbox pauses until the user gives them. Or the server lacks the schema, or a
  /// comparison would delete many records: the outbox pauses, and a worker looks every 15 minutes whether the server
  /// has changed.
  case paused
  /// The server or this program is at fault.
  case failed
  case cancelled
}

/// The result of a step of a round.
public enum StepResult: Equatable, Sendable {
  /// Server and account are identified; `mustReconcile`: all records must be compared.
  case identified(mustReconcile: Bool)
  case reconciled
  /// The comparison would delete many records, and a user has to accept that first; nothing was changed.
  case heldDeletions
  /// A page was applied.
  case pulled(hasMore: Bool)
  case fetchedParents
  /// The server has responded to a batch; `sent` is 0 if no operation was ready. `sawOthers`: the server has changes
  /// that this device lacks.
  case pushed(sent: Int, sawOthers: Bool)
  case waited
  /// The records of a revoked device have left it as far as they can.
  case removedRecords
  /// A request with this number of operations failed.
  case failed(ResponseClass, operations: Int)
}

/// The purposes of a round.
public struct RoundRequest: Equatable, Sendable {
  /// Whether changes of the server are fetched.
  public var pulls: Bool
  /// Whether the outbox is sent.
  public var pushes: Bool
  /// Whether all records are compared.
  public var isFull: Bool

  /// Creates a request. By default it covers both directions, without a comparison.
  public init(pulls: Bool = true, pushes: Bool = true, isFull: Bool = false) {
    (self.pulls, self.pushes, self.isFull) = (pulls, pushes, isFull)
  }
}
