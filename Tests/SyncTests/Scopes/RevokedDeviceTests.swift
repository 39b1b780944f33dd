import CipherSQL
import Foundation
import RestorationModel
import ServerStorage
import SyncModel
import TestSupport
import Testing

@testable import Outbox
@testable import SyncEngine
@testable import VaultStore

/// Devices that the operator of their server sees and revokes.
struct RevokedDeviceTests {
  private let server: LocalServer
  private let one: Device
  private let two: Device

  init() async throws {
    server = try LocalServer()
    one = try await Device("ada", at: server)
    two = try await Device("bob", at: server)
    try await one.write { connection in
      for project in ["House", "Barn"] {
        try connection.execute("INSERT INTO OfflineProject (title, status) VALUES (\(project), 'active')")
        for number in 1...130 {
          try connection.execute(
            """
            INSERT INTO OfflineRoom (projectId, title) SELECT projectId, \("\(project) \(number)") FROM OfflineProject
            WHERE title = \(project)
            """)
        }
      }
    }
    for device in [one, two, one] { try await device.sync() }
  }

  private func id(_ device: Device) throws -> String { try #require(try device.vault.deviceId()) }

  /// Returns the devices as the operator sees them after the server has stored its contacts.
  private func listed() async throws -> [String: ListedDevice] {
    try await server.restart()
    return try server.withDirectory { directory in
      Dictionary(uniqueKeysWithValues: try directory.devices(of: "water").map { ($0.id, $0) })
    }
  }

  private func revoke(_ device: Device) async throws {
    _ = try await listed()
    let id = try id(device)
    #expect(try server.withDirectory { try $0.revokeDevice(id) })
  }

  private func count(_ device: Device) async throws -> Int? {
    try await device.value(
      "SELECT (SELECT count(*) FROM OfflineProject) + (SELECT count(*) FROM OfflineRoom)", as: Int.self)
  }

  @Test("The operator sees the user, the version and the lag of each device")
  func list() async throws {
    try await one.write { try $0.execute("UPDATE OfflineRoom SET level = '1' WHERE title LIKE 'House %'") }
    try await one.sync()
    let devices = try await listed()
    #expect(devices.count == 2)
    let sequence = try server.withDirectory { directory in
      try directory.lastSequence(of: try #require(devices.values.first).account)
    }
    let (ada, bob) = (try #require(devices[id(one)]), try #require(devices[id(two)]))
    #expect(ada.user == "ada" && bob.user == "bob" && ada.version == ProductVersion.current)
    #expect(ada.lag(behind: sequence) == 0 && bob.lag(behind: sequence) == 130)
    #expect(ada.revokedAt == nil && ada.lastSeenAt >= ada.firstSeenAt)
  }

  @Test("A revoked device keeps its records unless its vault allows their removal, and sends nothing")
  func kept() async throws {
    try await revoke(two)
    try await two.write { try $0.execute("UPDATE OfflineRoom SET level = '1' WHERE title = 'House 7'") }
    let before = try await count(two)
    let report = try await two.worker.sync()
    #expect(report.outcome == .paused && report.failure?.responseClass == .deviceRevoked)
    #expect(report.revoked == LostRecords() && report.pushed == 0)
    #expect(try await count(two) == before)
    // Other devices are not concerned.
    try await one.sync()
    #expect(try await one.values("SELECT title FROM OfflineRoom WHERE level = '1'") == [])
    let told = try await listed()
    #expect(try told[id(two)]?.toldAt != nil && told[id(one)]?.toldAt == nil)
  }

  @Test("With the permission of the vault, all clean records leave, and unsent changes stay with their parents")
  func removed() async throws {
    try two.vault.setPreference(.removeWhenRevoked, "true")
    try await two.write { connection in
      try connection.execute("UPDATE OfflineRoom SET level = '1' WHERE title = 'House 7'")
      try connection.execute(
        "INSERT INTO OfflineRoom (projectId, title) SELECT projectId, 'new' FROM OfflineProject WHERE title = 'House'")
    }
    try await revoke(two)
    let report = try await two.worker.sync()
    #expect(report.outcome == .paused && report.revoked.removed == 260)
    #expect(
      report.revoked.kept == [
        KeptRecords(entityType: "Project", reason: .referenced, count: 1),
        KeptRecords(entityType: "Room", reason: .unsentChange, count: 1),
      ])
    #expect(try await two.values("SELECT title FROM OfflineProject") == ["House"])
    #expect(try await two.values("SELECT title FROM OfflineRoom ORDER BY 1") == ["House 7", "new"])
    #expect(
      try await two.values("SELECT status FROM OfflineSyncQueue WHERE completedAt IS NULL") == ["pending", "pending"])
    // A further contact changes nothing.
    let again = try await two.worker.sync()
    #expect(again.outcome == .paused && again.revoked.removed == 0)
    try await expectInvariants(two)
  }

  @Test("With a new token the device gets another id, fetches everything again and sends its changes")
  func readmitted() async throws {
    try two.vault.setPreference(.removeWhenRevoked, "true")
    try await two.write { try $0.execute("UPDATE OfflineRoom SET level = '1' WHERE title = 'House 7'") }
    try await revoke(two)
    let old = try id(two)
    #expect(try await two.worker.sync().revoked.removed == 260)
    try two.vault.setRemote(url: server.server.url, token: two.token)
    try await two.sync()
    #expect(try id(two) != old)
    try await Device.expectAgreement(one, two)
    #expect(try await one.values("SELECT title FROM OfflineRoom WHERE level = '1'") == ["House 7"])
    #expect(try await count(two) == 262)
    try await expectInvariants(two)
  }

  private func expectInvariants(_ device: Device) async throws {
    let catalog = device.vault.syncCatalog
    #expect(
      try await device.vault.database.read { try SyncInvariants(catalog: catalog, connection: $0).violations() } == [])
  }
}
