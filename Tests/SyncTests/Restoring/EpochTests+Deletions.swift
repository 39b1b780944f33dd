import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import SyncServer
import Testing

@testable import VaultStore
@testable import SyncEngine

/// Deletions that a restored server has lost.
extension EpochTests {
  private static let liveRooms: SQL = "SELECT title FROM OfflineRoom WHERE isDeleted = 0 ORDER BY title"

  private func delete(_ device: Device, _ room: Int) async throws {
    try await device.write { _ = try $0.execute("DELETE FROM OfflineRoom WHERE title LIKE \("%\(room)")") }
  }

  @Test("A deletion that a restored server lost is sent again, whichever device syncs first", arguments: [true, false])
  func lostDeletion(deletesFirst: Bool) async throws {
    let backup = try await server.backUp()
    try await delete(one, 1)
    for device in [one, two] { try await device.sync() }
    #expect(try await one.values("SELECT title FROM OfflineRoom ORDER BY title") == ["room 2", "room 3"])
    try await server.restore(backup)
    for device in deletesFirst ? [one, two] : [two, one] { try await device.sync() }
    try await expectAgreement()
    for device in [one, two] { #expect(try await device.values(Self.liveRooms) == ["room 2", "room 3"]) }
    for device in [one, two] { #expect(try device.conflicts().isEmpty) }
  }

  @Test("A lost deletion is sent again with its dependents")
  func lostCascade() async throws {
    let backup = try await server.backUp()
    try await one.write { _ = try $0.execute("DELETE FROM OfflineProject") }
    for device in [one, two] { try await device.sync() }
    try await server.restore(backup)
    for device in [two, one] { try await device.sync() }
    try await expectAgreement()
    for device in [one, two] {
      #expect(try await device.values(Self.liveRooms) == [])
      #expect(try await device.values("SELECT title FROM OfflineProject WHERE isDeleted = 0") == [])
    }
  }

  @Test("The policy decides between a lost deletion and an edit after the restore, and shows the value that loses")
  func lostDeletionAgainstEdit() async throws {
    let backup = try await server.backUp()
    try await one.write { _ = try $0.execute("DELETE FROM OfflineProject") }
    for device in [one, two] { try await device.sync() }
    try await server.restore(backup)
    try await two.sync()
    try await two.write { db in
      _ = try db.execute("UPDATE OfflineProject SET title = 'Villa'")
      _ = try db.execute("UPDATE OfflineRoom SET title = 'kitchen 1' WHERE title = 'room 1'")
    }
    try await two.sync()
    // A Project leaves the decision to the user.
    #expect(try await one.sync().conflicts == 1)
    let conflict = try #require(try one.conflicts().first)
    #expect(conflict.entityType == "Project" && conflict.conflictType == "deleted_locally")
    try one.resolve(conflict.conflictId, takesLocal: false)
    try await expectAgreement()
    for device in [one, two] {
      #expect(try await device.values(Self.liveRooms) == ["kitchen 1", "room 2", "room 3"])
      #expect(try await device.values("SELECT title FROM OfflineProject WHERE isDeleted = 0") == ["Villa"])
    }
  }

  @Test("Of a lost deletion and an edit after the restore, the later one wins where the policy says so")
  func lostDeletionAgainstLaterEdit() async throws {
    let backup = try await server.backUp()
    try await delete(one, 1)
    for device in [one, two] { try await device.sync() }
    try await server.restore(backup)
    try await two.sync()
    try await rename(two, 1, "kitchen 1")
    try await two.sync()
    #expect(try await one.sync().conflicts == 0)
    try await expectAgreement()
    #expect(try await one.values(Self.liveRooms) == ["kitchen 1", "room 2", "room 3"])
    let notes = "SELECT conflictType || ' ' || resolution FROM OfflineConflictResolution" as SQL
    #expect(try await one.values(notes) == ["deleted_locally remote_wins"])
  }

  @Test("A record that another device restored after its deletion stays when the server is restored")
  func restoredElsewhereBeforeRestore() async throws {
    let uuids = try await one.values("SELECT uuid FROM OfflineRoom WHERE title = 'room 1'")
    let uuid = try #require(uuids.first.flatMap { UUID(uuidString: $0) })
    try await delete(one, 1)
    for device in [one, two] { try await device.sync() }
    _ = try await two.undelete("Room", uuid)
    for device in [two, one] { try await device.sync() }
    #expect(try await one.values(Self.liveRooms) == ["room 1", "room 2", "room 3"])
    let backup = try await server.backUp()
    try await rename(one, 3, "later 3")
    for device in [one, two] { try await device.sync() }
    try await server.restore(backup)
    for device in [two, one] { try await device.sync() }
    try await expectAgreement()
    #expect(try await one.values(Self.liveRooms) == ["later 3", "room 1", "room 2"])
  }

  @Test("An edit that the server lost is shown when another device's older version replaces it under a deleted parent")
  func lostEditOfCascadedRecord() async throws {
    let backup = try await server.backUp()
    // A server that is restored twice from this backup does not know the epoch between.
    try await server.restore(backup)
    for device in [one, two] { try await device.sync() }
    try await one.write { try $0.insert(Room(projectId: 1, title: "old 4")) }
    for device in [one, two] { try await device.sync() }
    try await one.write { db in
      _ = try db.execute("UPDATE OfflineProject SET title = 'Villa'")
      _ = try db.execute("UPDATE OfflineRoom SET title = 'new 4' WHERE title = 'old 4'")
    }
    try await one.sync()
    try await one.write { _ = try $0.execute("DELETE FROM OfflineProject") }
    try await server.restore(backup)
    // The server has another title of the Project, so the user decides about the deletion.
    #expect(try await one.sync().conflicts == 1)
    try await two.sync()
    try await one.sync()
    let conflict = try #require(try one.conflicts().first)
    #expect(conflict.conflictType == "deleted_locally")
    try one.resolve(conflict.conflictId, takesLocal: false)
    try await expectAgreement()
    let notes: SQL = """
      SELECT json_extract(localVersion, '$.title') FROM OfflineConflictResolution
      WHERE entityType = 'Room' AND resolution = 'remote_wins'
      """
    #expect(try await one.values(Self.liveRooms).contains("old 4"))
    #expect(try await one.values(notes) == ["new 4"])
  }
}
