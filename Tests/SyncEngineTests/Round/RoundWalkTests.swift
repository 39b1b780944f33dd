import HTTPClient
import RecordStore
import SyncModel
import Testing

@testable import Outbox
@testable import VaultStore
@testable import SyncEngine

/// A round in each of its states with each event.
@Suite struct RoundWalkTests {
  typealias Script = ScriptedRound.Script

  /// Every kind of event: responses, failures and results, expected or not.
  private static let events: [RoundEvent] = {
    let requests: [RemoteRequest] = [
      .account, .changes(cursor: nil, limit: 1, projects: []), .push(ScriptedRound.request(["x"])),
      .entityDigests(projects: []), .bucketDigests(entityType: "Room", projects: []),
      .recordDigests(entityType: "Room", buckets: ["00"], projects: []),
      .records(entityType: "Room", uuids: ["x"], epoch: nil),
    ]
    let responseClasses: [ResponseClass] = [
      .ok, .pauseCredentials, .deviceRevoked, .quotaExceeded, .otherProtocol, .deviceCopied, .newEpoch, .cursorUnknown,
      .schemaTooOld, .tooLarge,
      .later(seconds: nil), .later(seconds: 600), .unreachable, .attempt, .refused, .cancelled,
    ]
    let results: [StoreResult] = [
      .done, .begun(run: 2), .ended(nextDue: 1, isUntidy: true), .identity(ServerIdentity()),
      .activeProjects(mark: "m"),
      .position(cursor: nil, scopes: ["p"]), .epoch(isCurrent: false), .parents([]),
      .applied(ApplyCounts(), arrived: []),
      .admittedAgain(ApplyCounts(), arrived: ["a"], next: InboxCursor(), hasMore: false), .choice(BatchChoice()),
      .prefetched(nil), .acknowledged(PushCounts(), sawOthers: true, next: BatchChoice()), .otherEpoch,
      .rejected(PushCounts()), .comparison(scopes: [], epoch: nil, cursor: nil), .digests(whole: .none, buckets: [:]),
      .recordDigests([], plain: []), .count(1), .uuids(["u"]), .repaired(ApplyCounts(), RepairCounts(), arrived: []),
      .more(false), .leaving(LeavingPlan()), .left(1), .lostProjects(["p"]),
    ]
    return requests.map { .responded(ScriptedRound.response(to: $0), ScriptedRound.facts) }
      + responseClasses.map { .requestFailed(RemoteFailure($0, message: "", hint: ""), ScriptedRound.facts) }
      + results.map { .stored($0) } + [.storeFailed("the disk is full"), .storeCancelled, .waited, .cancelled]
  }()

  /// A device that lacks some records of the server, and the other way round.
  private static func differing(epoch: String, cursor: String?) -> Script {
    let (bucket, other) = (DigestSummary(count: 4, digest: "theirs"), DigestSummary(count: 4, digest: "ours"))
    func digest(_ uuid: String, _ digest: String, version: Int64 = 1) -> RecordDigest {
      RecordDigest(entityUuid: uuid, version: version, digest: digest)
    }
    var leaving = LeavingPlan()
    leaving.records = [LocalIdentity("Room", 1)]
    leaving.versions = [RecordIdentity(entityType: "Room", entityUuid: "v")]
    var script = Script()
    script.batches = [["a", "b"], ["c"]]
    script.respond = { request in
      let response: RemoteResponse
      switch request {
      case .entityDigests:
        response = .entityDigests(
          EntityDigests(serverTime: 0, epoch: "one", cursor: "there", entities: ["Room": bucket]))
      case .bucketDigests: response = .bucketDigests(BucketDigests(epoch: "one", buckets: ["00": bucket]))
      case .recordDigests:
        response = .recordDigests(
          RecordDigests(
            epoch: "one", records: [digest("new", "n"), digest("equal", "e", version: 2), digest("extra", "plain")]))
      case .records(let type, let uuids, _):
        response = .records(
          RecordsResponse(
            serverTime: 0, epoch: "one", changes: uuids.map { ScriptedRound.record($0, of: type) }, missing: []))
      case .changes(cursor: "here", _, _):
        response = .changes(ScriptedRound.page([ScriptedRound.record("note")], cursor: "there", hasMore: true))
      case .changes: response = .changes(ScriptedRound.page([ScriptedRound.record("last")], cursor: "end"))
      case .account, .push: return nil
      }
      return .responded(response, ScriptedRound.facts)
    }
    script.store = { command in
      switch command {
      case .identify:
        var identity = ServerIdentity()
        (identity.mustReconcile, identity.hasKept, identity.leavesProjects) = (true, true, true)
        return .stored(.identity(identity))
      case .read(.activeProjects): return .stored(.activeProjects(mark: ""))
      case .admitAgain(let place, _):
        return .stored(.admittedAgain(ApplyCounts(), arrived: ["p"], next: place, hasMore: false))
      case .applyPage(let page, _) where !page.hasMore: return .stored(.applied(ApplyCounts(), arrived: ["q"]))
      case .read(.missingParents(let records, _)) where records.first?.entityUuid == "note":
        return .stored(.parents([RecordIdentity(entityType: "Room", entityUuid: "room")]))
      case .read(.parentsOfInbox(let last, _)) where last.isEmpty:
        return .stored(.parents([RecordIdentity(entityType: "Project", entityUuid: "house")]))
      case .read(.recordsOfInbox(_, let last, _)) where last.isEmpty: return .stored(.uuids(["new", "unlisted"]))
      case .beginComparison:
        return .stored(.comparison(scopes: [], epoch: epoch, cursor: cursor, hasLost: true))
      case .noteMemberProjects: return .stored(.lostProjects(["house"]))
      case .read(.leaving): return .stored(.leaving(leaving))
      case .read(.digests): return .stored(.digests(whole: other, buckets: ["00": other]))
      case .read(.recordDigests):
        return .stored(
          .recordDigests(
            [digest("equal", "e"), digest("extra", "x"), digest("old", "o")], plain: [digest("extra", "plain")]))
      default: return nil
      }
    }
    return script
  }

  private static var scenarios: [ScriptedRound] {
    var lost = differing(epoch: "one", cursor: "here")
    let (store, respond) = (lost.store, lost.respond)
    // The server has none of the records that it is asked for.
    lost.respond = { request in if case .records = request { nil } else { respond(request) } }
    lost.store = { command in
      switch command {
      case .read(.digests): .stored(.digests(whole: DigestSummary(count: 100, digest: "o"), buckets: ["11": .none]))
      case .read(.recordDigests):
        .stored(
          .recordDigests((0..<100).map { RecordDigest(entityUuid: "\($0)", version: 1, digest: "d") }, plain: []))
      case .countDeletable(_, let uuids): .stored(.count(uuids.count))
      default: store(command)
      }
    }
    let one = RemoteCapabilities(batch: 1, compares: false, isCurrent: true, restores: false, knowsOperations: false)
    var single = Script()
    single.batches = [["a"], ["b"]]
    var busy = single
    busy.respond = { request in
      guard case .changes = request else { return nil }
      return .requestFailed(RemoteFailure(.later(seconds: 1), message: "", hint: ""), ScriptedRound.facts)
    }
    return [
      ScriptedRound(script: differing(epoch: "one", cursor: "here")),
      ScriptedRound(script: differing(epoch: "zero", cursor: "here")),
      ScriptedRound(script: differing(epoch: "one", cursor: nil)), ScriptedRound(script: lost),
      ScriptedRound(capabilities: one, script: single), ScriptedRound(script: busy),
      ScriptedRound(fetching: ["r"], script: differing(epoch: "one", cursor: "here")),
    ]
  }

  @Test("In each state, each event leads to a round that ends without operations in flight")
  func walk() {
    var names: Set<String> = []
    for scenario in Self.scenarios {
      var round = scenario
      while true {
        for event in Self.events {
          var copy = round
          copy.inject(event)
          expectOneOfEach(copy, after: event)
          let hasEnded = copy.drive(20_000)
          #expect(hasEnded, "a round does not end after \(event)")
          #expect(copy.inFlight.isEmpty, "operations stay in flight after \(event): \(copy.inFlight)")
          #expect(copy.outstanding.isEmpty && copy.log.last == .end)
          names.formUnion(copy.commands.map(Self.name))
        }
        names.formUnion(round.requests.map { Self.label($0) })
        if round.drive(1) { break }
      }
    }
    // All 7 requests, 32 commands and 9 queries were reached.
    #expect(names.count == 48, "\(names.sorted())")
  }

  /// At most one request, one transaction and one wait is outstanding.
  private func expectOneOfEach(_ round: ScriptedRound, after event: RoundEvent) {
    var counts = (sends: 0, runs: 0, waits: 0)
    for effect in round.outstanding {
      switch effect {
      case .send: counts.sends += 1
      case .run: counts.runs += 1
      case .wait: counts.waits += 1
      case .begin, .tell, .end: break
      }
    }
    #expect(max(counts.sends, counts.runs, counts.waits) <= 1, "after \(event)")
  }

  private static func name(_ command: StoreCommand) -> String {
    if case .read(let query) = command { return "read \(label(query))" }
    return label(command)
  }

  /// The name of a case without its payload.
  private static func label(_ value: some Any) -> String {
    Mirror(reflecting: value).children.first?.label ?? "\(value)"
  }

  @Test("An event without an outstanding effect changes nothing")
  func unexpectedEvents() {
    var round = ScriptedRound()
    round.drive()
    let end = round.log.count
    for event in Self.events { round.handle(event) }
    #expect(round.log.count == end)
  }
}
