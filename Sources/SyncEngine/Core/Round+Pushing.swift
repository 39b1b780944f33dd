import HTTPClient
import VaultStore
import SyncModel

/// The state of pushes.
///
/// Before the server works on one batch, or while it does, the next one is prefetched. The response decides whether it is
/// sent: if the response made more urgent operations ready or changed prefetched ones, the batch is chosen again. The
/// transaction that stores a response also prefetches, so that each batch after the first costs one transaction.
struct Pushing: Sendable {
  /// The request in flight.
  var sent: PushRequest?
  /// Selects the batch after the one in flight.
  var next: BatchSelection?
  /// Selects the batch after that one.
  var following: BatchSelection?
  var response: (push: PushResponse, facts: RequestFacts)?
  var failure: RemoteFailure?
  var prefetched: PreparedBatch?
  /// The next request, which may be empty, when it is known.
  var chosen: BatchChoice?
  /// The number of times a response of this round queued a record again without an edit by a user, by UUID.
  var repeats: [String: Int] = [:]
  /// The entity of a record that was queued again too often.
  var repeatingType: String?
}

extension Round {
  func action(of task: PushTask) -> RoundTask.Action {
    switch task {
    case .choose:
      guard pushing.repeatingType == nil, pushing.chosen == nil, let selection = plan?.step.selection else {
        return .decide
      }
      return .run(.chooseBatch(selection))
    case .send:
      guard let request = pushing.sent else { return .decide }
      // A prefetched batch counts as sent after a crash. This is harmless if the server recognises repeated operations.
      guard capabilities.knowsOperations, pushing.prefetched == nil, let next = pushing.next else {
        return .ask(.push(request))
      }
      return .askAndRun(.push(request), .prefetchBatch(next))
    case .acknowledge:
      guard let request = pushing.sent, let (response, facts) = pushing.response else { return .decide }
      return .run(
        .acknowledge(
          Acknowledgement(
            request: request, response: response, facts: facts, jitters: response.results.map { _ in jitter() },
            restoresDependents: capabilities.restores, next: pushing.next,
            following: capabilities.knowsOperations ? pushing.following : nil, prefetched: pushing.prefetched)))
    case .reject(let operation, let problem): return .run(.reject(operation, problem, jitter: jitter()))
    case .release(let operations, let wasSent): return .run(.release(operations, wasSent: wasSent))
    case .drawDevice: return .run(.drawDevice)
    case .settle, .end: return .decide
    }
  }

  mutating func finish(_ task: PushTask, _ result: RoundTask.Result) {
    switch (task, result) {
    case (.choose, .decided): chooseWithoutStore()
    case (.choose, .stored(.choice(let choice))): take(choice)
    case (.send, .responded(.pushed(let response), let facts)): pushing.response = (response, facts)
    case (.send, .responded):
      // The prefetch may be outstanding, so its batch is released with the failure.
      pushing.failure = RemoteFailure(.notTheServer(detail: "its response does not fit the request"))
    case (.send, .stored(.prefetched(let batch))): pushing.prefetched = batch
    case (.settle, .decided): settle()
    case (.acknowledge, .stored(.acknowledged(let counts, let sawOthers, let next))):
      takeAcknowledged(counts, sawOthers: sawOthers, next)
    case (.acknowledge, .stored(.otherEpoch)): failPush(.newEpoch)
    case (.reject, .stored(.rejected(let counts))):
      report.add(counts)
      if counts.failed > 0 { tell(.failed(count: counts.failed)) }
    case (.release, .stored(.done)), (.drawDevice, .stored(.done)): break
    case (.end(let end), .decided): endStep(end)
    default: failUnexpectedly()
    }
  }

  // MARK: Choosing

  private mutating func chooseWithoutStore() {
    if let type = pushing.repeatingType {
      report.failure = .repeating(type, times: Self.longestRepetition)
      return endStep(.failed(.unreachable, operations: 0))
    }
    guard let choice = pushing.chosen else { return failUnexpectedly() }
    pushing.chosen = nil
    take(choice)
  }

  private mutating func take(_ choice: BatchChoice) {
    noteFailed(choice.failed)
    guard let request = choice.request else {
      if choice.isUnfinished { return then([.pushing(.choose)]) }
      return endStep(.pushed(sent: 0, sawOthers: false))
    }
    var following = plan
    following?.advance(.pushed(sent: request.operations.count, sawOthers: false))
    (pushing.sent, pushing.next) = (request, following?.step.selection)
    following?.advance(.pushed(sent: pushing.next?.limit ?? 0, sawOthers: false))
    pushing.following = following?.step.selection
    (pushing.response, pushing.failure, pushing.prefetched) = (nil, nil, choice.prefetched)
    then([.pushing(.send), .pushing(.settle)])
  }

  /// Counts operations that failed before they left the device.
  private mutating func noteFailed(_ count: Int) {
    if count == 0 { return }
    report.failed += count
    tell(.failed(count: count))
  }

  // MARK: The response

  private mutating func settle() {
    if let failure = pushing.failure { return failPush(failure) }
    guard let sent = pushing.sent, let response = pushing.response else { return failUnexpectedly() }
    guard response.push.results.map(\.operationId) == sent.operations.map(\.operationId) else {
      return failPush(
        RemoteFailure(.notTheServer(detail: "its results do not match the operations that were sent")))
    }
    then([.pushing(.acknowledge)])
  }

  private mutating func takeAcknowledged(_ counts: PushCounts, sawOthers: Bool, _ next: BatchChoice) {
    let sent = pushing.sent?.operations.count ?? 0
    (pushing.sent, pushing.prefetched, pushing.chosen) = (nil, nil, next)
    for record in counts.requeued {
      pushing.repeats[record.entityUuid, default: 0] += 1
      if pushing.repeats[record.entityUuid, default: 0] > Self.longestRepetition {
        pushing.repeatingType = record.entityType
      }
    }
    report.add(counts)
    report.failure = nil
    tell(.pushed(count: counts.pushed))
    if counts.conflicts > 0 { tell(.conflict(count: counts.conflicts)) }
    if counts.failed > 0 { tell(.failed(count: counts.failed)) }
    endStep(.pushed(sent: sent, sawOthers: sawOthers))
  }

  /// Applies a failed request: the operations return to the outbox, and a request with one operation may count as an
  /// attempt.
  mutating func failPush(_ failure: RemoteFailure) {
    let batch = pushing.sent?.operations ?? []
    report.failure = failure
    dropTasks()
    if let ahead = pushing.prefetched { noteFailed(ahead.failed) }
    let releases = releasePrefetched() + [charge(batch, failure)]
    (pushing.sent, pushing.prefetched) = (nil, nil)
    then(
      releases + (failure.responseClass == .deviceCopied ? [.pushing(.drawDevice)] : [])
        + [.pushing(.end(.failed(failure.responseClass, operations: batch.count)))])
  }

  /// Applies a failed request. Only a response to a request with a single operation counts as an attempt.
  private func charge(_ batch: [PushOperation], _ failure: RemoteFailure) -> RoundTask {
    let status: Int? =
      switch failure.responseClass {
      case .attempt: 500
      case .tooLarge: 413
      // The status is about the request. A missing record is reported for an operation.
      case .refused: failure.problem.map { $0.status == 404 ? 400 : $0.status } ?? 400
      default: nil
      }
    guard batch.count == 1, let operation = batch.first, let status else {
      return .pushing(.release(batch.map(\.operationId), wasSent: failure != .offline))
    }
    let problem = ServerProblem(
      title: failure.problem?.title ?? "", status: status, detail: failure.problem?.detail ?? failure.message,
      field: failure.problem?.field)
    return .pushing(.reject(operation, problem))
  }

  // MARK: Returning operations to the outbox

  private func releasePrefetched() -> [RoundTask] {
    let operations = pushing.prefetched?.operations.map(\.operationId) ?? []
    return operations.isEmpty ? [] : [.pushing(.release(operations, wasSent: false))]
  }

  /// Returns the tasks that return all operations in flight to the outbox when the round ends.
  mutating func releaseAll() -> [RoundTask] {
    var releases = releasePrefetched()
    if let sent = pushing.sent {
      releases.append(.pushing(.release(sent.operations.map(\.operationId), wasSent: true)))
    }
    if let chosen = pushing.chosen {
      let operations = (chosen.request?.operations ?? []) + (chosen.prefetched?.operations ?? [])
      if !operations.isEmpty { releases.append(.pushing(.release(operations.map(\.operationId), wasSent: false))) }
      noteFailed(chosen.failed + (chosen.prefetched?.failed ?? 0))
    }
    (pushing.sent, pushing.prefetched, pushing.chosen) = (nil, nil, nil)
    return releases
  }
}

extension RoundStep {
  /// The operations that a push may send; `nil` for other steps.
  var selection: BatchSelection? {
    guard case .push(let limit, let byAge) = self else { return nil }
    return BatchSelection(limit: limit, order: byAge ? .age : .priority)
  }
}

extension RemoteFailure {
  fileprivate static func repeating(_ type: String, times: Int) -> RemoteFailure {
    RemoteFailure(
      .unreachable, message: "a record of \(type) was sent \(times) times, and the server changed it each time",
      hint: "no data is lost; the next round retries. The rules of the server and of this vault may differ")
  }
}
