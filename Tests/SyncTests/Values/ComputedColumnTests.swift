import CipherSQL
import RestorationModel
import Testing

@testable import VaultStore
@testable import SyncEngine

/// Columns whose values are computed from other columns.
@Suite struct ComputedColumnTests {
  /// Each device corrects another value of a reading. The computed column follows from both corrections.
  @Test("A computed column is recomputed from the merged values of both devices")
  func whatFollowsFromBothSidesIsComputedAgain() async throws {
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

  /// The SQL of the schema computes the same value as the Swift domain code, rounded to the stored tenth.
  @Test(
    "The schema's SQL for grains per pound equals the Swift function, rounded to one decimal place",
    arguments: [
      (70.0, 50.0, nil), (100, 80, nil), (32, 100, nil), (75, 50, 843.1), (70, 0, nil), (200, 100, 300),
    ] as [(Double, Double, Double?)])
  func grainsPerPound(_ temperature: Double, _ humidity: Double, _ pressure: Double?) async throws {
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
      return try db.fetchOne("SELECT gpp FROM OfflineAtmosphericLog", as: Optional<Double>.self) ?? nil
    }
    let expected = Psychrometrics.grainsPerPound(
      fahrenheit: temperature, relativeHumidity: humidity, pressure: pressure ?? 1013.25)
    #expect(found == expected.map { ($0 * 10).rounded() / 10 })
  }
}
