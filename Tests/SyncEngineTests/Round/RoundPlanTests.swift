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
      (.cancelled, .cancelled), (.attempt, .offline), (.refused, .failed), (.later(seconds: 600), .offline),
    ])
  func whatEndsARound(answer: ResponseClass, outcome: RoundOutcome) {
    #expect(steps([known, .failed(answer, operations: 0)]).last == .finish(outcome))
  }

  @Test("An unknown cursor causes a full comparison") func aCursorThatIsNotKnownMakesAComparison() {
    #expect(
      steps([known, .failed(.cursorUnknown, operations: 0), .reconciled]).suffix(2) == [.reconcile, .pull(limit: 500)])
  }

  /// Otherwise a server that does not know its own cursor would cause endless comparisons.
  @Test("An unknown cursor after a comparison ends the round")
  func aPlaceThatIsNotKnownBehindAComparisonEndsTheRound() {
    let unknown = StepResult.failed(.cursorUnknown, operations: 0)
    #expect(steps([known, unknown, .reconciled, unknown]).last == .finish(.failed))
    #expect(steps([.identified(mustReconcile: true), .reconciled, unknown]).last == .finish(.failed))
  }

  @Test("A clock that is set back delays a round by at most the longest backoff or the interval")
  func aClockThatIsSetBackStopsNoRoundForLong() {
    let day: Int64 = 86_400_000
    var schedule = Schedule(now: 10 * day, network: .online)
    #expect(schedule.begin(now: 10 * day) == .resume)
    for _ in 0..<12 { schedule.ended(.offline, now: 10 * day, nextDue: nil, jitter: 1) }
    schedule.want(.localWrite)
    #expect(schedule.begin(now: day) == nil)
    #expect(schedule.begin(now: day + Schedule.longestBackoff) == .localWrite)
    schedule.ended(.done, now: 10 * day, nextDue: nil, jitter: 1)
    #expect(schedule.begin(now: day) == nil)
    #expect(schedule.begin(now: day + Schedule.interval) == .timer)
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

/// The start time of the next round.
@Suite struct ScheduleTests {
  @Test("The first round starts at once and the next after 15 minutes")
  func theFirstRoundBeginsAtOnceAndTheNextAfterAQuarterOfAnHour() {
    var schedule = Schedule(now: 0, network: .online)
    #expect(schedule.begin(now: 0) == .resume)
    schedule.ended(.done, now: 1000, nextDue: nil, jitter: 1)
    #expect(schedule.begin(now: 1000) == nil)
    #expect(schedule.wake(now: 1000) == 901_000)
    #expect(schedule.begin(now: 901_000) == .timer)
  }

  @Test("An outage is retried after growing pauses of at most five minutes")
  func anOutageIsTriedLessAndLessOftenButNeverLessThanEveryFiveMinutes() {
    var schedule = Schedule(now: 0, network: .limited)
    var now: Int64 = 0
    var pauses: [Int64] = []
    for _ in 0..<12 {
      #expect(schedule.begin(now: now) != nil)
      schedule.ended(.offline, now: now, nextDue: nil, jitter: 1)
      let wake = schedule.wake(now: now) ?? 0
      pauses.append(wake - now)
      #expect(schedule.begin(now: wake - 1) == nil)
      now = wake
    }
    #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300].map { $0 * 1000 })
  }

  @Test("The return of the network ends a pause") func theNetworkThatIsBackEndsAPause() {
    var schedule = Schedule(now: 0, network: .online)
    _ = schedule.begin(now: 0)
    schedule.ended(.offline, now: 0, nextDue: nil, jitter: 1)
    schedule.networkChanged(to: .offline)
    #expect(schedule.wake(now: 100_000) == nil && schedule.begin(now: 100_000) == nil)
    schedule.networkChanged(to: .online)
    #expect(schedule.begin(now: 100) == .network)
  }

  @Test("Refused credentials pause rounds until the user acts", arguments: [Schedule.Cause.manual, .resume])
  func refusedCredentialsPauseUntilAPersonComes(
    cause: Schedule.Cause
  ) {
    var schedule = Schedule(now: 0, network: .online)
    _ = schedule.begin(now: 0)
    schedule.ended(.paused, now: 0, nextDue: 10, jitter: 1)
    schedule.want(.localWrite)
    #expect(schedule.begin(now: 10_000_000) == nil && schedule.wake(now: 0) == nil)
    schedule.want(cause)
    #expect(schedule.begin(now: 10_000_000) == cause)
  }

  /// Rounds that a user requests fetch data that other rounds do not fetch.
  @Test("A round that a user requested keeps its cause when another request follows before it begins")
  func aWishOfAUserStands() {
    for wish in [Schedule.Cause.manual, .resume, .request] {
      for other in Schedule.Cause.allCases where !other.isByUser {
        var schedule = Schedule(now: 0, network: .online)
        _ = schedule.begin(now: 0)
        schedule.ended(.done, now: 0, nextDue: nil, jitter: 1)
        schedule.want(wish)
        schedule.want(other)
        schedule.networkChanged(to: .limited)
        schedule.networkChanged(to: .online)
        #expect(schedule.begin(now: 0) == wish, "\(wish), then \(other)")
      }
    }
  }

  @Test("An operation that waits for its retry time wakes the worker")
  func anOperationThatWaitsForItsTimeWakesTheWorker() {
    var schedule = Schedule(now: 0, network: .online)
    _ = schedule.begin(now: 0)
    schedule.ended(.done, now: 0, nextDue: 4000, jitter: 1)
    #expect(schedule.wake(now: 0) == 4000)
    #expect(schedule.begin(now: 4000) == .timer)
    #expect(schedule.begin(now: 4001) == nil)
  }
}
