import CipherSQL
import RestorationModel
import Testing

@testable import OfflineStore
@testable import SyncEngine

/// Columns that are made from others.
@Suite struct ComputedColumnTests {
  /// Each device corrects another value of a reading: what follows from both is computed from both.
  @Test func whatFollowsFromBothSidesIsComputedAgain() async throws {
    let server = try LocalServer()
    let (one, two) = (try await Device("ada", at: server), try await Device("ben", at: server))
    try await one.write { db in
      let project = try db.insert(Project(title: "House"))
      for gpp in [54.4, nil] {
        try db.insert(
          AtmosphericLog(
            projectId: project.projectId, date: .nowInMilliseconds(), relativeHumidity: 50, temperature: 70, gpp: gpp))
      }
    }
    for device in [one, two] { try await device.sync() }
    try await one.write {
      _ = try $0.execute("UPDATE OfflineAtmosphericLog SET temperature = 100, gpp = coalesce(gpp + 1, gpp)")
    }
    try await two.write { _ = try $0.execute("UPDATE OfflineAtmosphericLog SET relativeHumidity = 80") }
    for device in [one, two, one, two] { try await device.sync() }
    for device in [one, two] {
      let grains = try await device.values("SELECT ifnull(CAST(gpp AS TEXT), 'none') FROM OfflineAtmosphericLog")
      #expect(grains == ["237.1", "none"])
    }
    #expect(try await one.digests() == two.digests())
    #expect(try await one.sync(RoundRequest(isFull: true)).repaired == 0)
  }

  /// ASHRAE Handbook, Fundamentals (2017), chapter 1: saturation pressures of table 3 and equation 20 for the humidity
  /// ratio; 14.696 psi, and 12.228 psi at 5,000 feet.
  @Test(arguments: [
    (70.0, 50.0, nil, 54.5), (100, 80, nil, 237.5), (32, 100, nil, 26.4), (75, 50, 843.1, 78.0), (70, 0, nil, 0),
  ])
  func grainsPerPound(_ temperature: Double, _ humidity: Double, _ pressure: Double?, _ expected: Double) async throws {
    let device = try await Device("ada", at: try LocalServer())
    let found = try await device.write { db in
      let project = try db.insert(Project(title: "House"))
      let log = try db.insert(
        AtmosphericLog(
          projectId: project.projectId, date: .nowInMilliseconds(), relativeHumidity: humidity,
          temperature: temperature,
          gpp: 1, pressure: pressure))
      let entities = try Entities.read(from: db)
      let table = try #require(RecordTable(try entities.entity("AtmosphericLog"), in: entities))
      try table.compute(ofKey: log.logId, in: db)
      return try db.fetchOne("SELECT gpp FROM OfflineAtmosphericLog", as: Double.self)
    }
    #expect(abs(try #require(found) - expected) <= 0.005 * expected, "\(String(describing: found))")
  }
}
