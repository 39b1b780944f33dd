#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A place on a target, in inches from the point of aim.
public struct TargetPoint: Hashable, Sendable {
  /// Inches to the right of the point of aim.
  public var x: Double
  /// Inches above the point of aim.
  public var y: Double

  /// Creates a place on a target.
  public init(x: Double, y: Double) { (self.x, self.y) = (x, y) }

  /// Returns the distance to another place in inches.
  public func distance(to other: TargetPoint) -> Double { hypot(x - other.x, y - other.y) }
}

/// A place in a picture, in pixels from its upper left corner.
public struct ImagePoint: Hashable, Sendable {
  /// Pixels to the right of the picture's left edge.
  public var x: Double
  /// Pixels below the picture's upper edge.
  public var y: Double

  /// Creates a place in a picture.
  public init(x: Double, y: Double) { (self.x, self.y) = (x, y) }
}

/// The scale of a picture of a target, from a known length in it.
///
/// The picture must show the target from the front, so that one scale applies to all of it.
public struct Calibration: Hashable, Sendable {
  /// The number of pixels of the picture per inch on the target.
  public let pixelsPerInch: Double

  /// Creates a known scale, from a scanner or a printed target.
  /// - Throws: ``RangeError`` with `notPositive` or `notFinite`.
  public init(pixelsPerInch: Double) throws(RangeError) {
    try RangeError.requirePositive(pixelsPerInch, "the scale", hint: "give the pixels per inch")
    self.pixelsPerInch = pixelsPerInch
  }

  /// Creates the scale from two places in the picture that are a known length apart on the target.
  /// - Parameters:
  ///   - first: one end of the reference length.
  ///   - second: its other end.
  ///   - inches: the length between them on the target, above zero.
  /// - Throws: ``RangeError`` with `pointsCoincide`, `notPositive` or `notFinite`.
  public init(from first: ImagePoint, to second: ImagePoint, inches: Double) throws(RangeError) {
    try RangeError.requirePositive(inches, "the reference length", hint: "give the distance of the points in inches")
    let pixels = hypot(first.x - second.x, first.y - second.y)
    guard pixels.isFinite else {
      throw RangeError(.notFinite, "a reference point is not a finite number", hint: "place both points again")
    }
    guard pixels > 0 else {
      throw RangeError(.pointsCoincide, "both reference points are identical", hint: "place the points apart")
    }
    try self.init(pixelsPerInch: pixels / inches)
  }

  /// Returns the length on the target of a length in the picture.
  public func inches(pixels: Double) -> Double { pixels / pixelsPerInch }

  /// Returns the position on the target of a place in the picture. A picture counts downwards, a target upwards.
  /// - Parameters:
  ///   - point: a place in the picture, such as the centre of a hole.
  ///   - pointOfAim: the point of aim, in the same picture.
  public func position(of point: ImagePoint, pointOfAim: ImagePoint) -> TargetPoint {
    TargetPoint(x: inches(pixels: point.x - pointOfAim.x), y: inches(pixels: pointOfAim.y - point.y))
  }
}
