import TestSupport
import Testing

@testable import ServerStorage

/// The decisions about fetches of an identity provider's keys.
@Suite struct KeyScheduleTests {
  private let start = ContinuousClock.now
  private func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }

  @Test("Keys are fetched at the start and every hour")
  func hourly() {
    var schedule = KeySchedule()
    #expect(schedule.handle(.start, at: start) == [.fetch])
    #expect(schedule.secondsToWait(for: "a", at: start) == 1)
    #expect(schedule.handle(.due, at: at(1)) == [], "one fetch at a time")
    #expect(schedule.handle(.fetched, at: at(1)) == [.wait(until: at(3_601))])
    #expect(schedule.handle(.due, at: at(3_601)) == [.fetch])
    #expect(schedule.handle(.fetched, at: at(3_602)) == [.wait(until: at(7_202))])
  }

  @Test("Without keys, a failed fetch is repeated after 1, 2, 4, 8, 16, 32, 60 and 60 s; with keys after 60 s")
  func failures() {
    var schedule = KeySchedule()
    var now = start
    var effects = schedule.handle(.start, at: now)
    for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
      #expect(effects == [.fetch])
      effects = schedule.handle(.failed, at: now)
      #expect(effects == [.wait(until: now + .seconds(pause))])
      #expect(schedule.secondsToWait(for: "a", at: now) ?? 0 > 0, "a token may wait for the keys")
      now += .seconds(pause)
      effects = schedule.handle(.due, at: now)
    }
    #expect(schedule.handle(.fetched, at: now) == [.wait(until: now + .seconds(3_600))])
    now += .seconds(3_600)
    #expect(schedule.handle(.due, at: now) == [.fetch])
    #expect(schedule.handle(.failed, at: now) == [.wait(until: now + .seconds(60))])
  }

  @Test("An unknown key starts a fetch at most once a minute, and is refused when a fetch did not find it")
  func unknownKeys() {
    var schedule = KeySchedule()
    _ = schedule.handle(.start, at: start)
    _ = schedule.handle(.fetched, at: at(1))
    // Within the minute, the token waits for the next fetch.
    #expect(schedule.handle(.unknownKey("a"), at: at(20)) == [.wait(until: at(60))])
    #expect(schedule.secondsToWait(for: "a", at: at(20)) == 41)
    #expect(schedule.handle(.unknownKey("a"), at: at(30)) == [], "one wait")
    #expect(schedule.handle(.due, at: at(60)) == [.fetch])
    #expect(schedule.secondsToWait(for: "a", at: at(60)) == 1)
    #expect(schedule.handle(.fetched, at: at(61)) == [.wait(until: at(3_661))])
    #expect(schedule.secondsToWait(for: "a", at: at(61)) == nil)
    // The same id is asked for again a minute later, and refused meanwhile.
    #expect(schedule.handle(.unknownKey("a"), at: at(62)) == [.wait(until: at(120))])
    #expect(schedule.secondsToWait(for: "a", at: at(62)) == nil)
    #expect(schedule.secondsToWait(for: "b", at: at(62)) ?? 0 > 0)
    // An id that arrives during a fetch, which may be older, waits for the next one.
    #expect(schedule.handle(.due, at: at(120)) == [.fetch])
    #expect(schedule.handle(.unknownKey("b"), at: at(121)) == [])
    #expect(schedule.handle(.fetched, at: at(122)) == [.wait(until: at(180))])
    #expect(schedule.secondsToWait(for: "b", at: at(122)) == 59)
    // Long after a fetch, an unknown key is fetched at once. After a failure it still waits.
    #expect(schedule.handle(.due, at: at(180)) == [.fetch])
    #expect(schedule.handle(.failed, at: at(181)) == [.wait(until: at(241))])
    #expect(schedule.secondsToWait(for: "b", at: at(181)) == 61)
    #expect(schedule.handle(.due, at: at(241)) == [.fetch])
    _ = schedule.handle(.fetched, at: at(242))
    #expect(schedule.secondsToWait(for: "b", at: at(242)) == nil)
    #expect(schedule.handle(.unknownKey("c"), at: at(900)) == [.fetch])
  }

  @Test(
    "Whatever happens, fetches do not overlap and follow each other after a minute once there are keys",
    arguments: 1...50)
  func random(_ seed: UInt64) {
    var random = Seeded(seed)
    var schedule = KeySchedule()
    var now = start
    var (isFetching, hasKeys) = (false, false)
    var wakes: [ContinuousClock.Instant] = []
    var fetches: [ContinuousClock.Instant] = []
    func apply(_ event: KeySchedule.Event) {
      for effect in schedule.handle(event, at: now) {
        switch effect {
        case .fetch:
          #expect(!isFetching, "seed \(seed)")
          if hasKeys, let last = fetches.last { #expect(last + KeySchedule.pause <= now, "seed \(seed)") }
          isFetching = true
          fetches.append(now)
        case .wait(let end): wakes.append(end)
        }
      }
    }
    apply(.start)
    for _ in 0..<2_000 {
      switch Int.random(in: 0..<4, using: &random) {
      case 0 where isFetching:
        isFetching = false
        let succeeds = Bool.random(using: &random)
        hasKeys = hasKeys || succeeds
        apply(succeeds ? .fetched : .failed)
      case 1: apply(.unknownKey("\(Int.random(in: 0..<200, using: &random))"))
      case 2: now += .seconds(Int.random(in: 0..<20, using: &random))
      default:
        guard let next = wakes.min() else { continue }
        wakes.removeAll { $0 == next }
        now = max(now, next)
        apply(.due)
      }
      #expect(isFetching || !wakes.isEmpty, "seed \(seed): the next fetch is planned")
    }
    #expect(fetches.count > 10)
  }
}
