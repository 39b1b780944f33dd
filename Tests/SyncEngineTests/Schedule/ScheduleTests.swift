import HTTPClient
import Testing

@testable import SyncEngine

/// The start time of the next round.
@Suite struct ScheduleTests {
  private static let both = RoundRequest()

  /// Returns a schedule whose first round has begun.
  private func started(
    _ request: RoundRequest = Self.both, now: Int64 = 0, network: NetworkState = .online
  ) -> Schedule {
    var schedule = Schedule(request, roundRequest: "old", now: now, network: network)
    #expect(schedule.handle(.started, now: now) == [.begin(.resume, request)])
    return schedule
  }

  private func ended(
    _ outcome: RoundOutcome, failure: ResponseClass? = nil, nextDue: Int64? = nil, jitter: Double = 1
  ) -> Schedule.Event {
    .ended(outcome, failure: failure, nextDue: nextDue, jitter: jitter)
  }

  @Test("The first round starts at once and the next after 15 minutes")
  func theFirstRoundBeginsAtOnceAndTheNextAfterAQuarterOfAnHour() {
    var schedule = started()
    #expect(schedule.handle(ended(.done), now: 1000) == [.wait(until: 901_000)])
    #expect(schedule.handle(.waited, now: 901_000) == [.begin(.timer, Self.both)])
  }

  @Test("A clock that is set back delays a round by at most the longest backoff or the interval")
  func aClockThatIsSetBackStopsNoRoundForLong() {
    let day: Int64 = 86_400_000
    var schedule = started(now: 10 * day)
    for _ in 0..<12 { _ = schedule.handle(ended(.offline), now: 10 * day) }
    let backoff = day + Schedule.longestBackoff
    #expect(schedule.handle(.requested(.localWrite), now: day) == [.wait(until: backoff)])
    #expect(schedule.handle(.waited, now: backoff) == [.begin(.localWrite, Self.both)])
    _ = schedule.handle(ended(.done), now: 10 * day)
    #expect(schedule.handle(.waited, now: day) == [.wait(until: day + Schedule.interval)])
    #expect(schedule.handle(.waited, now: day + Schedule.interval) == [.begin(.timer, Self.both)])
  }

  @Test("An outage is retried after growing pauses of at most five minutes")
  func anOutageIsTriedLessAndLessOftenButNeverLessThanEveryFiveMinutes() {
    var schedule = started(network: .limited)
    var now: Int64 = 0
    var pauses: [Int64] = []
    for _ in 0..<12 {
      guard case .wait(let wake?)? = schedule.handle(ended(.offline), now: now).last else {
        return #expect(Bool(false), "no wait after \(pauses)")
      }
      pauses.append(wake - now)
      #expect(schedule.handle(.waited, now: wake - 1) == [.wait(until: wake)])
      now = wake
      #expect(schedule.handle(.waited, now: now) == [.begin(.timer, Self.both)])
    }
    #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300].map { $0 * 1000 })
  }

  @Test("The return of the network ends a pause") func theNetworkThatIsBackEndsAPause() {
    var schedule = started()
    _ = schedule.handle(ended(.offline), now: 0)
    #expect(
      schedule.handle(.network(.offline, isUnmetered: true), now: 100_000)
        == [.tell(.network(.offline)), .wait(until: nil)])
    #expect(
      schedule.handle(.network(.online, isUnmetered: true), now: 100)
        == [.tell(.network(.online)), .begin(.network, Self.both)])
  }

  @Test(
    "Refused credentials and a revoked device pause rounds until the user acts",
    arguments: [Schedule.Cause.manual, .resume], [ResponseClass.pauseCredentials, .deviceRevoked])
  func refusedCredentialsPauseUntilAPersonComes(cause: Schedule.Cause, failure: ResponseClass) {
    var schedule = started()
    #expect(schedule.handle(ended(.paused, failure: failure, nextDue: 10), now: 0) == [.wait(until: nil)])
    #expect(schedule.handle(.requested(.localWrite), now: 10_000_000) == [.wait(until: nil)])
    #expect(schedule.handle(.requested(cause), now: 10_000_000) == [.begin(cause, Self.both)])
  }

  @Test(
    "After a pause whose reason lies at the server, the timer looks whether it is over",
    arguments: [ResponseClass.schemaTooOld, .otherProtocol, .quotaExceeded, .refused])
  func pauseAtTheServer(failure: ResponseClass) {
    var schedule = started()
    let wait = Schedule.Effect.wait(until: Schedule.interval)
    #expect(schedule.handle(ended(.paused, failure: failure, nextDue: 10), now: 0) == [wait])
    #expect(schedule.handle(.requested(.localWrite), now: 20) == [wait])
    #expect(schedule.handle(.waited, now: Schedule.interval) == [.begin(.timer, Self.both)])
    // The write during the pause is sent as soon as it is over.
    #expect(schedule.handle(ended(.done), now: Schedule.interval) == [.begin(.localWrite, Self.both)])
  }

  @Test("A round that needs an unmetered network begins when there is one")
  func unmetered() {
    var schedule = started()
    #expect(schedule.handle(.refused(isMetered: true), now: 0) == [.wait(until: nil)])
    #expect(schedule.handle(.network(.online, isUnmetered: false), now: 1).last == .wait(until: nil))
    #expect(schedule.handle(.network(.online, isUnmetered: true), now: 2).last == .begin(.network, Self.both))
    _ = schedule.handle(ended(.paused, failure: .pauseCredentials), now: 3)
    #expect(schedule.handle(.network(.online, isUnmetered: true), now: 4).last == .wait(until: nil))
  }

  @Test("A device-only vault waits for the user, on any network")
  func deviceOnly() {
    var schedule = started()
    #expect(schedule.handle(.refused(isMetered: false), now: 0) == [.wait(until: nil)])
    #expect(schedule.handle(.network(.online, isUnmetered: true), now: 1).last == .wait(until: nil))
    #expect(schedule.handle(.requested(.resume), now: 2) == [.begin(.resume, Self.both)])
  }

  @Test("A write begins a round if operations are ready, and only with a worker that pushes", arguments: [true, false])
  func writes(pushes: Bool) {
    let request = RoundRequest(pushes: pushes)
    var schedule = started(request)
    _ = schedule.handle(ended(.done), now: 0)
    let wait = Schedule.Effect.wait(until: Schedule.interval)
    #expect(schedule.handle(.wrote(roundRequest: "old", hasReady: false), now: 1) == [wait])
    #expect(
      schedule.handle(.wrote(roundRequest: "old", hasReady: true), now: 1)
        == (pushes ? [.tell(.queued), .begin(.localWrite, request)] : [wait]))
  }

  @Test("Another process that requests a round gets one at once, despite a backoff")
  func requestOfAnotherProcess() {
    var schedule = started()
    _ = schedule.handle(ended(.offline), now: 0)
    #expect(schedule.handle(.wrote(roundRequest: "new", hasReady: true), now: 1) == [.begin(.manual, Self.both)])
    _ = schedule.handle(ended(.done), now: 2)
    #expect(schedule.handle(.wrote(roundRequest: "new", hasReady: false), now: 3) == [.wait(until: 900_002)])
  }

  @Test("Rounds compare all records until one succeeds")
  func comparesOnce() {
    let full = RoundRequest(isFull: true)
    var schedule = started(full)
    _ = schedule.handle(ended(.failed), now: 0)
    #expect(schedule.handle(.requested(.manual), now: 0) == [.begin(.manual, full)])
    _ = schedule.handle(ended(.done), now: 0)
    #expect(schedule.handle(.requested(.manual), now: 0) == [.begin(.manual, Self.both)])
  }

  /// Rounds that a user requests fetch data that other rounds do not fetch.
  @Test("A round that a user requested keeps its cause when another request follows before it begins")
  func aWishOfAUserStands() {
    for wish in [Schedule.Cause.manual, .resume, .request] {
      for other in Schedule.Cause.allCases where !other.isByUser {
        var schedule = started()
        _ = schedule.handle(ended(.done), now: 0)
        _ = schedule.handle(.network(.offline, isUnmetered: true), now: 0)
        #expect(schedule.handle(.requested(wish), now: 0) == [.wait(until: nil)])
        _ = schedule.handle(.requested(other), now: 0)
        let effects = schedule.handle(.network(.online, isUnmetered: true), now: 0)
        #expect(effects.last == .begin(wish, Self.both), "\(wish), then \(other)")
      }
    }
  }

  @Test(
    "An operation that waits for its retry time wakes the worker, but not one that only pulls",
    arguments: [true, false])
  func anOperationThatWaitsForItsTimeWakesTheWorker(pushes: Bool) {
    let request = RoundRequest(pushes: pushes)
    var schedule = started(request)
    let wake = pushes ? 4000 : Schedule.interval
    #expect(schedule.handle(ended(.done, nextDue: 4000), now: 0) == [.wait(until: wake)])
    #expect(schedule.handle(.waited, now: wake) == [.begin(.timer, request)])
    #expect(schedule.handle(ended(.done), now: 4001) == [.wait(until: 4001 + Schedule.interval)])
  }
}
