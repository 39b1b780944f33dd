import Testing

@testable import ServerPages

/// The figures of a day, from readings of counters.
@Suite struct FigureHistoryTests {
  /// A reading with as many requests as minutes have passed.
  private func reading(_ minute: Int) -> FigureReading {
    var reading = FigureReading()
    reading.requests = [2: minute * 10, 4: minute, 5: minute / 2]
    reading.durations[3] = minute * 10
    reading.seconds = Double(minute) * 0.05
    (reading.accepted, reading.refused, reading.failures) = (minute * 3, minute, minute / 2)
    (reading.waiting, reading.bytes) = (minute, Int64(minute) * 1_000)
    return reading
  }

  private func history(minutes: Int) -> FigureHistory {
    var history = FigureHistory()
    for minute in 0...minutes { history.add(reading(minute), at: Int64(minute) * 60_000) }
    return history
  }

  @Test("A sample has the difference of two readings") func difference() throws {
    #expect(history(minutes: 0).samples.isEmpty, "one reading has no difference")
    let sample = try #require(history(minutes: 2).samples.last)
    #expect(sample.time == 120_000)
    #expect((sample.succeeded, sample.refusedRequests, sample.failedRequests) == (10, 1, 1))
    #expect((sample.accepted, sample.refused, sample.failures, sample.waiting) == (3, 1, 1, 2))
    #expect(abs(sample.meanSeconds - 0.005) < 1e-9 && sample.slowSeconds == 0.01 && sample.bytes == 2_000)
  }

  @Test("The bound of 99 % is that of the bucket in which the 99th of 100 durations is")
  func slowRequests() throws {
    func bound(_ slow: Int) throws -> Double {
      var (history, next) = (FigureHistory(), FigureReading())
      history.add(next, at: 0)
      (next.durations[0], next.durations[9]) = (100 - slow, slow)
      history.add(next, at: 60_000)
      return try #require(history.samples.last).slowSeconds
    }
    #expect(try bound(0) == 0.001)
    #expect(try bound(1) == 0.001)
    #expect(try bound(2) == 1)
    // A duration above all bounds counts as the last one.
    var (history, next) = (FigureHistory(), FigureReading())
    history.add(next, at: 0)
    next.durations[next.durations.count - 1] = 1
    history.add(next, at: 60_000)
    #expect(history.samples.last?.slowSeconds == 10)
  }

  @Test("The ring keeps the newest day in bounded memory, oldest first")
  func ring() {
    let history = history(minutes: FigureHistory.limit + 100)
    #expect(history.samples.count == FigureHistory.limit)
    #expect(history.samples.first?.time == Int64(101 * 60_000))
    #expect(history.samples.map(\.time) == history.samples.map(\.time).sorted())
    #expect(MemoryLayout<FigureSample>.stride * FigureHistory.limit < 256 << 10)
  }

  @Test("Groups join samples from the newest back: sums, the greatest, and the mean by requests")
  func groups() throws {
    let history = history(minutes: 31)
    let groups = history.groups(96, of: 15)
    #expect(groups.map(\.time) == [60_000, 16 * 60_000, 31 * 60_000])
    #expect(groups.map(\.succeeded) == [10, 150, 150])
    #expect(groups.last?.waiting == 31 && groups.last?.bytes == 31_000)
    #expect(abs(try #require(groups.last).meanSeconds - 0.005) < 1e-9)
    #expect(history.groups(2, of: 15).map(\.time) == [16 * 60_000, 31 * 60_000])
    #expect(FigureHistory().groups(60, of: 1).isEmpty)
  }
}
