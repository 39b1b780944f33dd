import CipherSQL
import Foundation
import SyncModel
import TestSupport
import Testing

@testable import SyncEngine
@testable import VaultStore

/// Devices at a server that limits them to the projects of their users.
@Suite struct MembershipSyncTests {
  private let server: LocalServer
  private let (ada, ben): (Device, Device)

  init() async throws {
    server = try LocalServer()
    ada = try await Device("ada", at: server)
    ben = try await Device("ben", at: server)
    try await ada.write { connection in
      for name in ["ada", "ben"] {
        try connection.execute("INSERT INTO OfflineUser (email) VALUES (\(name + "@example.org"))")
      }
    }
    try await ada.sync()
    try await ben.sync()
    var records: [String: String] = [:]
    for name in ["ada", "ben"] {
      records[name] = try await ada.value("SELECT uuid FROM OfflineUser WHERE email = \(name + "@example.org")")
    }
    try server.limitToMembers(records)
    try await ada.write { connection in
      for title in ["House", "Barn"] {
        try connection.execute("INSERT INTO OfflineProject (title) VALUES (\(title))")
        let project = connection.lastInsertedRowID
        for number in 0..<30 {
          try connection.execute(
            "INSERT INTO OfflineRoom (projectId, title) VALUES (\(project), \("\(title) \(number)"))")
        }
        try Self.add("ada", to: title, connection)
      }
    }
    try await ada.sync()
  }

  private static func add(_ user: String, to project: String, _ connection: WriteConnection) throws {
    try connection.execute(
      """
      INSERT INTO OfflineProjectCrew (projectId, userId)
      SELECT projectId, userId FROM OfflineProject, OfflineUser
      WHERE title = \(project) AND email = \(user + "@example.org")
      """)
  }

  private func add(_ user: String, to project: String) async throws {
    try await ada.write { try Self.add(user, to: project, $0) }
    try await ada.sync()
  }

  private func remove(_ user: String, from project: String) async throws {
    try await ada.write { connection in
      try connection.execute(
        """
        DELETE FROM OfflineProjectCrew
        WHERE projectId = (SELECT projectId FROM OfflineProject WHERE title = \(project))
          AND userId = (SELECT userId FROM OfflineUser WHERE email = \(user + "@example.org"))
        """)
    }
    try await ada.sync()
  }

  private func titles(_ device: Device) async throws -> [String] {
    try await device.values("SELECT title FROM OfflineProject ORDER BY title")
  }

  private func expectNoRepair() async throws {
    for device in [ada, ben] {
      let report = try await device.sync(RoundRequest(isFull: true))
      #expect(report.repaired == 0 && report.heldDeletions == nil && report.lost.removed == 0)
    }
  }

  @Test("A device follows the memberships of its user", .timeLimit(.minutes(10)))
  func followed() async throws {
    try await ben.sync()
    #expect(try await titles(ben) == [])
    try await add("ben", to: "House")
    try await ben.sync()
    #expect(try await titles(ben) == ["House"])
    #expect(try await ben.value("SELECT count(*) FROM OfflineRoom", as: Int.self) == 30)
    try await expectNoRepair()

    // The other direction: a member works, and a stranger's project is out of reach.
    try await ben.write {
      try $0.execute("UPDATE OfflineRoom SET level = 'cellar' WHERE title = 'House 3'")
      try $0.execute("INSERT INTO OfflineProject (title) VALUES ('Shed')")
    }
    try await ben.sync()
    try await ada.sync()
    #expect(try await ada.values("SELECT title FROM OfflineRoom WHERE level = 'cellar'") == ["House 3"])
    #expect(try await titles(ada) == ["Barn", "House"])
    #expect(try await titles(ben) == ["House", "Shed"], "the project that ben has created")

    // An unsent change stays and fails while the rest leaves.
    try await ben.write { try $0.execute("UPDATE OfflineRoom SET level = 'roof' WHERE title = 'House 7'") }
    try await remove("ben", from: "House")
    let report = try await ben.worker.sync()
    #expect(report.failed == 1 && report.outcome == .done && report.conflicts == 0)
    #expect(try await ben.values("SELECT title FROM OfflineRoom") == ["House 7"])
    #expect(try await titles(ben) == ["House", "Shed"], "the project of the unsent change")
    try await ada.sync()
    #expect(try await ada.values("SELECT title FROM OfflineRoom WHERE level = 'roof'") == [])

    // As a member again, ben sends it.
    try await add("ben", to: "House")
    try await ben.sync()
    #expect(try await ben.value("SELECT count(*) FROM OfflineRoom", as: Int.self) == 30)
    #expect(try ben.vault.retryAll() == 1)
    #expect(try await ben.worker.sync().pushed == 1)
    try await ada.sync()
    #expect(try await ada.values("SELECT title FROM OfflineRoom WHERE level = 'roof'") == ["House 7"])
    try await expectNoRepair()

    // Without an unsent change, nothing is left. A comparison finds the same.
    try await remove("ben", from: "House")
    try await ben.sync(RoundRequest(isFull: true))
    #expect(try await titles(ben) == ["Shed"])
    #expect(try await ben.value("SELECT count(*) FROM OfflineRoom", as: Int.self) == 0)
    try await expectNoRepair()
  }
}
