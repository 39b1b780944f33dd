import SyncModel
import Testing

@Suite struct RetentionClockTests {
  private static let day: Int64 = 86_400_000
  private static let start: Int64 = 1_767_225_600_000

  @Test("A wall clock that is 100 days ahead moves the time of retention by hours, not by days")
  func aJump() {
    var clock = RetentionClock(stored: Self.start)
    clock.advance(by: 0, wall: Self.start + 100 * Self.day)
    #expect(clock.now == Self.start)
    clock.advance(by: 3_600_000, wall: Self.start + 100 * Self.day)
    #expect(clock.now == Self.start + 7_200_000)
    clock.advance(by: 3_600_000, wall: 0)
    #expect(clock.now == Self.start + 7_200_000)
    #expect(clock.storing(at: 0) == clock.now && clock.storing(at: clock.now + 5) == clock.now + 5)
    clock.advance(by: .max, wall: .max)
    #expect(clock.now == .max)
  }

  @Test("Data without a stored time begin at their last change, or at the wall clock where that is earlier")
  func beginning() {
    #expect(RetentionClock(largestStored: 5, wall: 100).now == 5)
    #expect(RetentionClock(largestStored: 500, wall: 100).now == 100)
    #expect(RetentionClock(largestStored: nil, wall: 100).now == 100)
  }

  /// The life of a server: real time passes, its wall clock jumps, it restarts, deletions are stored.
  @Test("Over any history of clocks no deletion is forgotten early, and with a right clock each is forgotten")
  func histories() {
    var random = Randomness()
    let seed = random.seed
    let days = 90
    for round in 0..<300 {
      var time = Self.start
      var offset: Int64 = 0
      var stored = Self.start
      var clock = RetentionClock(stored: stored)
      /// How long processes have run, which the monotonic clock measures.
      var running: Int64 = 0
      var isAlwaysRight = true
      var deletions: [(stored: Int64, time: Int64, running: Int64, isRight: Bool)] = []
      for _ in 0..<400 {
        switch random.next() % 12 {
        case 0:
          offset = Int64(random.next() % 400) * Self.day - 200 * Self.day
          isAlwaysRight = false
        case 1: offset = 0
        case 2:
          // A restart: the monotonic clock says nothing of the time in between.
          time += Int64(random.next() % 10) * Self.day
          clock = RetentionClock(stored: stored)
          clock.advance(by: 0, wall: time + offset)
        case 3...5: deletions.append((clock.storing(at: time + offset), time, running, isAlwaysRight))
        default:
          let step = Int64(random.next() % 72) * 3_600_000
          time += step
          running += step
          let before = clock.now
          clock.advance(by: step, wall: time + offset)
          #expect(clock.now >= before && clock.now <= before + 2 * step, "seed \(seed), round \(round)")
          #expect(clock.now <= max(before, time + offset), "seed \(seed), round \(round)")
        }
        stored = clock.now
        let limit = clock.limit(days: days)
        deletions.removeAll { deletion in
          guard deletion.stored < limit else { return false }
          // Never before the server has run for half of the time, whatever its wall clock was.
          #expect(running - deletion.running >= Int64(days) * Self.day / 2, "seed \(seed), round \(round)")
          if isAlwaysRight, deletion.isRight { #expect(time - deletion.time >= Int64(days) * Self.day) }
          return true
        }
      }
      // With a right clock the time of retention comes to it, and everything is forgotten in the end.
      let behind = max(time - clock.now, 0)
      for _ in 0..<2 { clock.advance(by: behind + 500 * Self.day, wall: time + behind + 1_000 * Self.day) }
      #expect(deletions.allSatisfy { $0.stored < clock.limit(days: days) }, "seed \(seed), round \(round)")
    }
  }
}
