import HTTPClient
import SyncModel
import Testing

@testable import Outbox
@testable import VaultStore
@testable import SyncEngine

/// The push of a round as a value.
@Suite struct RoundPushTests {
  typealias Script = ScriptedRound.Script

  private func driven(
    _ batches: [[String]], capabilities: RemoteCapabilities = RemoteCapabilities(),
    _ change: (inout Script) -> Void = { _ in }
  ) -> ScriptedRound {
    var script = Script()
    script.batches = batches
    change(&script)
    var round = ScriptedRound(RoundRequest(pulls: false), capabilities: capabilities, script: script)
    let hasEnded = round.drive()
    #expect(hasEnded)
    #expect(round.inFlight.isEmpty, "operations stay in flight: \(round.inFlight)")
    return round
  }

  private static func failure(_ responseClass: ResponseClass, problem: ServerProblem? = nil) -> RoundEvent {
    .requestFailed(RemoteFailure(responseClass, message: "planned", hint: "", problem: problem), ScriptedRound.facts)
  }

  @Test("The next batch is prefetched while a batch is in flight, and sent after it", arguments: [true, false])
  func prefetching(isPrefetchFirst: Bool) {
    let round = driven([["a", "b"], ["c"]]) { $0.isPrefetchFirst = isPrefetchFirst }
    #expect(round.pushes == [["a", "b"], ["c"]])
    let send = round.log.firstIndex(of: .send(.push(ScriptedRound.request(["a", "b"]))))
    let prefetch = round.log.firstIndex(of: .run(.prefetchBatch(BatchSelection(limit: 25, order: .priority))))
    // Both effects are outstanding at once.
    #expect(send != nil && prefetch == send.map { $0 + 1 })
    let kept = round.commands.contains {
      if case .acknowledge(let sent) = $0 { sent.prefetched?.operations.map(\.operationId) == ["c"] } else { false }
    }
    #expect(kept)
  }

  @Test("Each batch after the second is prefetched in the transaction that stores a response")
  func prefetchingWithResponses() {
    let round = driven([["a"], ["b"], ["c"], ["d"]])
    #expect(round.pushes == [["a"], ["b"], ["c"], ["d"]])
    #expect(round.commands.count { if case .prefetchBatch = $0 { true } else { false } } == 1)
  }

  @Test("A batch that was prefetched with a response returns to the outbox as unsent when the next request fails")
  func droppedPrefetchOfResponse() {
    let round = driven([["a"], ["b"], ["c"]]) {
      $0.respond = { request in
        if case .push(let push) = request, push == ScriptedRound.request(["b"]) {
          Self.failure(.unreachable)
        } else {
          nil
        }
      }
    }
    #expect(round.commands.contains(.release(["c"], wasSent: false)))
    #expect(round.commands.contains(.release(["b"], wasSent: true)))
  }

  @Test("A remote that does not recognise repeated operations gets no prefetched batch")
  func noPrefetch() {
    let round = driven([["a"], ["b"]], capabilities: RemoteCapabilities(batch: 1, knowsOperations: false))
    #expect(round.pushes == [["a"], ["b"]])
    #expect(!round.commands.contains { if case .prefetchBatch = $0 { true } else { false } })
  }

  @Test("A prefetched batch returns to the outbox as unsent when the request fails")
  func droppedPrefetch() {
    let round = driven([["a"], ["b"]]) {
      $0.respond = { if case .push = $0 { Self.failure(.unreachable) } else { nil } }
    }
    #expect(round.round.report.outcome == .offline)
    #expect(round.commands.contains(.release(["b"], wasSent: false)))
    #expect(round.commands.contains(.release(["a"], wasSent: true)))
  }

  @Test("A failed prefetch does not disturb the push")
  func failedPrefetch() {
    let round = driven([["a"]]) { script in
      script.store = { if case .prefetchBatch = $0 { .storeFailed("the disk is full") } else { nil } }
    }
    #expect(round.pushes == [["a"]])
    #expect(round.round.report.outcome == .done && round.round.deviceFailure == nil)
  }

  @Test(
    "Only a request of a single operation counts as an attempt",
    arguments: [ResponseClass.attempt, .tooLarge, .refused])
  func charging(responseClass: ResponseClass) {
    let round = driven([["a", "b"], ["a"], ["b"]], capabilities: RemoteCapabilities(batch: 2)) { script in
      var pushes = 0
      script.respond = { request in
        guard case .push = request else { return nil }
        pushes += 1
        return pushes <= 2 ? Self.failure(responseClass) : nil
      }
    }
    #expect(round.commands.contains(.release(["a", "b"], wasSent: true)))
    let status = responseClass == .attempt ? 500 : responseClass == .tooLarge ? 413 : 400
    let rejected = round.commands.compactMap { command -> Int? in
      if case .reject(_, let problem, _) = command { problem.status } else { nil }
    }
    #expect(rejected == [status])
    #expect(round.round.report.outcome == .done)
  }

  @Test(
    "Each failure of a push has its outcome, and no operation stays in flight",
    arguments: [
      (ResponseClass.unreachable, RoundOutcome.offline), (.pauseCredentials, .paused), (.schemaTooOld, .paused),
      (.otherProtocol, .paused), (.cancelled, .cancelled), (.later(seconds: 600), .offline), (.cursorUnknown, .failed),
    ])
  func failures(responseClass: ResponseClass, outcome: RoundOutcome) {
    let round = driven([["a", "b"], ["c"]]) { script in
      script.respond = { if case .push = $0 { Self.failure(responseClass) } else { nil } }
    }
    #expect(round.round.report.outcome == outcome)
    #expect(round.round.report.failure?.responseClass == responseClass)
    #expect(round.commands.contains(.release(["a", "b"], wasSent: true)))
  }

  @Test("A server that knows the device id from another copy gets a new id and a comparison")
  func deviceCopied() {
    let round = driven([["a"]]) { script in
      var pushes = 0
      script.respond = { request in
        guard case .push = request else { return nil }
        pushes += 1
        return pushes == 1 ? Self.failure(.deviceCopied) : nil
      }
    }
    #expect(round.commands.contains(.drawDevice))
    #expect(round.steps.contains(.reconcile))
  }

  @Test("Results of other operations, and a response of another epoch, count as no response")
  func wrongResults() {
    let other = driven([["a"]]) { script in
      script.respond = { request in
        guard case .push = request else { return nil }
        return .responded(
          .pushed(PushResponse(serverTime: 0, epoch: "one", cursor: nil, results: [])), ScriptedRound.facts)
      }
    }
    #expect(other.round.report.outcome == .offline)
    #expect(other.commands.contains(.release(["a"], wasSent: true)))
    let epoch = driven([["a"], ["b"]]) { script in
      var isFirst = true
      script.store = { command in
        guard case .acknowledge = command, isFirst else { return nil }
        isFirst = false
        return .stored(.otherEpoch)
      }
    }
    #expect(epoch.commands.contains(.release(["b"], wasSent: false)))
    #expect(epoch.steps.contains(.reconcile))
  }

  @Test("A busy server is asked again after its Retry-After time")
  func waiting() {
    let round = driven([["a"]]) { script in
      var pushes = 0
      script.respond = { request in
        guard case .push = request else { return nil }
        pushes += 1
        return pushes == 1 ? Self.failure(.later(seconds: 3)) : nil
      }
    }
    #expect(round.log.contains(.wait(seconds: 3)))
    #expect(round.round.report.outcome == .done)
  }

  @Test("A record that the server changes each time is not sent without end")
  func repetition() {
    let round = driven([]) { script in
      script.store = { command in
        switch command {
        case .chooseBatch: return .stored(.choice(ScriptedRound.choice(["a"])))
        case .acknowledge:
          var counts = PushCounts()
          counts.requeued = [RecordIdentity(entityType: "Room", entityUuid: "a")]
          return .stored(.acknowledged(counts, sawOthers: false, next: ScriptedRound.choice(["a"])))
        default: return nil
        }
      }
    }
    #expect(round.pushes.count == Round.longestRepetition + 1)
    #expect(round.round.report.outcome == .offline)
    #expect(round.round.report.failure?.message.contains("Room") == true)
    #expect(round.commands.contains(.release(["a"], wasSent: false)))
  }

  @Test("Operations that cannot be sent are counted, and an unfinished search continues")
  func unfinishedChoice() {
    let round = driven([]) { script in
      var choices = 0
      script.store = { command in
        guard case .chooseBatch = command else { return nil }
        choices += 1
        return .stored(.choice(BatchChoice(failed: 1, isUnfinished: choices < 3)))
      }
    }
    #expect(round.round.report.failed == 3)
    #expect(round.round.report.outcome == .done)
  }

  @Test("A cancelled round stores a response that has arrived, and returns the next batch to the outbox")
  func cancelledDuringPush() {
    var script = Script()
    script.batches = [["a"], ["b"]]
    var round = ScriptedRound(RoundRequest(pulls: false), script: script)
    while round.pushes.isEmpty { round.drive(1) }
    round.handle(.cancelled)
    let hasEnded = round.drive()
    #expect(hasEnded)
    #expect(round.commands.contains { if case .acknowledge = $0 { true } else { false } })
    #expect(round.commands.contains(.release(["b"], wasSent: false)))
    #expect(round.round.report.outcome == .cancelled)
    #expect(round.inFlight.isEmpty)
  }

  @Test("An error of the vault returns the operations to the outbox and is the outcome of the round")
  func deviceFailure() {
    let round = driven([["a"], ["b"]]) { script in
      script.store = { if case .acknowledge = $0 { .storeFailed("the disk is full") } else { nil } }
    }
    #expect(round.round.deviceFailure == "the disk is full")
    #expect(round.commands.contains(.release(["a"], wasSent: true)))
    #expect(round.commands.contains(.release(["b"], wasSent: false)))
    guard case .endRun(_, let result, absentFiles: 0)? = round.commands.last else {
      return #expect(Bool(false), "the history is not written")
    }
    #expect(result.outcome == "failed" && result.errorMessage == "the disk is full")
  }
}
