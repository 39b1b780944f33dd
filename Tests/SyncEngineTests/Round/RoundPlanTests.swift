import Testing

@testable import SyncEngine
import HTTPClient

/// The next step of a round for each event.
@Suite struct RoundPlanTests {
  /// Returns the steps of a round that receives these events.
  private func steps(_ events: [StepResult], _ request: RoundRequest = RoundRequest()) -> [RoundStep] {
    var plan = RoundPlan(request)
    return [plan.step]
      + events.map { event in
        plan.advance(event)
        return plan.step
      }
  }

  private let known = StepResult.identified(mustReconcile: false)
  private let noMore = StepResult.pulled(hasMore: false)
  private let nothing = StepResult.pushed(sent: 0, sawOthers: false)

  @Test("A round pulls, pushes, and pulls again if the push saw changes of other devices")
  func aRoundPullsPushesAndPullsWhatThePushChanged() {
    #expect(
      steps([
        known, .pulled(hasMore: true), noMore, .fetchedParents, .pushed(sent: 3, sawOthers: true), nothing, noMore,
        .fetchedParents,
      ])
        == [
          .identify, .pull(limit: 500), .pull(limit: 500), .fetchParents, .push(limit: 25, byAge: false),
          .push(limit: 25, byAge: false), .pull(limit: 500), .fetchParents, .finish(.done),
        ])
  }

  @Test("A round does not pull again if only this device changed records")
  func whatNobodyElseChangedIsNotFetchedAgain() {
    #expect(
      steps([known, noMore, .fetchedParents, .pushed(sent: 25, sawOthers: false), nothing]).last == .finish(.done))
  }

  @Test("A round can be limited to one direction") func oneDirectionAlone() {
    #expect(steps([known, nothing], RoundRequest(pulls: false)).last == .finish(.done))
    #expect(steps([known, noMore, .fetchedParents], RoundRequest(pushes: false)).last == .finish(.done))
    #expect(
      steps([.identified(mustReconcile: true)], RoundRequest(pulls: false)).last == .push(limit: 25, byAge: false))
  }

  @Test("Every fourth batch is chosen by age") func everyFourthBatchIsTakenByAge() {
    let sent = StepResult.pushed(sent: 25, sawOthers: false)
    let ages = steps([known, noMore, .fetchedParents] + Array(repeating: sent, count: 8)).compactMap { step -> Bool? in
      if case .push(_, let byAge) = step { byAge } else { nil }
    }
    #expect(ages == [false, false, false, true, false, false, false, true, false])
  }

  @Test(
    "Each failure ends the round with its outcome",
    arguments: [
      (ResponseClass.unreachable, RoundOutcome.offline), (.pauseCredentials, .paused), (.schemaTooOld, .paused),
      (.quotaExceeded, .paused), (.cancelled, .cancelled), (.attempt, .offline), (.refused, .failed),
      (.later(seconds: 600), .offline),
    ])
  func whatEndsARound(responseClass: ResponseClass, outcome: RoundOutcome) {
    #expect(steps([known, .failed(responseClass, operations: 0)]).last == .finish(outcome))
  }

  @Test("A revoked device removes its records, then the round ends")
  func revoked() {
    for before in [[], [known], [known, noMore, .fetchedParents]] {
      #expect(
        steps(before + [.failed(.deviceRevoked, operations: 3), .removedRecords]).suffix(2) == [
          .removeRecords, .finish(.paused),
        ])
    }
  }

  @Test("An unknown cursor causes a full comparison") func aCursorThatIsNotKnownMakesAComparison() {
    #expect(
      steps([known, .failed(.cursorUnknown, operations: 0), .reconciled]).suffix(2) == [.reconcile, .pull(limit: 500)])
  }

  /// Otherwise a server that does not know its own cursor would cause endless comparisons.
  @Test("An unknown cursor after a comparison that replaced it ends the round")
  func aPlaceThatIsNotKnownBehindAComparisonEndsTheRound() {
    let unknown = StepResult.failed(.cursorUnknown, operations: 0)
    #expect(steps([known, unknown, .reconciled, unknown]).last == .finish(.failed))
    #expect(
      steps([.identified(mustReconcile: true), .reconciled, unknown, .reconciled, unknown]).last == .finish(.failed))
  }

  @Test("An unknown cursor after a regular comparison, which keeps the cursor, causes another comparison")
  func unknownCursorAfterRegularComparison() {
    let unknown = StepResult.failed(.cursorUnknown, operations: 0)
    #expect(
      steps([.identified(mustReconcile: true), .reconciled, unknown, .reconciled]).suffix(2) == [
        .reconcile, .pull(limit: 500),
      ])
  }

  @Test("A push that is too large is halved, and a pull is quartered") func aRequestThatIsTooLargeIsHalved() {
    let sizes = steps([
      known, noMore, .fetchedParents, .failed(.tooLarge, operations: 25), .failed(.tooLarge, operations: 12),
      .failed(.tooLarge, operations: 6),
    ])
    #expect(
      sizes.suffix(3) == [.push(limit: 12, byAge: false), .push(limit: 6, byAge: false), .push(limit: 3, byAge: false)])
    #expect(steps([known, .failed(.tooLarge, operations: 0)]).last == .pull(limit: 125))
  }

  @Test("A batch that fails as a whole is sent one operation at a time") func aBatchThatFailsAsAWholeIsSentOneByOne() {
    let one = StepResult.pushed(sent: 1, sawOthers: false)
    let steps = steps([
      known, noMore, .fetchedParents, .failed(.attempt, operations: 3), one, .failed(.attempt, operations: 1), one,
    ])
    #expect(
      steps.suffix(4).map { step -> Int in if case .push(let limit, _) = step { limit } else { 0 } } == [1, 1, 1, 25])
  }

  @Test("A round waits for a busy server a limited number of times") func aBusyServerIsWaitedForAFewTimes() {
    var plan = RoundPlan(RoundRequest())
    plan.advance(known)
    for _ in 0..<RoundPlan.longestWaits {
      plan.advance(.failed(.later(seconds: 2), operations: 0))
      #expect(plan.step == .wait(seconds: 2))
      plan.advance(.waited)
      #expect(plan.step == .pull(limit: 500))
    }
    plan.advance(.failed(.later(seconds: 2), operations: 0))
    #expect(plan.step == .finish(.offline))
  }
}
