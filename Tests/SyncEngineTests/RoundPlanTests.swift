import Testing

@testable import SyncEngine

/// The next step of a round, for every result of the step before.
@Suite struct RoundPlanTests {
  /// The steps of a round that is told these events.
  private func steps(_ events: [RoundEvent], _ request: RoundRequest = RoundRequest()) -> [RoundStep] {
    var plan = RoundPlan(request)
    return [plan.step]
      + events.map { event in
        plan.advance(event)
        return plan.step
      }
  }

  private let known = RoundEvent.identified(mustReconcile: false)
  private let noMore = RoundEvent.pulled(hasMore: false)
  private let nothing = RoundEvent.pushed(sent: 0, sawOthers: false)

  @Test func aRoundPullsPushesAndPullsWhatThePushChanged() {
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

  @Test func whatNobodyElseChangedIsNotFetchedAgain() {
    #expect(
      steps([known, noMore, .fetchedParents, .pushed(sent: 25, sawOthers: false), nothing]).last == .finish(.done))
  }

  @Test func oneDirectionAlone() {
    #expect(steps([known, nothing], RoundRequest(pulls: false)).last == .finish(.done))
    #expect(steps([known, noMore, .fetchedParents], RoundRequest(pushes: false)).last == .finish(.done))
    #expect(
      steps([.identified(mustReconcile: true)], RoundRequest(pulls: false)).last == .push(limit: 25, byAge: false))
  }

  @Test func everyFourthBatchIsTakenByAge() {
    let sent = RoundEvent.pushed(sent: 25, sawOthers: false)
    let ages = steps([known, noMore, .fetchedParents] + Array(repeating: sent, count: 8)).compactMap { step -> Bool? in
      if case .push(_, let byAge) = step { byAge } else { nil }
    }
    #expect(ages == [false, false, false, true, false, false, false, true, false])
  }

  @Test(arguments: [
    (ResponseClass.unreachable, RoundOutcome.offline), (.pauseCredentials, .paused), (.schemaTooOld, .paused),
    (.cancelled, .cancelled), (.attempt, .offline), (.refused, .failed), (.later(seconds: 600), .offline),
  ])
  func whatEndsARound(answer: ResponseClass, outcome: RoundOutcome) {
    #expect(steps([known, .failed(answer, operations: 0)]).last == .finish(outcome))
  }

  @Test func aCursorThatIsNotKnownMakesAComparison() {
    #expect(
      steps([known, .failed(.cursorUnknown, operations: 0), .reconciled]).suffix(2) == [.reconcile, .pull(limit: 500)])
  }

  /// A server that forgets its own cursor would cause an endless comparison.
  @Test func aPlaceThatIsNotKnownBehindAComparisonEndsTheRound() {
    let unknown = RoundEvent.failed(.cursorUnknown, operations: 0)
    #expect(steps([known, unknown, .reconciled, unknown]).last == .finish(.failed))
    #expect(steps([.identified(mustReconcile: true), .reconciled, unknown]).last == .finish(.failed))
  }

  @Test func aClockThatIsSetBackStopsNoRoundForLong() {
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

  @Test func aRequestThatIsTooLargeIsHalved() {
    let sizes = steps([
      known, noMore, .fetchedParents, .failed(.tooLarge, operations: 25), .failed(.tooLarge, operations: 12),
      .failed(.tooLarge, operations: 6),
    ])
    #expect(
      sizes.suffix(3) == [.push(limit: 12, byAge: false), .push(limit: 6, byAge: false), .push(limit: 3, byAge: false)])
    #expect(steps([known, .failed(.tooLarge, operations: 0)]).last == .pull(limit: 125))
  }

  @Test func aBatchThatFailsAsAWholeIsSentOneByOne() {
    let one = RoundEvent.pushed(sent: 1, sawOthers: false)
    let steps = steps([
      known, noMore, .fetchedParents, .failed(.attempt, operations: 3), one, .failed(.attempt, operations: 1), one,
    ])
    #expect(
      steps.suffix(4).map { step -> Int in if case .push(let limit, _) = step { limit } else { 0 } } == [1, 1, 1, 25])
  }

  @Test func aBusyServerIsWaitedForAFewTimes() {
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

/// When the next round begins.
@Suite struct ScheduleTests {
  @Test func theFirstRoundBeginsAtOnceAndTheNextAfterAQuarterOfAnHour() {
    var schedule = Schedule(now: 0, network: .online)
    #expect(schedule.begin(now: 0) == .resume)
    schedule.ended(.done, now: 1000, nextDue: nil, jitter: 1)
    #expect(schedule.begin(now: 1000) == nil)
    #expect(schedule.wake(now: 1000) == 901_000)
    #expect(schedule.begin(now: 901_000) == .timer)
  }

  @Test func anOutageIsTriedLessAndLessOftenButNeverLessThanEveryFiveMinutes() {
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

  @Test func theNetworkThatIsBackEndsAPause() {
    var schedule = Schedule(now: 0, network: .online)
    _ = schedule.begin(now: 0)
    schedule.ended(.offline, now: 0, nextDue: nil, jitter: 1)
    schedule.networkChanged(to: .offline)
    #expect(schedule.wake(now: 100_000) == nil && schedule.begin(now: 100_000) == nil)
    schedule.networkChanged(to: .online)
    #expect(schedule.begin(now: 100) == .network)
  }

  @Test(arguments: [Schedule.Cause.manual, .resume]) func refusedCredentialsPauseUntilAPersonComes(
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

  /// Rounds of a user request more than other rounds.
  @Test("A round that a user asked for stays one when something else asks for a round before it begins")
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

  @Test func anOperationThatWaitsForItsTimeWakesTheWorker() {
    var schedule = Schedule(now: 0, network: .online)
    _ = schedule.begin(now: 0)
    schedule.ended(.done, now: 0, nextDue: 4000, jitter: 1)
    #expect(schedule.wake(now: 0) == 4000)
    #expect(schedule.begin(now: 4000) == .timer)
    #expect(schedule.begin(now: 4001) == nil)
  }
}
