/// An angle on a scope: in minutes of angle or in milliradians.
///
/// A minute of angle is 1/60 of a degree, which is 1.0472 inches at 100 yards, and not one inch. Source of both
/// units: BIPM, The International System of Units, 9th edition (2019), tables 4 and 8 (radian; 1' = π/10,800 rad).
public struct Angle: Hashable, Comparable, Sendable {
  /// The angle in radians.
  public let radians: Double

  /// Creates an angle in radians.
  public init(radians: Double) { self.radians = radians }
  /// Creates an angle in minutes of angle.
  public init(moa: Double) { self.init(radians: moa * Self.radiansPerMoa) }
  /// Creates an angle in milliradians.
  public init(mil: Double) { self.init(radians: mil / 1000) }

  /// The angle in minutes of angle, π/10,800 of a radian each.
  public var moa: Double { radians / Self.radiansPerMoa }
  /// The angle in milliradians.
  public var mil: Double { radians * 1000 }

  private static let radiansPerMoa = Double.pi / 10_800

  /// Whether one angle is smaller than another.
  public static func < (left: Angle, right: Angle) -> Bool { left.radians < right.radians }

  /// Returns the angle of a length on the target, seen from the muzzle.
  ///
  /// It is length over distance, the arc in place of the chord, as scopes are marked: twice the length is twice the angle.
  /// Against `2 * atan(length / (2 * distance))` it is too large by a twelfth of the square of the angle in radians,
  /// less than 0.01 % up to 100 MOA.
  /// - Parameters:
  ///   - inches: a length on the target, or an offset to either side.
  ///   - yards: the distance to the target in yards of 36 inches; above zero.
  public static func subtended(inches: Double, atYards yards: Double) throws(RangeError) -> Angle {
    try RangeError.requirePositive(yards, "the distance", hint: "give the distance to the target in yards")
    let radians = inches / (yards * 36)
    guard radians.isFinite else {
      throw RangeError(.notFinite, "the length is not a finite number", hint: "give the length on the target in inches")
    }
    return Angle(radians: radians)
  }

  /// Returns the length of this angle on a target, in inches.
  /// - Parameter yards: the distance to the target; above zero.
  public func inches(atYards yards: Double) throws(RangeError) -> Double {
    try RangeError.requirePositive(yards, "the distance", hint: "give the distance to the target in yards")
    return radians * yards * 36
  }
}

extension DopeEntry {
  /// The dialled elevation, positive upwards; `nil` if neither unit has a value.
  public var elevation: Angle? { Self.hold(moa: elevationMoa, mil: elevationMil) }
  /// The dialled windage, positive to the right; `nil` if neither unit has a value.
  public var windage: Angle? { Self.hold(moa: windageMoa, mil: windageMil) }

  /// Returns the unit of the given value: 0 is the default of both.
  private static func hold(moa: Double?, mil: Double?) -> Angle? {
    if let mil, mil != 0 || moa == nil, moa ?? 0 == 0 { return Angle(mil: mil) }
    return moa.map { Angle(moa: $0) }
  }
}
