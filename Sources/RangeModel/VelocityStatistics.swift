/// The velocities of the shots of a string and their spread, in feet per second.
///
/// Source: NIST/SEMATECH, e-Handbook of Statistical Methods, 1.3.5.1 (mean) and 1.3.5.6 (range and standard deviation).
public struct VelocityStatistics: Hashable, Sendable {
  /// The number of included shots.
  public let count: Int
  /// The mean velocity.
  public let mean: Double
  /// The velocity of the slowest shot.
  public let minimum: Double
  /// The velocity of the fastest shot.
  public let maximum: Double
  /// The standard deviation of the sample, with n - 1 in the denominator: the value that chronographs show, and the
  /// estimate for the ammunition of the string. `nil` for a single shot, for which it is not defined.
  ///
  /// The sum of squares is that of two passes, corrected by the rounding error of the mean: T. F. Chan, G. H. Golub,
  /// R. J. LeVeque, "Algorithms for Computing the Sample Variance", The American Statistician 37 (1983), equation
  /// 1.7.
  public let standardDeviation: Double?

  /// The difference between the fastest and the slowest shot; 0 for a single shot.
  public var extremeSpread: Double { maximum - minimum }

  /// Computes the statistics of velocities, in any order.
  /// - Parameter velocities: in feet per second, each above zero.
  /// - Throws: ``RangeError`` with `noShots`, `notPositive` or `notFinite`.
  public init(_ velocities: some Collection<Double>) throws(RangeError) {
    guard let first = velocities.first else {
      throw RangeError(.noShots, "the string has no included shots", hint: "add a shot, or include an excluded shot")
    }
    var (slowest, fastest, sum) = (first, first, 0.0)
    for velocity in velocities {
      try RangeError.requirePositive(velocity, "a velocity", hint: "correct the shot or exclude it")
      (slowest, fastest, sum) = (min(slowest, velocity), max(fastest, velocity), sum + velocity)
    }
    let number = Double(velocities.count)
    let average = sum / number
    guard average.isFinite else {
      throw RangeError(.notFinite, "the velocities are too large", hint: "give them in feet per second")
    }
    (count, mean, minimum, maximum) = (velocities.count, average, slowest, fastest)
    guard velocities.count > 1 else {
      standardDeviation = nil
      return
    }
    var (squares, rest) = (0.0, 0.0)
    for velocity in velocities {
      squares += (velocity - average) * (velocity - average)
      rest += velocity - average
    }
    standardDeviation = (max(0, squares - rest * rest / number) / (number - 1)).squareRoot()
  }

  /// Computes the statistics of readings, without excluded and deleted ones.
  /// - Throws: ``RangeError`` with `noShots` if no reading is left.
  public init(_ readings: some Sequence<VelocityReading>) throws(RangeError) {
    try self.init(readings.filter { !$0.isExcluded && !$0.isDeleted }.map(\.velocity))
  }
}
