import CipherSQL
import Foundation
import RestorationModel
import TestSupport
import Testing

@testable import VaultStore
@testable import SyncEngine

/// Discarded changes leave nothing behind: no conflict and no waiting operation.
@Suite struct GivingUpTests {
  private let server: LocalServer
  private let one: Device
  private let two: Device

  init() async throws {
    server = try LocalServer()
    one = try await Device("ada", at: server)
    two = try await Device("ben", at: server)
    try await one.write { db in
      let project = try db.insert(Project(title: "House"))
      try db.insert(Room(projectId: project.projectId, title: "Kitchen"))
    }
    try await one.sync()
    try await two.sync()
  }

  /// Creates, on the second device, a note in a room that the first device has deleted. Returns the conflict.
  private func makeOrphan() async throws -> ConflictEntry {
    try await one.write { _ = try $0.execute("DELETE FROM OfflineRoom") }
    try await one.sync()
    try await two.write { try $0.insert(Note(projectId: 1, roomId: 1, body: "wet")) }
    #expect(try await two.sync().conflicts == 1)
    return try #require(try two.conflicts().first)
  }

  private func expectGone() async throws {
    #expect(
      try await two.values("SELECT syncStatus || isDirty FROM OfflineNote WHERE isDeleted = 0 OR isDirty = 1") == [])
    #expect(try await two.values("SELECT uuid FROM OfflineNote WHERE syncStatus = 'conflict'") == [])
    #expect(try await two.value("SELECT count(*) FROM OfflineSyncQueue WHERE completedAt IS NULL", as: Int.self) == 0)
    #expect(try two.conflicts().isEmpty)
    #expect(try await two.sync().pushed == 0)
  }

  @Test("An orphaned note whose conflict is resolved for the server leaves nothing behind")
  func anOrphanThatIsLetGoIsClean() async throws {
    let conflict = try await makeOrphan()
    try two.resolve(conflict.conflictId, takesLocal: false)
    try await expectGone()
  }

  @Test("An orphaned note whose operation is discarded leaves nothing behind")
  func anOrphanWhoseOperationIsDiscardedIsClean() async throws {
    _ = try await makeOrphan()
    try two.discardAll()
    try await expectGone()
  }

  @Test("An orphaned note that is deleted and then discarded leaves nothing behind")
  func anOrphanThatWasDeletedHereAndThenDiscardedIsClean() async throws {
    _ = try await makeOrphan()
    try await two.write { _ = try $0.execute("DELETE FROM OfflineNote") }
    try two.discardAll()
    try await expectGone()
  }

  // Found by the simulation, seed 9000, world 7: an SQLite error terminated the device's program.
  @Test("A new record cannot be discarded while another new record references it")
  func neededRecord() async throws {
    try await two.write { db in
      let oak = try db.insert(Material(name: "Oak"))
      let log = MoistureLog(projectId: 1, roomId: 1, materialId: oak.materialId, date: Date(), moistureContent: 12)
      _ = try db.insert(log)
    }
    let outbox: SQL = "SELECT operationId || status FROM OfflineSyncQueue ORDER BY queueNumber"
    let before = try await two.values(outbox)
    let error = #expect(throws: VaultError.self) { try two.discard { $0.entityType == "Material" } }
    #expect(error?.code == .refused && error?.message == "a MoistureLog refers to the Material by materialId")
    #expect(try await two.values(outbox) == before)
    #expect(try await two.values("SELECT name FROM OfflineMaterial WHERE isDeleted = 0") == ["Oak"])
    try two.discard { $0.entityType == "MoistureLog" }
    try two.discardAll()
    #expect(try await two.sync().pushed == 0)
  }

  /// The ways in which a conflict about a title ends.
  enum Ending: CaseIterable { case remoteTaken, otherValueTaken, discarded, merged }

  @Test("However a conflict ends, its row keeps the last local version", arguments: Ending.allCases)
  func localVersionIsKept(ending: Ending) async throws {
    for (device, title) in [(one, "Hall"), (two, "Attic")] {
      try await device.write { _ = try $0.execute("UPDATE OfflineProject SET title = \(title)") }
      try await device.sync()
    }
    let conflict = try #require(try two.conflicts().first)
    try await two.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'Loft'") }
    switch ending {
    case .remoteTaken: try two.resolve(conflict.conflictId, takesLocal: false)
    case .otherValueTaken:
      try two.vault.resolveConflict(
        conflict.conflictId, takesLocal: true, choices: ["title": .value("Cellar")], user: "ben")
    case .discarded: try two.discardAll()
    case .merged:
      try await one.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'House'") }
      try await one.sync()
      try await two.sync()
    }
    #expect(try two.conflicts().isEmpty)
    let kept = try await two.values(
      "SELECT localVersion ->> 'title' FROM OfflineConflictResolution WHERE resolvedAt IS NOT NULL")
    #expect(kept == ["Loft"])
  }
}
