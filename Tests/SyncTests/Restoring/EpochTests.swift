import CipherSQL
import Foundation
import RestorationModel
import SQLCipherStorage
import SyncModel
import SyncServer
import Testing

@testable import VaultStore
@testable import SyncEngine

/// A server whose data is restored from a backup, and devices that synced before the restore.
@Suite struct EpochTests {
  let server: LocalServer
  let one: Device
  let two: Device

  init() async throws {
    server = try LocalServer()
    one = try await Device("ada", at: server)
    two = try await Device("ben", at: server)
    try await one.write { db in
      let project = try db.insert(Project(title: "House"))
      for number in 1...3 { try db.insert(Room(projectId: project.projectId, title: "room \(number)")) }
    }
    try await one.sync()
    try await two.sync()
  }

  func rename(_ device: Device, _ room: Int, _ title: String) async throws {
    try await device.write {
      _ = try $0.execute("UPDATE OfflineRoom SET title = \(title) WHERE title LIKE \("%\(room)")")
    }
  }

  func expectAgreement(_ place: SourceLocation = #_sourceLocation) async throws {
    for _ in 0..<3 { for device in [one, two] { try await device.sync() } }
    #expect(try await one.digests() == two.digests(), sourceLocation: place)
    #expect(try await one.values(Self.roomIds) == two.values(Self.roomIds), sourceLocation: place)
    for device in [one, two] {
      #expect(try await device.waiting() == 0, sourceLocation: place)
      #expect(try await device.sync(RoundRequest(isFull: true)).repaired == 0, sourceLocation: place)
    }
  }

  @Test("Acknowledged changes that a restored server lost are sent again")
  func lostChanges() async throws {
    let backup = try await server.backUp()
    try await rename(one, 1, "kitchen 1")
    try await one.write { db in
      try db.insert(Room(projectId: 1, title: "attic 4"))
    }
    try await one.sync()
    try await server.restore(backup)
    let report = try await one.sync()
    #expect(report.hasCompared && report.conflicts == 0)
    try await expectAgreement()
    let titles = try await two.values("SELECT title FROM OfflineRoom WHERE isDeleted = 0 ORDER BY title")
    #expect(titles == ["attic 4", "kitchen 1", "room 2", "room 3"])
  }

  @Test("An old cursor is unknown after a restore, even after another device has pushed past it")
  func oldCursor() async throws {
    let backup = try await server.backUp()
    for number in 1...5 { try await rename(one, 1, "first \(number) 1"); try await one.sync() }
    try await two.sync()
    try await server.restore(backup)
    // Another device of the account pushes past the old cursors.
    let three = try await Device("cleo", at: server)
    try await three.sync()
    for number in 1...9 { try await rename(three, 2, "third \(number) 2"); try await three.sync() }
    try await rename(two, 3, "second 3")
    try await two.sync()
    try await expectAgreement()
    let titles = try await one.values("SELECT title FROM OfflineRoom ORDER BY title")
    #expect(titles == ["first 5 1", "second 3", "third 9 2"])
  }

  /// Adds two locations that reference each other on the first device, and syncs. Their rows stay after their
  /// deletion, because a base remembers them.
  private func addCycle() async throws {
    try await one.write { db in
      let annex = try db.insert(Location(projectId: 1, title: "annex"))
      let wing = try db.insert(Location(projectId: 1, parentLocationId: annex.locationId, title: "wing"))
      _ = try db.execute(
        "UPDATE OfflineLocation SET parentLocationId = \(wing.locationId) WHERE locationId = \(annex.locationId)")
    }
    try await one.sync()
    try await one.vault.sync { transaction in
      _ = try transaction.connection.execute(
        """
        INSERT INTO SyncBase (entityType, entityId, fields, isDeleted, syncVersion, updatedAt)
        SELECT 'Location', -locationId, json_object('parentLocationId', uuid), 0, 1, updatedAt FROM OfflineLocation
        WHERE title IN ('annex', 'wing')
        """)
    }
  }

  @Test(
    "After a server restore, a record deleted before the restore returns only when a user restores it",
    arguments: [true, false])
  func deletedRecordSentAgain(isRestored: Bool) async throws {
    let backup = try await server.backUp()
    try await addCycle()
    try await one.write { _ = try $0.execute("UPDATE OfflineLocation SET title = 'loft' WHERE title = 'annex'") }
    try await one.sync()
    let three = try Device(copyOf: one, at: server)
    // The deletion of the loft cascades to the wing. Both deleted rows stay.
    try await one.write { _ = try $0.execute("DELETE FROM OfflineLocation WHERE title = 'loft'") }
    try await one.sync()
    let deleted: SQL = "SELECT title FROM OfflineLocation WHERE isDeleted = 1 AND syncVersion > 1 ORDER BY title"
    #expect(try await one.values(deleted) == ["loft", "wing"])
    try await server.restore(backup)
    try await one.sync()
    try await three.sync()
    let live: SQL = "SELECT title FROM OfflineLocation WHERE isDeleted = 0 ORDER BY title"
    #expect(try await one.values(live) == [])
    #expect(try three.conflicts().map(\.conflictType) == ["deleted_remotely"])
    while let conflict = try three.conflicts().first {
      try three.resolve(conflict.conflictId, takesLocal: isRestored)
      for device in [three, one, two] { try await device.sync() }
    }
    try await expectAgreement()
    #expect(try await one.digests() == three.digests())
    for device in [one, two, three] { #expect(try await device.values(live) == (isRestored ? ["loft", "wing"] : [])) }
  }

  @Test("A record restored against a deletion is sent even if the server meanwhile forgets the deletion")
  func restoredAfterForgottenDeletion() async throws {
    let backup = try await server.backUp()
    try await one.write { try $0.insert(Room(projectId: 1, title: "loft")) }
    for device in [one, two] { try await device.sync() }
    try await one.write { _ = try $0.execute("DELETE FROM OfflineRoom WHERE title = 'loft'") }
    try await server.restore(backup)
    for device in [one, two] { try await device.sync() }
    let conflict = try #require(try two.conflicts().first)
    #expect(conflict.conflictType == "deleted_remotely" && conflict.remoteVersion == nil)
    try two.resolve(conflict.conflictId, takesLocal: true)
    try await server.restore(backup)
    try await two.sync()
    try await expectAgreement()
    #expect(try await one.values("SELECT title FROM OfflineRoom WHERE isDeleted = 0").contains("loft"))
  }

  @Test("A record that is restored here and deleted in both epochs is restored on the server")
  func restoredRecord() async throws {
    try await addCycle()
    func mark(deleted: Int) async throws {
      try await one.write { db in
        _ = try db.execute("UPDATE OfflineLocation SET isDeleted = \(deleted) WHERE title = 'annex'")
      }
    }
    try await mark(deleted: 1)
    try await one.sync()
    let backup = try await server.backUp()
    for deleted in [0, 1] {
      try await mark(deleted: deleted)
      try await one.sync()
    }
    try await server.restore(backup)
    try await mark(deleted: 0)
    #expect(try await one.sync().outcome == .done)
    try await expectAgreement()
    #expect(
      try await two.values("SELECT title FROM OfflineLocation WHERE isDeleted = 0 ORDER BY title") == ["annex", "wing"])
  }

  @Test("Deleting a record that the server lost ends the conflict about it")
  func conflictOfDeletedRecord() async throws {
    let backup = try await server.backUp()
    try await one.write { try $0.insert(Project(title: "Mill")) }
    try await one.sync()
    try await two.sync()
    for (device, title) in [(two, "Elm"), (one, "Oak")] {
      try await device.write { db in
        _ = try db.execute("UPDATE OfflineProject SET title = \(title) WHERE title = 'Mill'")
      }
      try await device.sync()
    }
    #expect(try one.conflicts().count == 1)
    try await one.write { _ = try $0.execute("DELETE FROM OfflineProject WHERE title = 'Oak'") }
    try await server.restore(backup)
    try await one.sync()
    #expect(try one.conflicts().isEmpty)
    #expect(try await one.waiting() == 0)
    try await two.sync()
    #expect(try two.conflicts().map(\.conflictType) == ["deleted_remotely"])
  }

  @Test("A comparison ends a conflict with a version that the server lost")
  func conflictWithLostVersion() async throws {
    let backup = try await server.backUp()
    for (device, title) in [(two, "Elm"), (one, "Oak")] {
      try await device.write { _ = try $0.execute("UPDATE OfflineProject SET title = \(title)") }
      try await device.sync()
    }
    #expect(try one.conflicts().count == 1)
    try await server.restore(backup)
    try await one.sync()
    // The restored server has the common base of both devices, so nothing is left to decide.
    #expect(try one.conflicts().isEmpty)
    #expect(try await one.sync(RoundRequest(isFull: true)).repaired == 0)
    let three = try await Device("cid", at: server)
    try await three.sync()
    #expect(try await three.value("SELECT title FROM OfflineProject", as: String.self) == "Oak")
    // The other device still has the value that the server lost.
    try await two.sync()
    #expect(try await two.conflictTexts().contains { $0.contains("Elm") && $0.contains("Oak") })
  }

  @Test("A record changed before and after the restore follows its policy, and no value is lost")
  func changedOnBothSides() async throws {
    let backup = try await server.backUp()
    try await rename(one, 1, "before 1")
    try await one.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'Elm'") }
    try await one.sync()
    try await server.restore(backup)
    try await rename(two, 1, "after 1")
    try await two.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'Oak'") }
    try await two.sync()
    try await one.sync()
    let texts = try await one.values("SELECT title FROM OfflineRoom") + one.conflictTexts()
    for text in ["before 1", "after 1", "Elm", "Oak"] {
      #expect(texts.contains { $0.contains(text) }, "\(text)")
    }
    // The conflict policy of projects leaves the decision to a user.
    let conflict = try #require(try one.conflicts().first)
    try one.resolve(conflict.conflictId, takesLocal: true)
    try await expectAgreement()
    #expect(try await two.value("SELECT title FROM OfflineProject", as: String.self) == "Elm")
  }

  @Test("A device that lags behind the backup takes the server's records without a conflict")
  func laggingDevice() async throws {
    try await rename(one, 1, "kitchen 1")
    try await one.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'Elm'") }
    try await one.sync()
    let backup = try await server.backUp()
    try await server.restore(backup)
    let report = try await two.sync()
    #expect(report.conflicts == 0)
    #expect(try await two.value("SELECT title FROM OfflineProject", as: String.self) == "Elm")
    #expect(try await two.conflictTexts().isEmpty)
    try await expectAgreement()
  }

  @Test("A sealed operation whose response was lost before the restore is stored once")
  func sealedOperation() async throws {
    let backup = try await server.backUp()
    try await one.write { try $0.insert(Room(projectId: 1, title: "attic 4")) }
    try await rename(one, 1, "kitchen 1")
    let batch = try await one.vault.sync { try $0.nextBatch(limit: 25).operations }
    let request = try await one.vault.sync {
      PushRequest(
        deviceId: try $0.deviceId(), deviceCounter: try $0.nextDeviceCounter(), cursor: nil, operations: batch)
    }
    _ = try await one.worker.remote.push(request)
    try await server.restore(backup)
    try await expectAgreement()
    let titles = try await two.values("SELECT title FROM OfflineRoom ORDER BY title")
    #expect(titles == ["attic 4", "kitchen 1", "room 2", "room 3"])
  }

  @Test("A round notices a new epoch that begins between two of its requests")
  func epochWithinRound() async throws {
    let remote = InterveningRemote(remote: await one.worker.remote)
    let (folder, schemas) = (server.folder, server.schemas)
    remote.intervene { number in if number == 1 { try await startEpoch(folder.path + "/data", schemas) } }
    let worker = SyncWorker(
      vault: one.vault, remote: remote, monitor: NetworkMonitor(fixed: .online))
    try await rename(one, 1, "kitchen 1")
    let report = try await worker.sync()
    #expect(report.outcome == .done && report.hasCompared)
    try await expectAgreement()
    #expect(try await two.values("SELECT title FROM OfflineRoom ORDER BY title") == ["kitchen 1", "room 2", "room 3"])
  }
}

/// Starts a new epoch of each account. The server may be running or stopped.
private func startEpoch(_ data: String, _ schemas: [Schema]) async throws {
  let folder = try ServerFolder(data, isCreating: false)
  let directory = try ServerDirectory(in: folder)
  defer { directory.close() }
  let accounts = try directory.accounts()
  let storage = try EmbeddedStorage(in: folder, schemas: schemas, accounts: accounts)
  defer { storage.close() }
  for account in accounts { try await storage.startEpoch(account) }
}

extension LocalServer {
  private var data: String { folder.path + "/data" }

  /// Copies the data of the server while it is stopped, and restarts it. Returns the path of the copy.
  func backUp() async throws -> String {
    let copy = folder.path + "/backup-\(UUID().uuidString)"
    let data = data
    try await restart(while: { try FileManager.default.copyItem(atPath: data, toPath: copy) })
    return copy
  }

  /// Replaces the data of the server by a copy and starts a new epoch. Keeps the data if `copy` is `nil`.
  func restore(_ copy: String?) async throws {
    let data = data
    let schemas = schemas
    try await restart(while: {
      if let copy {
        try FileManager.default.removeItem(atPath: data)
        try FileManager.default.copyItem(atPath: copy, toPath: data)
      }
      try await startEpoch(data, schemas)
    })
  }
}
