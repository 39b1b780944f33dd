import CipherSQL
import RangeModel
import TestSupport
import Testing

/// Velocities against the certified values of NIST's Statistical Reference Datasets (univariate), and their own laws.
@Suite struct VelocityStatisticsTests {
  /// `Michelso`: A. A. Michelson's hundred determinations of the speed of light, in megametres per second.
  @Test("Mean and deviation of Michelson's data equal NIST's certified values") func michelsonsMeasurements() throws {
    let hundredths = [
      85, 74, 90, 107, 93, 85, 95, 98, 98, 88, 100, 98, 93, 65, 76, 81, 100, 100, 96, 96, 96, 94, 96, 94, 88, 80, 85,
      88,
      90, 84, 83, 79, 81, 88, 88, 83, 80, 79, 76, 80, 88, 88, 88, 86, 72, 72, 62, 86, 97, 95, 88, 91, 85, 87, 84, 84,
      85,
      84, 84, 84, 89, 81, 81, 82, 80, 77, 76, 74, 75, 76, 91, 92, 89, 86, 88, 72, 84, 85, 85, 78, 89, 84, 78, 81, 76,
      81,
      79, 81, 82, 85, 87, 87, 81, 74, 81, 94, 95, 80, 81, 87,
    ]
    let statistics = try VelocityStatistics(hundredths.map { Double(29_900 + $0) / 100 })
    #expect(statistics.count == 100)
    #expect(near(statistics.mean, 299.8524, 1e-14))
    #expect(near(try #require(statistics.standardDeviation), 0.079_010_547_819_051_8, 1e-13))
    #expect(near(statistics.extremeSpread, 0.45, 1e-12))
  }

  /// `NumAcc1` to `NumAcc4`: small differences of large numbers, which the textbook's formula of one pass gets wrong.
  @Test("Mean and deviation of NIST's sets for numerical accuracy are exact within the tolerance")
  func theSetsForNumericalAccuracy() throws {
    func alternating(_ base: Double, _ low: Double, _ high: Double) -> [Double] {
      [base] + (0..<1000).map { $0.isMultiple(of: 2) ? low : high }
    }
    let sets: [(values: [Double], mean: Double, deviation: Double, tolerance: Double)] = [
      ([10_000_001, 10_000_003, 10_000_002], 10_000_002, 1, 1e-15),
      (alternating(1.2, 1.1, 1.3), 1.2, 0.1, 1e-14),
      (alternating(1_000_000.2, 1_000_000.1, 1_000_000.3), 1_000_000.2, 0.1, 1e-9),
      (alternating(10_000_000.2, 10_000_000.1, 10_000_000.3), 10_000_000.2, 0.1, 1e-8),
    ]
    for set in sets {
      let statistics = try VelocityStatistics(set.values)
      #expect(near(statistics.mean, set.mean, 1e-14))
      #expect(abs(try #require(statistics.standardDeviation) - set.deviation) < set.tolerance)
    }
  }

  /// Five shots by hand: mean 3,085.8, squares 368.64 + 1,102.24 + 139.24 + 4,070.44 + 538.24 = 6,218.8, over 4.
  @Test("The statistics of five shots equal those computed by hand") func fiveShotsByHand() throws {
    let statistics = try VelocityStatistics([3105.0, 3119, 3074, 3022, 3109])
    #expect(near(statistics.mean, 3085.8))
    #expect(near(try #require(statistics.standardDeviation), (6218.8 / 4).squareRoot()))
    #expect(statistics.minimum == 3022 && statistics.maximum == 3119 && statistics.extremeSpread == 97)
  }

  private func reading(_ velocity: Double, excluded: Bool = false, deleted: Bool = false) -> VelocityReading {
    VelocityReading(chronoSessionId: 1, shotNumber: 1, velocity: velocity, isExcluded: excluded, isDeleted: deleted)
  }

  @Test("Excluded and deleted shots do not count") func excludedAndDeletedShotsAreLeftOut() throws {
    let readings = [
      reading(2700), reading(1500, excluded: true), reading(2710), reading(9000, deleted: true), reading(2720),
    ]
    let statistics = try VelocityStatistics(readings)
    #expect(statistics.count == 3 && statistics.mean == 2710 && statistics.standardDeviation == 10)
    #expect(statistics.extremeSpread == 20)
    #expect(rangeCode { _ = try VelocityStatistics([reading(2700, excluded: true)]) } == .noShots)
    #expect(rangeCode { _ = try VelocityStatistics([VelocityReading]()) } == .noShots)
  }

  @Test("One shot has no standard deviation") func oneShotHasNoDeviation() throws {
    let statistics = try VelocityStatistics([2750.0])
    #expect(statistics.count == 1 && statistics.mean == 2750 && statistics.extremeSpread == 0)
    #expect(statistics.standardDeviation == nil)
    #expect(try VelocityStatistics([2750.1, 2750.1, 2750.1]).standardDeviation == 0)
  }

  @Test("A velocity that is not positive or not finite is refused") func whatIsNoVelocityIsRefused() {
    #expect(rangeCode { _ = try VelocityStatistics([Double]()) } == .noShots)
    for number in [0, -2700.0] { #expect(rangeCode { _ = try VelocityStatistics([2700, number]) } == .notPositive) }
    for number in [Double.nan, .infinity] {
      #expect(rangeCode { _ = try VelocityStatistics([number, 1]) } == .notFinite)
    }
    #expect(
      rangeCode { _ = try VelocityStatistics([Double.greatestFiniteMagnitude, .greatestFiniteMagnitude]) } == .notFinite
    )
  }

  @Test("The statistics follow shifted, scaled and reordered velocities", arguments: 1...8 as ClosedRange<UInt64>)
  func movingScalingAndReordering(_ seed: UInt64) throws {
    var random = Seeded(seed)
    for _ in 0..<200 {
      let velocities = (0..<Int.random(in: 2...40, using: &random)).map { _ in 2700 + 15 * random.normal() }
      let statistics = try VelocityStatistics(velocities)
      let deviation = try #require(statistics.standardDeviation)
      let faster = try VelocityStatistics(velocities.map { $0 + 500 })
      #expect(
        near(faster.mean, statistics.mean + 500) && near(faster.standardDeviation ?? -1, deviation), "seed \(seed)")
      let metres = try VelocityStatistics(velocities.map { $0 * 0.3048 })
      #expect(near(metres.standardDeviation ?? -1, deviation * 0.3048), "seed \(seed)")
      let shuffled = try VelocityStatistics(velocities.shuffled(using: &random))
      #expect(near(shuffled.standardDeviation ?? -1, deviation), "seed \(seed)")
      #expect(shuffled.extremeSpread == statistics.extremeSpread, "seed \(seed)")
      // G. W. Thomson, "Bounds for the Ratio of Range to Standard Deviation", Biometrika 42 (1955).
      let count = Double(statistics.count)
      #expect(
        deviation <= statistics.extremeSpread / 2 * (count / (count - 1)).squareRoot() * (1 + 1e-12), "seed \(seed)")
      #expect(deviation >= statistics.extremeSpread / (2 * (count - 1)).squareRoot() * (1 - 1e-12), "seed \(seed)")
    }
  }

  /// The SQL view computes the same.
  @Test("The SQL view computes the same statistics as Swift") func theViewAgrees() throws {
    let bench = try RangeBench()
    let recorded = try bench.record()
    let readings = try bench.database.read {
      try RangeQueries.velocityReadings($0, chronoSessionId: recorded.chrono.chronoSessionId)
    }
    let statistics = try VelocityStatistics(readings)
    #expect(readings.count == 5 && statistics.count == 4)
    #expect(try bench.value("SELECT shots FROM chronoStrings", as: Int.self) == 4)
    #expect(near(try #require(try bench.value("SELECT mean FROM chronoStrings", as: Double.self)), statistics.mean))
    let deviation = try #require(try bench.value("SELECT standardDeviation FROM chronoStrings", as: Double.self))
    #expect(near(deviation, try #require(statistics.standardDeviation)))
    #expect(try bench.value("SELECT extremeSpread FROM chronoStrings", as: Double.self) == statistics.extremeSpread)
    // None that counts: a string of no shots. One: no deviation.
    try bench.run("UPDATE OfflineVelocityReading SET isExcluded = 1")
    #expect(try bench.value("SELECT shots FROM chronoStrings", as: Int.self) == 0)
    #expect(try bench.value("SELECT count(*) FROM chronoStrings WHERE mean IS NULL", as: Int.self) == 1)
    try bench.run("UPDATE OfflineVelocityReading SET isExcluded = 0 WHERE shotNumber = 1")
    #expect(
      try bench.value(
        "SELECT count(*) FROM chronoStrings WHERE mean = 2710 AND standardDeviation IS NULL", as: Int.self) == 1)
  }
}
