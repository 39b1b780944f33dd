import Foundation
import RangeModel
import TestSupport
import Testing

/// The measures of a group against what can be checked by hand, against published values, and against their own laws.
@Suite struct GroupMetricsTests {
  private func points(_ list: [(Double, Double)]) -> [TargetPoint] { list.map { TargetPoint(x: $0.0, y: $0.1) } }

  /// A triangle of 3, 4 and 5 inches. Its centre is (2, 4/3); the holes are √52/3, 5/3 and √73/3 from it.
  @Test("The metrics of a 3-4-5 triangle equal those computed by hand") func aTriangleOfThreeFourAndFive() throws {
    let metrics = try GroupMetrics(points([(0, 0), (3, 0), (3, 4)]))
    #expect(metrics.holes == 3 && metrics.isGroup)
    #expect(near(metrics.center.x, 2) && near(metrics.center.y, 4.0 / 3))
    #expect(metrics.extremeSpread == 5)
    #expect(metrics.horizontalSpread == 3 && metrics.verticalSpread == 4)
    #expect(near(metrics.meanRadius, (52.squareRoot() + 5 + 73.squareRoot()) / 9))
    #expect(near(metrics.cep50, 52.squareRoot() / 3))
    // Callipers around holes of .264 show their diameter more.
    #expect(near(metrics.extremeSpreadOverEdges(bulletDiameter: 0.264), 5.264))
  }

  /// Four corners of a square of two inches and its middle: the corners are √2 from it.
  @Test("The metrics of a square with a hole in its middle equal those computed by hand")
  func aSquareWithAHoleInItsMiddle() throws {
    let metrics = try GroupMetrics(points([(-1, -1), (1, -1), (1, 1), (-1, 1), (0, 0)]))
    #expect(near(metrics.extremeSpread, 8.squareRoot()))
    #expect(near(metrics.meanRadius, 4 * 2.squareRoot() / 5))
    #expect(near(metrics.cep50, 2.squareRoot()))
    // An even number: the mean of the two in the middle, 0 and 1 inch here.
    #expect(near(try GroupMetrics(points([(0, 0), (0, 0), (0, 1), (0, -1)])).cep50, 0.5))
  }

  @Test("Angles of a group follow from its distance") func anglesAreThoseOfTheDistance() throws {
    let metrics = try GroupMetrics(points([(1, 0), (4, 4)]))
    let angles = try metrics.angles(atYards: 200)
    // 5 inches at 200 yards: 5 / (2 * 1.0472) MOA, and 5 / 7.2 mil.
    #expect(near(angles.extremeSpread.moa, 2.387_324, 1e-6))
    #expect(near(angles.extremeSpread.mil, 5 / 7.2))
    #expect(near(angles.horizontalSpread.mil, 3 / 7.2) && near(angles.verticalSpread.mil, 4 / 7.2))
    #expect(near(angles.meanRadius.mil, 2.5 / 7.2) && near(angles.cep50.mil, 2.5 / 7.2))
    #expect(near(angles.centerToRight.mil, 2.5 / 7.2) && near(angles.centerUp.mil, 2 / 7.2))
    for yards in [0, -100.0] { #expect(rangeCode { _ = try metrics.angles(atYards: yards) } == .notPositive) }
    for yards in [Double.nan, .infinity] { #expect(rangeCode { _ = try metrics.angles(atYards: yards) } == .notFinite) }
  }

  @Test("One hole or equal holes have a size of 0, and no hole is refused") func fewHolesAndEqualOnes() throws {
    #expect(rangeCode { _ = try GroupMetrics([]) } == .noHoles)
    let single = try GroupMetrics(points([(1.5, -2)]))
    #expect(single.center == TargetPoint(x: 1.5, y: -2) && !single.isGroup)
    let same = try GroupMetrics(points([(0.3, 0.7), (0.3, 0.7), (0.3, 0.7)]))
    #expect(same.isGroup && near(same.center.x, 0.3) && near(same.center.y, 0.7))
    for metrics in [single, same] {
      #expect(metrics.extremeSpread == 0 && metrics.horizontalSpread == 0 && metrics.verticalSpread == 0)
      #expect(near(metrics.meanRadius, 0, 1e-15) && near(metrics.cep50, 0, 1e-15))
    }
    #expect(single.extremeSpreadOverEdges(bulletDiameter: 0.308) == 0.308)
  }

  @Test(
    "A hole that is not finite or overflows is refused",
    arguments: [Double.nan, .infinity, -.infinity, 1e308, .greatestFiniteMagnitude])
  func aHoleThatIsNowhereIsRefused(_ number: Double) {
    #expect(rangeCode { _ = try GroupMetrics(points([(number, 0), (-number, 1)])) } == .notFinite)
    #expect(rangeCode { _ = try GroupMetrics(points([(0, 0), (1, number), (1, -number)])) } == .notFinite)
  }

  // MARK: Published values

  /// The means over many groups that scatter with σ = 1 in both directions. Extreme spread: M. S. Taylor, F. E. Grubbs,
  /// "Approximate Probability Distributions for the Extreme Spread", Naval Research Logistics Quarterly 22 (1975). Mean
  /// radius: Grubbs (1964), √(π/2) √((n - 1) / n).
  @Test(
    "The mean spread and radius of many random groups equal Grubbs' values",
    arguments: [(2, 1.772), (3, 2.406), (5, 3.066), (10, 3.813)])
  func manyGroupsAreAsLargeAsGrubbsFound(_ shots: Int, _ extremeSpread: Double) throws {
    var random = Seeded(UInt64(shots))
    let groups = 6_000
    var (spreads, radii) = (0.0, 0.0)
    for _ in 0..<groups {
      let metrics = try GroupMetrics((0..<shots).map { _ in TargetPoint(x: random.normal(), y: random.normal()) })
      spreads += metrics.extremeSpread
      radii += metrics.meanRadius
    }
    #expect(abs(spreads / Double(groups) - extremeSpread) < 0.02, "seed \(shots)")
    let meanRadius = (Double.pi / 2 * Double(shots - 1) / Double(shots)).squareRoot()
    #expect(abs(radii / Double(groups) - meanRadius) < 0.015, "seed \(shots)")
  }

  /// Half of the shots lie within 1.1774 σ, the median of Rayleigh's distribution.
  @Test("The CEP of many random shots is the median of the Rayleigh distribution")
  func theMedianOfManyShotsIsThatOfRayleigh() throws {
    var random = Seeded(50)
    let shots = (0..<2_000).map { _ in TargetPoint(x: 2 * random.normal(), y: 2 * random.normal()) }
    let metrics = try GroupMetrics(shots)
    #expect(abs(metrics.cep50 / 2 - 1.1774) < 0.05, "seed 50")
    let within = shots.count { $0.distance(to: metrics.center) <= metrics.cep50 }
    #expect(within == shots.count / 2)
  }

  // MARK: Laws

  private static func group(_ random: inout Seeded) -> [TargetPoint] {
    (0..<Int.random(in: 2...30, using: &random)).map { _ in
      TargetPoint(x: 3 * random.normal(), y: 3 * random.normal())
    }
  }

  private func isSame(_ left: GroupMetrics, _ right: GroupMetrics, scale: Double = 1) -> Bool {
    near(left.extremeSpread * scale, right.extremeSpread) && near(left.meanRadius * scale, right.meanRadius)
      && near(left.cep50 * scale, right.cep50)
  }

  @Test(
    "Moving, turning, mirroring and reordering holes changes no group size", arguments: 1...8 as ClosedRange<UInt64>)
  func movingTurningMirroringAndReorderingChangeNoSize(_ seed: UInt64) throws {
    var random = Seeded(seed)
    for _ in 0..<100 {
      let holes = Self.group(&random)
      let metrics = try GroupMetrics(holes)
      let (right, up) = (20 * random.normal(), 20 * random.normal())
      let moved = try GroupMetrics(holes.map { TargetPoint(x: $0.x + right, y: $0.y + up) })
      #expect(isSame(metrics, moved), "seed \(seed)")
      #expect(near(moved.center.x, metrics.center.x + right) && near(moved.center.y, metrics.center.y + up))
      #expect(near(metrics.horizontalSpread, moved.horizontalSpread), "seed \(seed)")
      let angle = Double.random(in: 0..<(2 * .pi), using: &random)
      let turned = holes.map {
        TargetPoint(x: $0.x * cos(angle) - $0.y * sin(angle), y: $0.x * sin(angle) + $0.y * cos(angle))
      }
      #expect(isSame(metrics, try GroupMetrics(turned)), "seed \(seed)")
      let mirrored = try GroupMetrics(holes.map { TargetPoint(x: $0.y, y: $0.x) })
      #expect(isSame(metrics, mirrored), "seed \(seed)")
      #expect(mirrored.horizontalSpread == metrics.verticalSpread, "seed \(seed)")
      let shuffled = try GroupMetrics(holes.shuffled(using: &random))
      #expect(isSame(metrics, shuffled), "seed \(seed)")
      #expect(shuffled.horizontalSpread == metrics.horizontalSpread, "seed \(seed)")
      #expect(shuffled.extremeSpread == metrics.extremeSpread, "seed \(seed)")
      let scale = Double.random(in: 0.01...50, using: &random)
      let larger = try GroupMetrics(holes.map { TargetPoint(x: $0.x * scale, y: $0.y * scale) })
      #expect(isSame(metrics, larger, scale: scale), "seed \(seed)")
      #expect(near(larger.verticalSpread, metrics.verticalSpread * scale), "seed \(seed)")
    }
  }

  @Test("Extreme spread, mean radius and CEP keep their bounds", arguments: 1...8 as ClosedRange<UInt64>)
  func theMeasuresBoundEachOther(_ seed: UInt64) throws {
    var random = Seeded(seed)
    for _ in 0..<200 {
      let metrics = try GroupMetrics(Self.group(&random))
      let (width, height) = (metrics.horizontalSpread, metrics.verticalSpread)
      #expect(metrics.extremeSpread >= max(width, height) * (1 - 1e-12), "seed \(seed)")
      #expect(metrics.extremeSpread <= (width * width + height * height).squareRoot() * (1 + 1e-12), "seed \(seed)")
      // The farthest hole is nearer to the centre than to the hole farthest from it.
      #expect(metrics.meanRadius <= metrics.extremeSpread && metrics.cep50 <= metrics.extremeSpread, "seed \(seed)")
    }
  }

  /// The two holes farthest apart are corners of the convex hull.
  @Test(
    "The extreme spread is the greatest distance between corners of the convex hull",
    arguments: 1...8 as ClosedRange<UInt64>)
  func theExtremeSpreadIsThatOfTheHull(_ seed: UInt64) throws {
    var random = Seeded(seed)
    for round in 0..<100 {
      // Every other group lies on a grid, with equal holes and holes in a line.
      let holes = Self.group(&random).map {
        round.isMultiple(of: 2) ? $0 : TargetPoint(x: $0.x.rounded(), y: $0.y.rounded())
      }
      let hull = ConvexHull(of: holes).corners
      var widest = 0.0
      for first in hull { for second in hull { widest = max(widest, first.distance(to: second)) } }
      #expect(near(try GroupMetrics(holes).extremeSpread, widest, 1e-12), "seed \(seed)")
    }
  }
}

/// The convex hull by Andrew's monotone chain.
private struct ConvexHull {
  let corners: [TargetPoint]

  init(of points: [TargetPoint]) {
    let sorted = points.sorted { ($0.x, $0.y) < ($1.x, $1.y) }
    func chain(_ points: some Sequence<TargetPoint>) -> [TargetPoint] {
      var chain: [TargetPoint] = []
      for point in points {
        while chain.count > 1, Self.turn(chain[chain.count - 2], chain[chain.count - 1], point) <= 0 {
          chain.removeLast()
        }
        chain.append(point)
      }
      return chain
    }
    corners = chain(sorted) + chain(sorted.reversed())
  }

  private static func turn(_ a: TargetPoint, _ b: TargetPoint, _ c: TargetPoint) -> Double {
    (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)
  }
}
