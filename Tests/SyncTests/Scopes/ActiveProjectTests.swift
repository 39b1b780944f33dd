import Foundation
import RestorationModel
import SyncModel
import Testing

@testable import VaultStore
@testable import SyncEngine

/// Devices that follow only the active projects.
@Suite struct ActiveProjectTests {
  private let server: LocalServer
  private let one: Device
  private let two: Device

  init() async throws {
    server = try LocalServer()
    one = try await Device("ada", at: server)
    two = try await Device("ben", at: server)
  }

  private func add(_ title: String, _ status: Project.Status) async throws {
    try await one.write { db in
      let project = try db.insert(Project(title: title, status: status))
      try db.insert(Room(projectId: project.projectId, title: title + " room"))
    }
    try await one.sync()
  }

  private func set(_ status: String, of title: String, on device: Device) async throws {
    try await device.write {
      _ = try $0.execute("UPDATE OfflineProject SET status = \(status) WHERE title = \(title)")
    }
    try await device.sync()
  }

  @Test("The first sync fetches only the active projects") func theFirstSyncBringsTheActiveProjects() async throws {
    try await add("Barn", .active)
    try await add("Mill", .completed)
    try two.follow("active")
    try await two.sync()
    #expect(try await two.values("SELECT title FROM OfflineRoom") == ["Barn room"])
    #expect(try await two.values("SELECT title FROM OfflineProject") == ["Barn"])
  }

  @Test("A project is synced while it is active, and leaves when completed unless it has unsent changes")
  func projectsComeAndGoWithTheirStatus() async throws {
    try await add("Barn", .active)
    try two.follow("active")
    try await two.sync()
    try await add("Mill", .active)
    try await two.sync()
    #expect(try await two.values("SELECT title FROM OfflineRoom ORDER BY title") == ["Barn room", "Mill room"])
    try await set("completed", of: "Barn", on: one)
    try await two.write { _ = try $0.execute("UPDATE OfflineRoom SET level = 'unsent' WHERE title = 'Barn room'") }
    #expect(try await two.sync(RoundRequest(pushes: false)).heldBack == 1)
    // Records with unsent changes stay until the changes are sent.
    try await two.sync()
    try await two.sync()
    #expect(try await two.values("SELECT title FROM OfflineRoom") == ["Mill room"])
    try await one.sync()
    #expect(try await one.values("SELECT level FROM OfflineRoom WHERE title = 'Barn room'") == ["unsent"])
    try await set("completed", of: "Mill", on: one)
    try await two.sync()
    #expect(try await two.values("SELECT title FROM OfflineProject") == [])
    try await set("active", of: "Barn", on: one)
    try await two.sync()
    #expect(try await two.values("SELECT title FROM OfflineRoom") == ["Barn room"])
  }

  @Test("A project created on the device stays while it is active and is removed when it is completed")
  func aProjectThatIsMadeHereStaysAndGoesWhenItIsCompleted() async throws {
    try two.follow("active")
    try await two.sync()
    try await two.write { db in
      let project = try db.insert(Project(title: "New"))
      try db.insert(Room(projectId: project.projectId, title: "Hall"))
    }
    for _ in 1...3 {
      let report = try await two.sync()
      #expect(report.left == 0 && report.heldBack == 0)
    }
    #expect(try await two.values("SELECT title FROM OfflineRoom") == ["Hall"])
    try await set("completed", of: "New", on: two)
    try await two.sync()
    #expect(try await two.values("SELECT title FROM OfflineRoom") == [])
    try two.follow("all")
    try await two.sync()
    #expect(try await two.values("SELECT title FROM OfflineRoom") == ["Hall"])
  }

  @Test(
    "A device sends what a restored server has lost before it leaves the project", arguments: ["active", "one project"])
  func leavingAfterRestore(_ choice: String) async throws {
    try await add("Barn", .active)
    try await add("Mill", .active)
    try await set("completed", of: "Barn", on: one)
    let backup = try await server.backUp()
    try await one.write { try $0.execute("INSERT INTO OfflineRoom (projectId, title) VALUES (1, 'Loft')") }
    try await one.sync()
    try await server.restore(backup)
    let mill = try await one.values("SELECT uuid FROM OfflineProject WHERE title = 'Mill'")
    try one.follow(choice == "active" ? choice : try #require(mill.first))
    for _ in 1...3 { try await one.sync() }
    #expect(try await one.values("SELECT title FROM OfflineRoom") == ["Mill room"])
    try await two.sync()
    #expect(try await two.values("SELECT title FROM OfflineRoom ORDER BY title") == ["Barn room", "Loft", "Mill room"])
  }
}
