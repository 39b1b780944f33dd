import CipherSQL
import Foundation
import RangeModel
import Testing

/// A measurement is stored whole, with its metrics, or not at all.
@Suite struct MeasuringTests {
  private let bench: RangeBench
  private let group: GroupEntry
  private let triangle = [TargetPoint(x: 0, y: 0), TargetPoint(x: 3, y: 0), TargetPoint(x: 3, y: 4)]

  init() throws {
    bench = try RangeBench()
    group = try bench.record().group
  }

  private func stored() throws -> (group: GroupEntry, measurement: GroupMeasurement?, holes: [TargetPoint]) {
    try bench.database.read { db in
      let holes = try HolePosition.all.order { $0.holePositionId.ascending }.fetch(db)
      return (
        try #require(try db.find(GroupEntry.self, group.groupEntryId)), try GroupMeasurement.all.fetchFirst(db),
        holes.map { TargetPoint(x: $0.x, y: $0.y) }
      )
    }
  }

  @Test("Saving a measurement stores its metrics and the size of the group")
  func aMeasurementHasItsMetricsAndTheGroupItsSize() throws {
    let saved = try bench.database.write { try group.saveMeasurement(triangle, bulletDiameter: 0.264, in: $0) }
    let (sized, found, holes) = try stored()
    let measurement = try #require(found)
    #expect(measurement == saved.measurement && holes == triangle && saved.holes.count == 3)
    #expect(measurement.extremeSpread == 5 && measurement.horizontalSpread == 3 && measurement.verticalSpread == 4)
    #expect(measurement.meanRadius == saved.metrics.meanRadius && measurement.cep50 == saved.metrics.cep50)
    #expect(measurement.poiOffsetX == 2 && measurement.poiOffsetY == saved.metrics.center.y)
    #expect(measurement.bulletDiameter == 0.264 && measurement.calibrationMethod == "manual")
    #expect(measurement.pixelsPerInch == nil && measurement.measurementConfidence == nil)
    // 100 yards: 5 inches are 15/π MOA.
    #expect(near(try #require(sized.groupSizeMoa), 15 / Double.pi))
    #expect(near(try #require(sized.meanRadiusMoa), saved.metrics.meanRadius * 3 / .pi))
    #expect(sized.numberOfShots == 3)
    #expect(
      try bench.value("SELECT holes || ' ' || extremeSpread FROM shotGroups", as: String.self) == "3 5.0")
  }

  @Test("Points marked in a picture are stored in inches with their calibration")
  func whatWasMarkedInAPictureIsStoredInInches() throws {
    let scale = try Calibration(from: ImagePoint(x: 0, y: 0), to: ImagePoint(x: 0, y: 200), inches: 2)
    try bench.database.write { db in
      try group.saveMeasurement(
        marked: [ImagePoint(x: 500, y: 600), ImagePoint(x: 800, y: 600), ImagePoint(x: 800, y: 200)],
        pointOfAim: ImagePoint(x: 500, y: 600), calibration: scale, bulletDiameter: 0.308, method: "gridDetect",
        confidence: 0.9, in: db)
    }
    let (_, measurement, holes) = try stored()
    #expect(holes == triangle)
    #expect(measurement?.pixelsPerInch == 100 && measurement?.calibrationMethod == "gridDetect")
    #expect(measurement?.measurementConfidence == 0.9 && measurement?.extremeSpread == 5)
  }

  @Test("A second measurement updates the measurement and only the holes that differ")
  func whoMeasuresAgainChangesTheMeasurementAndOnlyTheHolesThatDiffer() throws {
    let first = try bench.database.write { try group.saveMeasurement(triangle, bulletDiameter: 0.264, in: $0) }
    try bench.settleAll()
    let moved = [triangle[0], TargetPoint(x: 2.5, y: 0), triangle[2]]
    let second = try bench.database.write { try group.saveMeasurement(moved, bulletDiameter: 0.264, in: $0) }
    #expect(second.measurement.uuid == first.measurement.uuid)
    #expect(second.holes.map(\.uuid) == first.holes.map(\.uuid))
    #expect(try stored().holes == moved)
    #expect(
      try bench.queue() == [
        "update GroupMeasurement 1", "update HolePosition \(first.holes[1].holePositionId)", "update GroupEntry 1",
      ])
    // One hole less, then two more.
    try bench.settleAll()
    try bench.database.write { _ = try group.saveMeasurement(Array(moved.dropLast()), bulletDiameter: 0.264, in: $0) }
    #expect(try stored().holes == Array(moved.dropLast()))
    #expect(try bench.queue().contains("delete HolePosition \(first.holes[2].holePositionId)"))
    try bench.database.write { _ = try group.saveMeasurement(moved + triangle, bulletDiameter: 0.264, in: $0) }
    #expect(try stored().holes == moved + triangle)
    // The same again is nothing new.
    try bench.settleAll()
    try bench.database.write { _ = try group.saveMeasurement(moved + triangle, bulletDiameter: 0.264, in: $0) }
    #expect(try bench.queue().isEmpty)
  }

  @Test("A single hole has no size, and an entered size stays")
  func aSingleHoleHasNoSizeAndOneThatWasEnteredStays() throws {
    try bench.run("UPDATE OfflineGroupEntry SET groupSizeMoa = 0.8")
    try bench.database.write { db in
      _ = try group.saveMeasurement([TargetPoint(x: 1, y: -2)], bulletDiameter: 0.264, in: db)
    }
    let (sized, measurement, holes) = try stored()
    #expect(holes.count == 1 && sized.groupSizeMoa == 0.8 && sized.meanRadiusMoa == nil)
    #expect(measurement?.extremeSpread == nil && measurement?.meanRadius == nil && measurement?.cep50 == nil)
    #expect(measurement?.horizontalSpread == nil && measurement?.verticalSpread == nil)
    #expect(measurement?.poiOffsetX == 1 && measurement?.poiOffsetY == -2)
  }

  @Test("Holes in the same place give a group of size 0") func holesInTheSamePlaceAreAGroupOfNoSize() throws {
    try bench.database.write { db in
      _ = try group.saveMeasurement(Array(repeating: TargetPoint(x: 1, y: 1), count: 3), bulletDiameter: 0.264, in: db)
    }
    #expect(try stored().measurement?.extremeSpread == 0 && stored().group.groupSizeMoa == 0)
  }

  @Test("A refused measurement stores nothing, and its transaction can continue")
  func whatCannotBeMeasuredLeavesNothingBehind() throws {
    let before = try bench.queue()
    func code(_ holes: [TargetPoint], _ diameter: Double = 0.264) -> RangeError.Code? {
      rangeCode { try bench.database.write { _ = try group.saveMeasurement(holes, bulletDiameter: diameter, in: $0) } }
    }
    #expect(code([]) == .noHoles)
    #expect(code([TargetPoint(x: .nan, y: 0)]) == .notFinite)
    #expect(code([TargetPoint(x: 0, y: 0), TargetPoint(x: .infinity, y: 0)]) == .notFinite)
    #expect(code(triangle, 0) == .notPositive && code(triangle, -1) == .notPositive)
    #expect(code(triangle, .nan) == .notFinite)
    let unknown = GroupEntry(sessionId: 1, groupNumber: 9, distance: 100, numberOfShots: 3)
    #expect(
      rangeCode { try bench.database.write { _ = try unknown.saveMeasurement(triangle, bulletDiameter: 1, in: $0) } }
        == .noSuchRecord)
    // A rule of the table that is met in the middle: what was written before is undone, the transaction goes on.
    try bench.database.write { db in
      #expect(throws: SQLError.self) {
        try group.saveMeasurement([TargetPoint(x: 0, y: 0), TargetPoint(x: 20_000, y: 0)], bulletDiameter: 0.3, in: db)
      }
      #expect(throws: SQLError.self) {
        try group.saveMeasurement(triangle, bulletDiameter: 0.3, confidence: 2, in: db)
      }
      try db.insert(DopeEntry(sessionId: group.sessionId, distance: 50))
    }
    #expect(try bench.queue() == before + ["create DopeEntry 3"])
    #expect(try stored().measurement == nil && stored().holes.isEmpty)
    try bench.database.write { _ = try $0.delete(group) }
    #expect(code(triangle) == .noSuchRecord)
  }
}
