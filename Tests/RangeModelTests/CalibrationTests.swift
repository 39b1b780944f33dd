import RangeModel
import TestSupport
import Testing

/// Pixels of a picture as inches on the target.
@Suite struct CalibrationTests {
  @Test("Two reference points and their distance give the scale") func aReferenceLengthGivesTheScale() throws {
    // A square of one inch that is 300 pixels wide, and a line across it at 3:4:5.
    let square = try Calibration(from: ImagePoint(x: 100, y: 50), to: ImagePoint(x: 400, y: 50), inches: 1)
    #expect(square.pixelsPerInch == 300)
    let line = try Calibration(from: ImagePoint(x: 0, y: 0), to: ImagePoint(x: 300, y: 400), inches: 2.5)
    #expect(line.pixelsPerInch == 200)
    #expect(line.inches(pixels: 61.6) == 0.308)
    #expect(try Calibration(pixelsPerInch: 300) == square)
  }

  @Test("A position on the target counts up from the point of aim, while the picture counts down")
  func thePictureCountsDownAndTheTargetUp() throws {
    let scale = try Calibration(pixelsPerInch: 100)
    let aim = ImagePoint(x: 500, y: 500)
    #expect(scale.position(of: ImagePoint(x: 650, y: 450), pointOfAim: aim) == TargetPoint(x: 1.5, y: 0.5))
    #expect(scale.position(of: ImagePoint(x: 450, y: 700), pointOfAim: aim) == TargetPoint(x: -0.5, y: -2))
    #expect(scale.position(of: aim, pointOfAim: aim) == TargetPoint(x: 0, y: 0))
  }

  @Test("Coinciding points and lengths that give no finite scale are refused") func whatGivesNoScaleIsRefused() throws {
    let (zero, one) = (ImagePoint(x: 0, y: 0), ImagePoint(x: 10, y: 0))
    #expect(rangeCode { _ = try Calibration(from: one, to: one, inches: 1) } == .pointsCoincide)
    for inches in [0, -1.5] {
      #expect(rangeCode { _ = try Calibration(from: zero, to: one, inches: inches) } == .notPositive)
      #expect(rangeCode { _ = try Calibration(pixelsPerInch: inches) } == .notPositive)
    }
    for number in [Double.nan, .infinity] {
      #expect(rangeCode { _ = try Calibration(from: zero, to: one, inches: number) } == .notFinite)
      #expect(rangeCode { _ = try Calibration(from: zero, to: ImagePoint(x: number, y: 0), inches: 1) } == .notFinite)
      #expect(rangeCode { _ = try Calibration(pixelsPerInch: number) } == .notFinite)
    }
    // So near or so long that the scale itself is none.
    let hair = ImagePoint(x: .leastNonzeroMagnitude, y: 0)
    #expect(rangeCode { _ = try Calibration(from: zero, to: hair, inches: 1e9) } == .notPositive)
    #expect(
      rangeCode { _ = try Calibration(from: zero, to: ImagePoint(x: 1e300, y: 0), inches: 1e-300) } == .notFinite)
    let error = #expect(throws: RangeError.self) { try Calibration(from: one, to: one, inches: 1) }
    #expect(error?.description == "both reference points are identical (place the points apart)")
  }

  /// The picture may be turned: the length between the points is all that counts.
  @Test("The scale depends only on the length between the points", arguments: [1, 2, 3] as [UInt64])
  func theScaleDoesNotDependOnTheDirection(_ seed: UInt64) throws {
    var random = Seeded(seed)
    for _ in 0..<200 {
      let scale = Double.random(in: 20...1200, using: &random)
      let inches = Double.random(in: 0.2...40, using: &random)
      let start = ImagePoint(
        x: Double.random(in: 0...4000, using: &random), y: Double.random(in: 0...4000, using: &random))
      let (x, y) = (random.normal(), random.normal())
      let length = (x * x + y * y).squareRoot()
      let end = ImagePoint(x: start.x + x / length * inches * scale, y: start.y + y / length * inches * scale)
      let found = try Calibration(from: start, to: end, inches: inches)
      #expect(near(found.pixelsPerInch, scale, 1e-9), "seed \(seed)")
      #expect(try Calibration(from: end, to: start, inches: inches) == found, "seed \(seed)")
    }
  }
}
