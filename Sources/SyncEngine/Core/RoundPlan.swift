import HTTPClient
import SyncModel

/// The steps of a sync round, as a pure function of events, without a clock, a network or a database.
///
/// A round identifies the server, compares all records when that is due, pulls, pushes, and pulls again the changes
/// of the push. After a failed request the round ends, waits, or sends smaller requests. The class of the response
/// decides. Only a response to an operation itself counts as an attempt.
public struct RoundPlan: Equatable, Sendable {
  /// The maximum number of records in a page.
  public static let pageLimit = ChangesPage.usualLimit
  /// The maximum number of operations in a batch.
  public static let batchLimit = PushRequest.greatestCount
  /// Every fourth batch is chosen by age alone. An operation with n older ones is sent with the 4 (n / 25 + 1)th
  /// batch at the latest, independent of operations of a higher priority.
  public static let batchesUntilAge = 4
  /// The maximum number of times that a round waits for a busy server.
  public static let longestWaits = 5
  /// The maximum wait in seconds. A longer wait ends the round, and the schedule starts another one later.
  public static let longestWait = 30

  /// The maximum number of comparisons in a round that are caused by a new epoch of the server.
  static let mostEpochs = 3

  /// The purposes of this round.
  public let request: RoundRequest
  /// The next step.
  public private(set) var step: RoundStep = .identify

  private var pageLimit = Self.pageLimit
  private var batchLimit: Int
  private let compares: Bool
  /// Operations that are sent one by one, because a request with several operations failed.
  private var singles = 0
  private var batches = 0
  private var waits = 0
  private var isAgain = false
  private var hasReplacedCursor = false
  private var pullsAgain = false
  private var epochs = 0
  private var isNewDevice = false
  private var afterWait: RoundStep = .identify

  /// Creates the plan of a round.
  /// - Parameters:
  ///   - batchLimit: the most operations of one request.
  ///   - compares: whether the server can compare all records.
  public init(_ request: RoundRequest, batchLimit: Int = Self.batchLimit, compares: Bool = true) {
    self.request = request
    self.batchLimit = batchLimit
    self.compares = compares
  }

  /// Applies the result of the step. ``step`` becomes the next one.
  public mutating func advance(_ event: StepResult) {
    switch event {
    case .identified(let mustReconcile):
      let compares = compares && (request.isFull || mustReconcile)
      step = !request.pulls ? nextBatch : compares ? .reconcile : .pull(limit: pageLimit)
    case .reconciled: step = .pull(limit: pageLimit)
    case .heldDeletions: step = .finish(.paused)
    case .pulled(let hasMore): step = hasMore ? .pull(limit: pageLimit) : .fetchParents
    case .fetchedParents: step = request.pushes && !isAgain ? nextBatch : .finish(.done)
    case .pushed(let sent, let sawOthers):
      pullsAgain = pullsAgain || sawOthers
      if sent == 0 { return step = afterPush() }
      batches += 1
      singles = max(0, singles - sent)
      step = nextBatch
    case .waited: step = afterWait
    case .removedRecords: step = .finish(.paused)
    case .failed(let responseClass, let operations): fail(responseClass, operations)
    }
  }

  private var nextBatch: RoundStep {
    .push(limit: singles > 0 ? 1 : batchLimit, byAge: batches % Self.batchesUntilAge == Self.batchesUntilAge - 1)
  }

  private mutating func afterPush() -> RoundStep {
    guard request.pulls, pullsAgain else { return .finish(.done) }
    isAgain = true
    return .pull(limit: pageLimit)
  }

  private mutating func fail(_ responseClass: ResponseClass, _ operations: Int) {
    switch (responseClass, step) {
    case (.ok, _): break
    case (.cancelled, _): step = .finish(.cancelled)
    case (.unreachable, _): step = .finish(.offline)
    case (.pauseCredentials, _), (.quotaExceeded, _), (.schemaTooOld, _), (.otherProtocol, _): step = .finish(.paused)
    case (.deviceRevoked, _): step = .removeRecords
    case (.newEpoch, _) where epochs < Self.mostEpochs:
      epochs += 1
      step = .reconcile
    // The round has drawn a new device id. A server that refuses this one too is faulty.
    case (.deviceCopied, .push) where !isNewDevice:
      isNewDevice = true
      step = .reconcile
    // A regular comparison keeps the cursor. The one that follows takes the server's, which the server has to know.
    case (.cursorUnknown, .pull) where !hasReplacedCursor:
      hasReplacedCursor = true
      step = .reconcile
    case (.later(let seconds), _):
      let seconds = max(seconds ?? 5, 1)
      waits += 1
      if seconds > Self.longestWait || waits > Self.longestWaits { return step = .finish(.offline) }
      afterWait = step
      step = .wait(seconds: seconds)
    case (.tooLarge, .push) where operations > 1:
      batchLimit = max(1, operations / 2)
      step = nextBatch
    case (.attempt, .push) where operations > 1, (.refused, .push) where operations > 1:
      singles = operations
      step = nextBatch
    case (.tooLarge, .push), (.attempt, .push), (.refused, .push):
      // The attempt of the single operation was counted. The other operations continue.
      singles = max(0, singles - 1)
      step = nextBatch
    case (.tooLarge, .pull) where pageLimit > 1:
      pageLimit = max(1, pageLimit / 4)
      step = .pull(limit: pageLimit)
    case (.attempt, _): step = .finish(.offline)
    default: step = .finish(.failed)
    }
  }
}
