import CipherSQL
import RestorationModel
import Testing

@testable import OfflineStore
@testable import SyncEngine

/// Versions of the server that cannot be stored when they come.
@Suite struct KeptVersionTests {
  private let one: Device
  private let two: Device

  init() async throws {
    let server = try LocalServer()
    one = try await Device("ada", at: server)
    two = try await Device("ben", at: server)
    try await one.write { db in
      let project = try db.insert(Project(title: "House"))
      for _ in 0..<3 {
        try db.insert(
          AtmosphericLog(
            projectId: project.projectId, date: .nowInMilliseconds(), relativeHumidity: 50, temperature: 70))
      }
      try db.insert(Location(projectId: project.projectId, title: "ground"))
    }
    try await one.sync()
    try await two.sync()
  }

  /// An inlet has one outlet: the one that was chosen here and not sent stands in the way of the one that others chose.
  @Test func aVersionThatBreaksARuleHereIsKeptAndTheRestFlows() async throws {
    try await one.write { _ = try $0.execute("UPDATE OfflineAtmosphericLog SET inletId = 1 WHERE logId = 2") }
    try await one.sync()
    try await two.write { db in
      _ = try db.execute("UPDATE OfflineAtmosphericLog SET inletId = 1 WHERE logId = 3")
      _ = try db.execute("UPDATE OfflineAtmosphericLog SET temperature = 55 WHERE logId = 2")
    }
    let report = try await two.sync()
    #expect(report.conflicts == 1)
    let conflict = try #require(try two.conflicts().first)
    #expect(conflict.conflictType == "not_unique")
    // What is kept is no news in each round.
    let again = try await two.sync()
    #expect(again.pulled == 0 && again.outcome == .done)
    try two.resolve(conflict.conflictId, takesLocal: false)
    for device in [two, one, two] { try await device.sync() }
    #expect(try await one.digests() == two.digests())
    #expect(
      try await one.value("SELECT temperature FROM OfflineAtmosphericLog WHERE inletId = 1", as: Double.self) == 55)
    #expect(try await two.values("SELECT reason FROM SyncInbox") == [])
  }

  /// What others deleted does not come back with a record that had taken it along here.
  @Test func whatIsGoneForAllDoesNotComeBackWithItsParent() async throws {
    try await one.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'Mill'") }
    try await one.sync()
    try await two.write { _ = try $0.execute("DELETE FROM OfflineProject") }
    #expect(try await two.sync().conflicts == 1)
    try await one.write { _ = try $0.execute("DELETE FROM OfflineLocation") }
    try await one.sync()
    try await two.sync()
    let conflict = try #require(try two.conflicts().first)
    try two.resolve(conflict.conflictId, takesLocal: false)
    for device in [two, one, two] { try await device.sync() }
    #expect(try await two.values("SELECT title FROM OfflineProject WHERE isDeleted = 0") == ["Mill"])
    #expect(try await two.values("SELECT title FROM OfflineLocation WHERE isDeleted = 0") == [])
    #expect(try await one.digests() == two.digests())
  }
}
