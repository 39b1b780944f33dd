import HTTPClient
import SyncModel

@testable import Outbox
@testable import VaultStore
@testable import SyncEngine

/// A driver for tests: a script returns an event for each effect of a round, one at a time.
struct ScriptedRound {
  /// The device and the server of a test, as far as a round sees them.
  struct Script {
    /// Responds to a request; `nil` for the usual response.
    var respond: (RemoteRequest) -> RoundEvent? = { _ in nil }
    /// Returns the result of a transaction; `nil` for the usual result.
    var store: (StoreCommand) -> RoundEvent? = { _ in nil }
    /// Whether the result of a prefetch arrives before the response to the push.
    var isPrefetchFirst = true
    /// The batches that the outbox has.
    var batches: [[String]] = []
  }

  var round: Round
  var script: Script
  /// The effects of the round, in order.
  private(set) var log: [RoundEffect] = []
  /// The effects that have no result yet.
  private(set) var outstanding: [RoundEffect] = []
  /// Operations that were chosen and have no result yet, by id.
  private(set) var inFlight: Set<String> = []
  private var batches: [[String]]
  /// How far the device has pulled.
  private var cursor = "here"

  static let entities = ["Project", "Room"]
  static let facts = RequestFacts(sentAt: 1000, receivedAt: 1010)

  init(
    _ request: RoundRequest = RoundRequest(), capabilities: RemoteCapabilities = RemoteCapabilities(),
    script: Script = Script()
  ) {
    round = Round(
      request, cause: .manual, capabilities: capabilities, entities: Self.entities, jitter: { 0.5 })
    self.script = script
    batches = script.batches
    take(round.begin())
  }

  init(fetching uuids: [String], script: Script = Script()) {
    round = Round(fetching: uuids, of: "Room", capabilities: RemoteCapabilities())
    self.script = script
    batches = []
    take(round.begin())
  }

  // MARK: Driving

  /// Drives the round to its end, or for some events.
  /// - Returns: whether the round ended.
  @discardableResult
  mutating func drive(_ most: Int = 100_000) -> Bool {
    for _ in 0..<most {
      guard let effect = next else { return round.isEnded }
      handle(event(for: effect), of: effect)
    }
    return round.isEnded
  }

  /// The effect whose result arrives next.
  private var next: RoundEffect? {
    let isStore = { (effect: RoundEffect) in if case .run = effect { true } else { false } }
    if script.isPrefetchFirst, let store = outstanding.first(where: isStore) { return store }
    return outstanding.first
  }

  /// Handles an event that finishes an outstanding effect, or none.
  mutating func handle(_ event: RoundEvent, of effect: RoundEffect? = nil) {
    if let effect, let index = outstanding.firstIndex(of: effect) { outstanding.remove(at: index) }
    if case .run(let command)? = effect { settle(command, event) }
    take(round.handle(event))
  }

  /// Handles any event as the result of the outstanding effect of its kind, if there is one.
  mutating func inject(_ event: RoundEvent) {
    let effect = outstanding.first { effect in
      switch (effect, event) {
      case (.send, .responded), (.send, .requestFailed), (.run, .stored), (.run, .storeFailed), (.run, .storeCancelled),
        (.wait, .waited), (.wait, .cancelled):
        true
      default: false
      }
    }
    handle(event, of: effect)
  }

  private mutating func take(_ effects: [RoundEffect]) {
    log += effects
    for effect in effects {
      switch effect {
      case .send, .run, .wait: outstanding.append(effect)
      case .begin, .tell, .end: break
      }
    }
  }

  func event(for effect: RoundEffect) -> RoundEvent {
    switch effect {
    case .send(let request): script.respond(request) ?? .responded(Self.response(to: request), Self.facts)
    case .run(let command): script.store(command) ?? .stored(result(of: command))
    case .wait, .begin, .tell, .end: .waited
    }
  }

  // MARK: The outbox

  /// Follows which operations are in flight.
  private mutating func settle(_ command: StoreCommand, _ event: RoundEvent) {
    guard case .stored(let result) = event else { return }
    switch (command, result) {
    case (.chooseBatch, .choice(let choice)):
      if !batches.isEmpty { batches.removeFirst() }
      inFlight.formUnion(choice.request?.operations.map(\.operationId) ?? [])
    case (.prefetchBatch, .prefetched(let batch)):
      if batch != nil, !batches.isEmpty { batches.removeFirst() }
      inFlight.formUnion(batch?.operations.map(\.operationId) ?? [])
    case (.acknowledge(let acknowledgement), .acknowledged(_, _, let next)):
      inFlight.subtract(acknowledgement.request.operations.map(\.operationId))
      inFlight.subtract(acknowledgement.prefetched?.operations.map(\.operationId) ?? [])
      if Self.prefetched(acknowledgement) == nil, next.request != nil, !batches.isEmpty { batches.removeFirst() }
      if next.prefetched?.operations.isEmpty == false, !batches.isEmpty { batches.removeFirst() }
      inFlight.formUnion(next.request?.operations.map(\.operationId) ?? [])
      inFlight.formUnion(next.prefetched?.operations.map(\.operationId) ?? [])
    case (.applyPage(let page, _), .applied): cursor = page.cursor
    case (.endComparison(_, let cursor?, _), .done): self.cursor = cursor
    case (.reject(let operation, _, _), _): inFlight.remove(operation.operationId)
    case (.release(let operations, _), _): inFlight.subtract(operations)
    default: break
    }
  }

  private func result(of command: StoreCommand) -> StoreResult {
    switch command {
    case .read(.pullPosition): .position(cursor: cursor, scopes: [])
    case .chooseBatch: .choice(Self.choice(batches.first))
    case .prefetchBatch: .prefetched(batches.first.map(Self.batch))
    case .acknowledge(let acknowledgement):
      .acknowledged(PushCounts(), sawOthers: false, next: choice(after: acknowledgement))
    default: Self.result(of: command)
    }
  }

  private func choice(after acknowledgement: Acknowledgement) -> BatchChoice {
    let prefetched = Self.prefetched(acknowledgement)
    var choice = Self.choice(prefetched ?? batches.first)
    if choice.request != nil, acknowledgement.following != nil {
      choice.prefetched = Self.batch(batches.dropFirst(prefetched == nil ? 1 : 0).first ?? [])
    }
    return choice
  }

  /// The ids of the operations that were prefetched; `nil` if none were.
  private static func prefetched(_ acknowledgement: Acknowledgement) -> [String]? {
    guard let batch = acknowledgement.prefetched, !batch.operations.isEmpty else { return nil }
    return batch.operations.map(\.operationId)
  }

  static func choice(_ ids: [String]?) -> BatchChoice {
    BatchChoice(request: ids.map { request($0) })
  }

  static func request(_ ids: [String]) -> PushRequest {
    PushRequest(deviceId: "device", deviceCounter: 1, cursor: "here", operations: ids.map(operation))
  }

  static func batch(_ ids: [String]) -> PreparedBatch {
    PreparedBatch(operations: ids.map(operation), failed: 0, isFull: false, isUnfinished: false, order: .priority)
  }

  static func operation(_ id: String) -> PushOperation {
    PushOperation(
      operationId: id, kind: .update, entityType: "Room", entityUuid: id, baseVersion: 1, schemaVersion: 1,
      patch: RecordPatch(fields: [:], updatedAt: 0))
  }

  static func record(_ uuid: String, of type: String = "Room") -> RemoteRecord {
    RemoteRecord(
      entityType: type, entityUuid: uuid, serverId: nil, createdAt: 0, state: RecordState(fields: [:], updatedAt: 0))
  }

  // MARK: Usual responses

  static func response(to request: RemoteRequest) -> RemoteResponse {
    switch request {
    case .account:
      .account(
        AccountInfo(serverUuid: "server", epoch: "one", account: "water", user: "ada", serverTime: 0, schemas: []))
    case .changes: .changes(page())
    case .push(let request):
      .pushed(
        PushResponse(
          serverTime: 0, epoch: "one", cursor: "there",
          results: request.operations.map {
            PushResult(operationId: $0.operationId, outcome: .accepted(version: 2, serverId: nil))
          }))
    case .entityDigests: .entityDigests(EntityDigests(serverTime: 0, epoch: "one", cursor: "there", entities: [:]))
    case .bucketDigests: .bucketDigests(BucketDigests(epoch: "one", buckets: [:]))
    case .recordDigests: .recordDigests(RecordDigests(epoch: "one", records: []))
    case .records(_, let uuids, _): .records(RecordsResponse(serverTime: 0, epoch: "one", changes: [], missing: uuids))
    }
  }

  static func page(
    _ changes: [RemoteRecord] = [], cursor: String = "there", hasMore: Bool = false, epoch: String = "one"
  ) -> ChangesPage {
    ChangesPage(serverTime: 0, epoch: epoch, changes: changes, cursor: cursor, hasMore: hasMore, remaining: nil)
  }

  static func result(of command: StoreCommand) -> StoreResult {
    switch command {
    case .read(let query): result(of: query)
    case .beginRun: .begun(run: 1)
    case .endRun: .ended(nextDue: nil, isUntidy: false)
    case .tidy, .reopenSealed, .emptyInbox: .more(false)
    case .identify: .identity(ServerIdentity())
    case .admitAgain(let place, _): .admittedAgain(ApplyCounts(), arrived: [], next: place, hasMore: false)
    case .admit, .apply, .applyPage, .endPull: .applied(ApplyCounts(), arrived: [])
    case .chooseBatch: .choice(BatchChoice())
    case .prefetchBatch: .prefetched(nil)
    case .acknowledge: .acknowledged(PushCounts(), sawOthers: false, next: BatchChoice())
    case .reject: .rejected(PushCounts())
    case .beginComparison: .comparison(scopes: [], epoch: "one", cursor: "here")
    case .acceptedDeletions, .countDeletable: .count(0)
    case .recordsOfOldEpoch: .uuids([])
    case .repair: .repaired(ApplyCounts(), RepairCounts(), arrived: [])
    case .leave(let records, _, _): .left(records.count)
    case .noteMemberProjects: .lostProjects([])
    case .requireHistory, .follow, .release, .drawDevice, .holdDeletions, .forgetExtraFields, .align,
      .endComparison, .forgetVersions, .endLeaving:
      .done
    }
  }

  private static func result(of query: StoreQuery) -> StoreResult {
    switch query {
    case .activeProjects: .activeProjects(mark: nil)
    case .pullPosition: .position(cursor: "here", scopes: [])
    case .isCurrent(let epoch): .epoch(isCurrent: epoch == "one")
    case .leaving: .leaving(LeavingPlan())
    case .missingParents, .parentsOfInbox: .parents([])
    case .recordsOfInbox: .uuids([])
    case .digests: .digests(whole: .none, buckets: [:])
    case .recordDigests: .recordDigests([], plain: [])
    }
  }

  // MARK: The log

  /// The steps that began.
  var steps: [RoundStep] {
    log.compactMap { if case .begin(let step) = $0 { step } else { nil } }
  }

  var requests: [RemoteRequest] {
    log.compactMap { if case .send(let request) = $0 { request } else { nil } }
  }

  var commands: [StoreCommand] {
    log.compactMap { if case .run(let command) = $0 { command } else { nil } }
  }

  /// The ids of the operations of each push.
  var pushes: [[String]] {
    requests.compactMap { if case .push(let push) = $0 { push.operations.map(\.operationId) } else { nil } }
  }
}
