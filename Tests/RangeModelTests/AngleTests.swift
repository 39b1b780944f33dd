import RangeModel
import Testing

/// Inches on a target as angles, and back.
@Suite struct AngleTests {
  /// 1 MOA at yards, as ballistic tables print it: 1.047 inches at 100 yards and 10.47 at 1,000 (B. Litz, "Applied Ballistics
  /// for Long Range Shooting").
  @Test(
    "One MOA subtends the inches of published ballistic tables",
    arguments: [(100.0, 1.047), (200, 2.094), (300, 3.142), (500, 5.236), (600, 6.283), (1000, 10.472)])
  func aMinuteOfAngleIsTheTrueOne(_ yards: Double, _ inches: Double) throws {
    #expect(abs(try Angle(moa: 1).inches(atYards: yards) - inches) < 0.0005)
    #expect(near(try Angle.subtended(inches: try Angle(moa: 1).inches(atYards: yards), atYards: yards).moa, 1))
  }

  /// π/3 inches: a circle of 100 yards is 7,200 π inches and 21,600 minutes.
  @Test("One MOA at 100 yards is π/3 inches") func aMinuteAtAHundredYardsIsAThirdOfPi() throws {
    #expect(near(try Angle(moa: 1).inches(atYards: 100), Double.pi / 3, 1e-15))
  }

  /// A milliradian is a thousandth of the distance: 3.6 inches at 100 yards; and 3.438 minutes (BIPM, table 8).
  @Test("One mil is a thousandth of the distance and 3.438 MOA") func aMilIsAThousandthOfTheDistance() throws {
    #expect(near(try Angle.subtended(inches: 3.6, atYards: 100).mil, 1))
    #expect(near(try Angle.subtended(inches: 36, atYards: 1000).mil, 1))
    #expect(abs(Angle(mil: 1).moa - 3.437_747) < 1e-6)
    #expect(Angle(moa: 3) < Angle(mil: 1))
  }

  /// What the comment says of arc and chord.
  @Test("An angle by arc differs from the angle by chord by less than 0.01 %", arguments: [1.0, 10, 100])
  func theArcIsNearTheChord(_ moa: Double) {
    let radians = Angle(moa: moa).radians
    let chord = 2 * atanSeries(radians / 2)
    #expect((radians - chord) / radians < 1e-4)
    #expect((radians - chord) / radians <= radians * radians / 12 * 1.01)
  }

  private func atanSeries(_ x: Double) -> Double { x - x * x * x / 3 + x * x * x * x * x / 5 }

  @Test(
    "A distance that is not positive or not finite is refused", arguments: [0, -100, Double.nan, .infinity, -.infinity])
  func aDistanceThatIsNoneIsRefused(_ yards: Double) {
    let expected: RangeError.Code = yards.isFinite ? .notPositive : .notFinite
    #expect(rangeCode { _ = try Angle.subtended(inches: 1, atYards: yards) } == expected)
    #expect(rangeCode { _ = try Angle(moa: 1).inches(atYards: yards) } == expected)
  }

  @Test("A length that is not finite is refused", arguments: [Double.nan, .infinity])
  func aLengthThatIsNoneIsRefused(_ inches: Double) {
    #expect(rangeCode { _ = try Angle.subtended(inches: inches, atYards: 100) } == .notFinite)
  }

  @Test("A hold uses the unit that is not 0, and MOA if both are given") func ofTwoUnitsTheOneThatWasGivenCounts() {
    func hold(_ moa: Double?, _ mil: Double?) -> Double? {
      DopeEntry(sessionId: 1, distance: 100, elevationMoa: moa, elevationMil: mil).elevation?.radians
    }
    #expect(hold(4.5, 0) == Angle(moa: 4.5).radians)
    #expect(hold(4.5, nil) == Angle(moa: 4.5).radians)
    #expect(hold(0, 1.3) == Angle(mil: 1.3).radians)
    #expect(hold(nil, 1.3) == Angle(mil: 1.3).radians)
    // Both: the first column.
    #expect(hold(4.5, 1.3) == Angle(moa: 4.5).radians)
    #expect(hold(0, 0) == 0 && hold(nil, 0) == 0 && hold(0, nil) == 0)
    #expect(hold(nil, nil) == nil)
    #expect(DopeEntry(sessionId: 1, distance: 100).windage == Angle(moa: 0))
  }
}
