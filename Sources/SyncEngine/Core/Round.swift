import HTTPClient
import VaultStore
import SyncModel

/// One sync round as a value: events in, effects out.
///
/// A round identifies the server, compares, pulls and pushes; ``RoundPlan`` decides the order of these steps. Each step is a
/// list of tasks (``RoundTask``). A task has at most one request and one transaction. Its result updates the state and may
/// put further tasks in front of the list.
///
/// The value performs no input or output: it has no database, no network, no clock and no timer. A driver performs the
/// effects and passes their results to ``handle(_:)``. The device's driver is ``RoundDriver``.
package struct Round: Sendable {
  /// The results so far.
  package internal(set) var report = SyncReport()
  /// The versions of the server, for a round that only fetches records.
  package internal(set) var fetched: FetchedRecords?
  /// The time when the next delayed operation becomes due. Set when the round has ended.
  package internal(set) var nextDue: Int64?
  /// Whether the round has ended.
  package private(set) var isEnded = false
  /// The reason why the vault could not be read or written.
  package private(set) var deviceFailure: String?

  let cause: Schedule.Cause
  let capabilities: RemoteCapabilities
  /// The synced entities, each after the entities that it references.
  let entities: [String]
  /// Returns numbers from 0 to 1.
  let jitter: @Sendable () -> Double
  /// `nil` for a round that only fetches records.
  var plan: RoundPlan?

  /// The tasks of the step, the next one last.
  private var tasks: [RoundTask]
  /// The task whose request is outstanding.
  private var asking: RoundTask?
  /// The task whose transaction is outstanding.
  private var storing: RoundTask?
  private var isWaiting = false
  private var isCancelled = false
  private var effects: [RoundEffect] = []

  var identifying = Identifying()
  var leaving = Leaving()
  var pulling = Pulling()
  var pushing = Pushing()
  var comparing: Comparing?
  var fetching: (account: AccountInfo, records: [RemoteRecord])?
  /// The number of the round in the history.
  var run: Int64?
  /// The transactions that tidied up.
  var tidyings = 0

  /// Creates a sync round.
  /// - Parameters:
  ///   - entities: the synced entities, each after the entities that it references.
  ///   - jitter: random numbers from 0 to 1 that spread retries.
  package init(
    _ request: RoundRequest, cause: Schedule.Cause, capabilities: RemoteCapabilities, entities: [String],
    jitter: @escaping @Sendable () -> Double
  ) {
    (self.cause, self.capabilities, self.entities, self.jitter) = (cause, capabilities, entities, jitter)
    plan = RoundPlan(request, batchLimit: capabilities.batch, compares: capabilities.compares)
    tasks = [.ending(.beginRun)]
    pulling.isFromBeginning = capabilities.isCurrent && (request.isFull || cause.isByUser)
  }

  /// Creates a round that fetches records and the records that they reference, and stores nothing.
  package init(fetching uuids: [String], of entityType: String, capabilities: RemoteCapabilities) {
    (cause, self.capabilities, entities, jitter) = (.manual, capabilities, [], { 0 })
    tasks = [.fetching(.account(entityType: entityType, uuids: uuids))]
  }

  /// Starts the round.
  package mutating func begin() -> [RoundEffect] {
    proceed()
    return takeEffects()
  }

  /// Applies an event. Events without an outstanding effect change nothing.
  package mutating func handle(_ event: RoundEvent) -> [RoundEffect] {
    switch event {
    case .responded(let response, let facts):
      guard let task = asking else { break }
      asking = nil
      note(facts)
      finish(task, .responded(response, facts))
    case .requestFailed(let failure, let facts):
      guard let task = asking else { break }
      asking = nil
      note(facts)
      if case .pushing(.send) = task { pushing.failure = failure } else { fail(failure) }
    case .stored(let result):
      guard let task = storing else { break }
      storing = nil
      finish(task, .stored(result))
    case .storeFailed(let message):
      guard let task = storing else { break }
      storing = nil
      // A failed prefetch is repeated with the response. An error of this device occurs again then.
      if case .pushing(.send) = task { break }
      if case .ending = task { failDevice(message, writesHistory: false) } else { failDevice(message) }
    case .storeCancelled:
      guard let task = storing else { break }
      storing = nil
      isCancelled = true
      if case .pushing(.send) = task { break }
      cancel()
    case .waited:
      guard isWaiting else { break }
      isWaiting = false
      endStep(.waited)
    case .cancelled:
      isCancelled = true
      if isWaiting {
        isWaiting = false
        cancel()
      }
    }
    proceed()
    return takeEffects()
  }

  // MARK: Tasks

  /// Starts tasks until an effect is outstanding.
  private mutating func proceed() {
    while asking == nil, storing == nil, !isWaiting, !isEnded, let task = tasks.popLast() {
      if isCancelled, !task.survivesCancellation {
        cancel()
        continue
      }
      start(task)
    }
  }

  private mutating func start(_ task: RoundTask) {
    switch action(of: task) {
    case .ask(let request):
      asking = task
      effects.append(.send(request))
    case .run(let command):
      storing = task
      effects.append(.run(command))
    case .askAndRun(let request, let command):
      (asking, storing) = (task, task)
      effects += [.send(request), .run(command)]
    case .decide: finish(task, .decided)
    }
  }

  private func action(of task: RoundTask) -> RoundTask.Action {
    switch task {
    case .identifying(let task): action(of: task)
    case .leaving(let task): task.action
    case .pulling(let task): action(of: task)
    case .pushing(let task): action(of: task)
    case .holding(let task): action(of: task)
    case .comparing(let task): action(of: task)
    case .applying(let task): task.action
    case .fetching(let task): task.action
    case .ending(let task): action(of: task)
    }
  }

  private mutating func finish(_ task: RoundTask, _ result: RoundTask.Result) {
    switch task {
    case .identifying(let task): finish(task, result)
    case .leaving(let task): finish(task, result)
    case .pulling(let task): finish(task, result)
    case .pushing(let task): finish(task, result)
    case .holding(let task): finish(task, result)
    case .comparing(let task): finish(task, result)
    case .applying(let task): finish(task, result)
    case .fetching(let task): finish(task, result)
    case .ending(let task): finish(task, result)
    }
  }

  /// Puts tasks in front of the list.
  mutating func then(_ next: [RoundTask]) { tasks.append(contentsOf: next.reversed()) }

  mutating func dropTasks() { tasks = [] }

  mutating func tell(_ event: SyncEvent) { effects.append(.tell(event)) }

  /// Ends the step. The plan decides the next one.
  mutating func endStep(_ result: StepResult) {
    tasks = []
    plan?.advance(result)
    beginStep()
  }

  /// Starts the step of the plan.
  mutating func beginStep() {
    guard let step = plan?.step else { return end() }
    if isCancelled, !step.isFinish { return endStep(.failed(.cancelled, operations: 0)) }
    effects.append(.begin(step))
    switch step {
    case .identify: then([.identifying(.account)])
    case .reconcile: then([.holding(.begin)])
    case .pull(let limit): then([.pulling(.position(limit: limit))])
    case .fetchParents:
      pulling.beginInbox()
      then([.pulling(.inboxParents(after: ""))])
    case .push: then([.pushing(.choose)])
    case .wait(let seconds):
      isWaiting = true
      effects.append(.wait(seconds: seconds))
    case .removeRecords: then([.leaving(.begin(.revoked))])
    case .finish(let outcome): finishRound(outcome)
    }
  }

  /// Ends the round. Nothing is outstanding.
  mutating func end() {
    tasks = []
    isEnded = true
    effects.append(.end)
  }

  // MARK: Failures

  /// Applies the failure of a request.
  mutating func fail(_ failure: RemoteFailure) {
    if pushing.sent != nil { return failPush(failure) }
    report.failure = failure
    tasks = []
    if failure.responseClass == .cursorUnknown { pulling.hasLostCursor = true }
    guard plan != nil else { return end() }
    endStep(.failed(failure.responseClass, operations: 0))
  }

  private mutating func cancel() {
    tasks = []
    guard plan != nil else {
      report.outcome = .cancelled
      return end()
    }
    endStep(.failed(.cancelled, operations: 0))
  }

  /// Applies an error of this device. The operations in flight return to the outbox and the history is written, as far as
  /// that still works.
  mutating func failDevice(_ message: String, writesHistory: Bool = true) {
    guard deviceFailure == nil else { return }
    deviceFailure = message
    tasks = []
    let history: [RoundTask] = run != nil && writesHistory ? [.ending(.endRun)] : []
    then(releaseAll() + history + [.ending(.close)])
  }

  /// Ends the round because a driver returned a result of another kind.
  mutating func failUnexpectedly() { failDevice("a driver returned the result of another effect") }

  private mutating func note(_ facts: RequestFacts) {
    report.bytesSent = facts.traffic.bytesSent
    report.bytesReceived = facts.traffic.bytesReceived
  }

  private mutating func takeEffects() -> [RoundEffect] {
    defer { effects = [] }
    return effects
  }
}
