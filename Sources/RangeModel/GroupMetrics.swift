/// The size of a group, in inches on the target, between the centres of its holes.
///
/// Sources: F. E. Grubbs, "Statistical Measures of Accuracy for Riflemen and Missile Engineers" (1964), for extreme
/// spread, horizontal and vertical spread and mean radius; C. E. Williams, "A Comparison of Circular Error Probable
/// Estimators for Small Samples", Air Force Institute of Technology (1997), for the sample median as CEP.
///
/// One hole has no spread: every measure of it is 0 and does not describe the rifle, see ``isGroup``. Holes at the
/// same place are a group whose measures are all 0.
public struct GroupMetrics: Hashable, Sendable {
  /// The number of measured holes.
  public let holes: Int
  /// The centre of the group, its mean point of impact: the mean of the holes' x and of their y.
  public let center: TargetPoint
  /// The distance between the two holes that are farthest apart.
  public let extremeSpread: Double
  /// The distance from the leftmost hole to the rightmost.
  public let horizontalSpread: Double
  /// The distance from the lowest hole to the highest.
  public let verticalSpread: Double
  /// The mean distance of the holes from the centre of the group.
  public let meanRadius: Double
  /// The circular error probable: the median distance of the holes from the centre of the group, so that half of them
  /// are within it. For an even number of holes it is the mean of the two middle distances.
  ///
  /// It is the median of the sample and assumes no distribution. For many shots with equal normal spread σ in both
  /// directions it approaches √(2 ln 2) σ = 1.1774 σ, the median of Rayleigh's distribution.
  public let cep50: Double

  /// Whether the group has the two holes that a spread requires.
  public var isGroup: Bool { holes > 1 }

  /// Measures a group.
  /// - Parameter positions: the centres of the holes, in any order.
  /// - Throws: ``RangeError`` with `noHoles`, or `notFinite`.
  public init(_ positions: some Collection<TargetPoint>) throws(RangeError) {
    guard !positions.isEmpty else {
      throw RangeError(.noHoles, "the group has no holes", hint: "mark the holes on the target")
    }
    holes = positions.count
    let count = Double(positions.count)
    center = TargetPoint(
      x: positions.reduce(0) { $0 + $1.x } / count, y: positions.reduce(0) { $0 + $1.y } / count)
    (horizontalSpread, verticalSpread) = (Self.range(positions.map(\.x)), Self.range(positions.map(\.y)))
    extremeSpread = Self.extremeSpread(Array(positions))
    let center = center
    let radii = positions.map { $0.distance(to: center) }.sorted()
    meanRadius = radii.reduce(0, +) / count
    cep50 = (radii[(radii.count - 1) / 2] + radii[radii.count / 2]) / 2
    // An infinite sum, or NaN in a hole, shows in the result.
    guard (extremeSpread + meanRadius + cep50).isFinite, (center.x + center.y).isFinite else {
      throw RangeError(.notFinite, "a hole does not have finite coordinates", hint: "mark the holes again")
    }
  }

  /// The spread from outer edge to outer edge, as callipers measure it: the spread between the centres plus the
  /// diameter of the bullet. It applies to a single hole as well.
  ///
  /// Source: G. Kolbe, "Group Analysis", geoffrey-kolbe.com: centre to centre is edge to edge less the bullet's
  /// diameter.
  /// - Parameter bulletDiameter: in inches.
  public func extremeSpreadOverEdges(bulletDiameter: Double) -> Double { extremeSpread + bulletDiameter }

  /// The same measures as angles from the muzzle.
  /// - Parameter yards: to the target, above zero.
  /// - Throws: ``RangeError`` with `notPositive` or `notFinite`.
  public func angles(atYards yards: Double) throws(RangeError) -> GroupAngles {
    GroupAngles(
      extremeSpread: try .subtended(inches: extremeSpread, atYards: yards),
      horizontalSpread: try .subtended(inches: horizontalSpread, atYards: yards),
      verticalSpread: try .subtended(inches: verticalSpread, atYards: yards),
      meanRadius: try .subtended(inches: meanRadius, atYards: yards),
      cep50: try .subtended(inches: cep50, atYards: yards),
      centerToRight: try .subtended(inches: center.x, atYards: yards),
      centerUp: try .subtended(inches: center.y, atYards: yards))
  }

  private static func range(_ values: [Double]) -> Double { (values.max() ?? 0) - (values.min() ?? 0) }

  /// Each pair of holes: a group has a few dozen at most.
  private static func extremeSpread(_ positions: [TargetPoint]) -> Double {
    var widest = 0.0
    for (index, first) in positions.enumerated() {
      for second in positions[(index + 1)...] { widest = max(widest, first.distance(to: second)) }
    }
    return widest
  }
}

/// The size of a group as angles from the muzzle: in minutes of angle or milliradians.
public struct GroupAngles: Hashable, Sendable {
  /// The distance between the two holes that are farthest apart.
  public let extremeSpread: Angle
  /// The distance from the leftmost hole to the rightmost.
  public let horizontalSpread: Angle
  /// The distance from the lowest hole to the highest.
  public let verticalSpread: Angle
  /// The mean distance of a hole from the centre of the group.
  public let meanRadius: Angle
  /// The median distance of a hole from the centre of the group.
  public let cep50: Angle
  /// The distance of the group's centre to the right of the point of aim. Dialling this to the left zeroes it.
  public let centerToRight: Angle
  /// The distance of the group's centre above the point of aim. Dialling this down zeroes it.
  public let centerUp: Angle
}
