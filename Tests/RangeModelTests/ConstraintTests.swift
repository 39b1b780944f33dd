import CipherSQL
import Foundation
import VaultStore
import RangeModel
import Testing

/// What a slip of the finger or a wrong unit leaves, and the field that is named then.
@Suite struct ConstraintTests {
  struct Slip: CustomTestStringConvertible {
    let entity: String
    let field: String
    let value: String
    init(_ entity: String, _ field: String, _ value: String) {
      (self.entity, self.field, self.value) = (entity, field, value)
    }
    var testDescription: String { "\(entity).\(field) = \(value)" }
  }

  private static let slips = [
    Slip("Session", "humidity", "101"), Slip("Session", "humidity", "-1"), Slip("Session", "windDirection", "361"),
    Slip("Session", "windDirection", "-5"), Slip("Session", "windSpeed", "-1"), Slip("Session", "pressure", "1013.25"),
    Slip("Session", "temperature", "1e999"), Slip("Session", "altitude", "1e999"),
    Slip("Session", "sessionDate", "yesterday"), Slip("DopeEntry", "distance", "0"),
    Slip("DopeEntry", "distance", "-100"),
    Slip("DopeEntry", "elevationMoa", "1e999"), Slip("DopeEntry", "windageMil", "-1e999"),
    Slip("ChronoSession", "distanceToChronograph", "-1"), Slip("VelocityReading", "velocity", "0"),
    Slip("VelocityReading", "velocity", "-2700"), Slip("VelocityReading", "velocity", "1e999"),
    Slip("VelocityReading", "shotNumber", "0"), Slip("GroupEntry", "distance", "0"),
    Slip("GroupEntry", "numberOfShots", "0"), Slip("GroupEntry", "groupNumber", "0"),
    Slip("GroupEntry", "groupSizeMoa", "-0.5"), Slip("GroupEntry", "meanRadiusMoa", "1e999"),
    Slip("GroupMeasurement", "bulletDiameter", "0"), Slip("GroupMeasurement", "bulletDiameter", "1e999"),
    Slip("GroupMeasurement", "measurementConfidence", "1.5"), Slip("GroupMeasurement", "cep50", "-1"),
    Slip("GroupMeasurement", "extremeSpread", "1e999"), Slip("HolePosition", "x", "1e999"),
    Slip("HolePosition", "y", "-1e999"), Slip("GroupImage", "kind", "negative"),
    Slip("GroupImage", "contentKey", "x'00'"), Slip("RifleSetup", "name", " "), Slip("AmmoLot", "lotNumber", ""),
    Slip("SavedLocation", "latitude", "91"), Slip("SavedLocation", "longitude", "-181"),
  ]

  @Test("An implausible value is refused with the name of its field and queues nothing")
  func aSlipIsRefusedAndItsFieldNamed() throws {
    let bench = try RangeBench()
    let recorded = try bench.record()
    try bench.database.write { db in
      try recorded.group.saveMeasurement(
        [TargetPoint(x: 0, y: 0), TargetPoint(x: 1, y: 1)], bulletDiameter: 0.264, in: db)
      try db.insert(GroupImage(groupEntryId: recorded.group.groupEntryId))
    }
    let before = try bench.queue()
    for slip in Self.slips {
      let entity = try bench.vault.entities.entity(slip.entity)
      let uuid = try #require(
        try bench.value("SELECT uuid FROM \(identifier: "Offline\(slip.entity)") LIMIT 1", as: UUID.self))
      let error = #expect(throws: VaultError.self, "\(slip.testDescription)") {
        try bench.vault.put(entity, [(slip.field, .text(slip.value))], uuid: uuid)
      }
      #expect(error?.code == .badValue, "\(slip.testDescription)")
      #expect(error?.name == slip.field, "\(slip.testDescription): \(error?.description ?? "")")
    }
    #expect(try bench.queue() == before)
  }

  /// The same through the typed layer and the shell: the rule stands in the table.
  @Test("The table refuses implausible values from the typed API and from SQL") func theRuleStandsInTheTable() throws {
    let bench = try RangeBench()
    let recorded = try bench.record()
    let error = #expect(throws: SQLError.self) {
      try bench.database.write {
        try $0.insert(DopeEntry(sessionId: recorded.session.sessionId, distance: 0))
      }
    }
    #expect(error?.message.contains("distance > 0") == true)
    #expect(throws: SQLError.self) { try bench.run("UPDATE OfflineVelocityReading SET velocity = -1") }
    // NaN is no number for SQLite: the typed layer refuses it by name.
    #expect(throws: SQLError.self) {
      try bench.database.write {
        try $0.insert(VelocityReading(chronoSessionId: recorded.chrono.chronoSessionId, shotNumber: 6, velocity: .nan))
      }
    }
    #expect(try bench.value("SELECT count(*) FROM OfflineVelocityReading", as: Int.self) == 5)
  }

  /// No column of what a person records takes an infinite number, in whatever way it is written.
  @Test("No REAL column of a recorded entity accepts an infinite number") func noNumberIsInfinite() throws {
    let bench = try RangeBench()
    let recorded = try bench.record()
    try bench.database.write { db in
      _ = try recorded.group.saveMeasurement([TargetPoint(x: 0, y: 0)], bulletDiameter: 0.264, in: db)
    }
    let catalog = try bench.database.read { try Catalog.read(from: $0) }
    let entities = try bench.database.read { try SyncedEntity.all.fetch($0) }
    var tried = 0
    for entity in entities where entity.entityType != "AnalyticsSummary" {
      let table = try #require(catalog.table(entity.tableName))
      for column in table.columns where column.type == .real {
        tried += 1
        for number in ["9e999", "-9e999"] {
          let error = #expect(throws: SQLError.self, "\(table.name).\(column.name) = \(number)") {
            try bench.run(SQL(raw: "UPDATE \(table.name) SET \(column.name) = \(number)"))
          }
          guard case .check(let rule) = error?.constraint else {
            Issue.record("\(table.name).\(column.name): \(String(describing: error))")
            continue
          }
          #expect(rule.contains(column.name))
        }
      }
    }
    #expect(tried == 36)
  }

  @Test("A hold needs only its distance") func onlyTheDistanceOfAHoldMustBeEntered() throws {
    let bench = try RangeBench()
    let recorded = try bench.record()
    let hold = try bench.database.write {
      try $0.insert(DopeEntry(sessionId: recorded.session.sessionId, distance: 200))
    }
    #expect(hold.elevationMoa == 0 && hold.elevationMil == 0 && hold.windageMoa == 0 && hold.windageMil == 0)
    try bench.run("INSERT INTO OfflineDopeEntry (sessionId, distance) VALUES (1, 250)")
    #expect(
      try bench.value(
        "SELECT elevationMoa + elevationMil + windageMoa + windageMil FROM OfflineDopeEntry WHERE distance = 250",
        as: Double.self) == 0)
  }

  /// Two devices with no signal both record a third shot and a first group; one group is measured once.
  @Test("Shot and group numbers may repeat, and a group has one measurement")
  func numbersMayStandTwiceAndMeasurementsNot() throws {
    let bench = try RangeBench()
    let recorded = try bench.record()
    try bench.database.write { db in
      try db.insert(VelocityReading(chronoSessionId: recorded.chrono.chronoSessionId, shotNumber: 3, velocity: 2700))
      try db.insert(
        GroupEntry(sessionId: recorded.session.sessionId, groupNumber: 1, distance: 100, numberOfShots: 5))
      try db.insert(GroupMeasurement(groupEntryId: recorded.group.groupEntryId, bulletDiameter: 0.264))
      #expect(try RangeQueries.nextGroupNumber(db, sessionId: recorded.session.sessionId) == 2)
      #expect(try RangeQueries.nextShotNumber(db, chronoSessionId: recorded.chrono.chronoSessionId) == 6)
    }
    let second = #expect(throws: SQLError.self) {
      try bench.database.write {
        try $0.insert(GroupMeasurement(groupEntryId: recorded.group.groupEntryId, bulletDiameter: 0.308))
      }
    }
    #expect(second?.constraint == .unique(["OfflineGroupMeasurement.groupEntryId"]))
    // After it was deleted there may be another.
    try bench.database.write { db in
      try GroupMeasurement.all.delete(db)
      try db.insert(GroupMeasurement(groupEntryId: recorded.group.groupEntryId, bulletDiameter: 0.308))
    }
  }
}
