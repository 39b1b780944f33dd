import CipherSQL

/// A measurement as it was stored.
public struct SavedMeasurement: Sendable {
  /// The measurement's record.
  public let measurement: GroupMeasurement
  /// The records of its holes, in the order in which they were given.
  public let holes: [HolePosition]
  /// The computed values.
  public let metrics: GroupMetrics
}

extension GroupEntry {
  /// Stores the measurement of a group: its metrics, a record for each hole, and the size of the group in minutes of
  /// angle, all or nothing, in the transaction of the caller. A second measurement changes the first one, and only
  /// the holes that differ.
  ///
  /// A single hole has no spread: its metrics are stored as NULL, and the size of the group stays unchanged.
  /// - Parameters:
  ///   - positions: the centres of the holes.
  ///   - bulletDiameter: in inches.
  ///   - calibration: the scale of the picture in which the holes were marked; `nil` without one.
  ///   - method: the server's name of the method that found the scale.
  ///   - confidence: the certainty of the holes, up to 1; `nil` if a user marked them.
  ///   - connection: a transaction.
  /// - Throws: ``RangeError`` for numbers without a result, or with `noSuchRecord` for a group that is not stored or
  ///   is deleted; `SQLError` with `constraint` if a rule of the schema refuses a value.
  @discardableResult
  public func saveMeasurement(
    _ positions: [TargetPoint], bulletDiameter: Double, calibration: Calibration? = nil, method: String = "manual",
    confidence: Double? = nil, in connection: WriteConnection
  ) throws -> SavedMeasurement {
    try RangeError.requirePositive(bulletDiameter, "the bullet's diameter", hint: "give it in inches, as in 0.264")
    let metrics = try GroupMetrics(positions)
    guard let group = try connection.find(GroupEntry.self, groupEntryId) else {
      throw RangeError(.noSuchRecord, "the group is not stored or is deleted", hint: "insert it first")
    }
    let angles = try metrics.angles(atYards: Double(group.distance))
    return try connection.savepoint {
      let measurement = try group.store(connection) { record in
        record.bulletDiameter = bulletDiameter
        record.calibrationMethod = method
        record.pixelsPerInch = calibration?.pixelsPerInch
        record.measurementConfidence = confidence
        record.take(metrics)
      }
      let holes = try measurement.store(positions, connection)
      if metrics.isGroup {
        try GroupEntry.where { $0.groupEntryId == group.groupEntryId }.update(connection) {
          $0.groupSizeMoa.set(angles.extremeSpread.moa)
          $0.meanRadiusMoa.set(angles.meanRadius.moa)
        }
      }
      return SavedMeasurement(measurement: measurement, holes: holes, metrics: metrics)
    }
  }

  /// Stores the marks in a picture; see ``saveMeasurement(_:bulletDiameter:calibration:method:confidence:in:)``.
  /// - Parameters:
  ///   - marked: the centres of the holes in the picture.
  ///   - pointOfAim: the point of aim in the same picture.
  ///   - calibration: the scale of the picture.
  ///   - bulletDiameter: in inches.
  ///   - method: the server's name of the method that found the scale.
  ///   - confidence: the certainty of the holes, up to 1; `nil` if a user marked them.
  ///   - connection: a transaction.
  @discardableResult
  public func saveMeasurement(
    marked: [ImagePoint], pointOfAim: ImagePoint, calibration: Calibration, bulletDiameter: Double,
    method: String = "manual", confidence: Double? = nil, in connection: WriteConnection
  ) throws -> SavedMeasurement {
    try saveMeasurement(
      marked.map { calibration.position(of: $0, pointOfAim: pointOfAim) }, bulletDiameter: bulletDiameter,
      calibration: calibration, method: method, confidence: confidence, in: connection)
  }

  /// The measurement of this group, made or changed.
  private func store(
    _ connection: WriteConnection, _ fill: (inout GroupMeasurement) -> Void
  ) throws -> GroupMeasurement {
    let existing = try GroupMeasurement.where { $0.groupEntryId == groupEntryId }.fetchFirst(connection)
    var record = existing ?? GroupMeasurement(groupEntryId: groupEntryId, bulletDiameter: 0)
    fill(&record)
    guard existing != nil else { return try connection.insert(record) }
    try connection.update(record)
    return record
  }
}

extension GroupMeasurement {
  fileprivate mutating func take(_ metrics: GroupMetrics) {
    func known(_ value: Double) -> Double? { metrics.isGroup ? value : nil }
    extremeSpread = known(metrics.extremeSpread)
    horizontalSpread = known(metrics.horizontalSpread)
    verticalSpread = known(metrics.verticalSpread)
    meanRadius = known(metrics.meanRadius)
    cep50 = known(metrics.cep50)
    (poiOffsetX, poiOffsetY) = (metrics.center.x, metrics.center.y)
  }

  /// Updates the holes of this measurement: existing holes move, and only the difference in number is inserted or
  /// deleted, so that a moved hole is one small update for the server.
  fileprivate func store(_ positions: [TargetPoint], _ connection: WriteConnection) throws -> [HolePosition] {
    let existing = try HolePosition.where { $0.groupMeasurementId == groupMeasurementId }
      .order { $0.holePositionId.ascending }.fetch(connection)
    var holes: [HolePosition] = []
    for (index, position) in positions.enumerated() {
      guard index < existing.count else {
        holes.append(
          try connection.insert(HolePosition(groupMeasurementId: groupMeasurementId, x: position.x, y: position.y)))
        continue
      }
      var hole = existing[index]
      if hole.x != position.x || hole.y != position.y {
        (hole.x, hole.y) = (position.x, position.y)
        try connection.update(hole) { [$0.x, $0.y] }
      }
      holes.append(hole)
    }
    for surplus in existing.dropFirst(positions.count) { try connection.delete(surplus) }
    return holes
  }
}
