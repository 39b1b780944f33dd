import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import Testing
import HTTPClient

@testable import SQLCipherStorage
@testable import VaultStore
@testable import SyncEngine
@testable import SyncServer

/// Restorations of records whose rows a sync has purged.
@Suite struct RestoringTests {
  private let server: LocalServer
  private let one: Device
  private let two: Device
  private let project: UUID
  private let other: UUID

  init() async throws {
    server = try LocalServer()
    one = try await Device("ada", at: server)
    two = try await Device("ben", at: server)
    (project, other) = try await one.write { db in
      let house = try db.insert(Project(title: "House"))
      let kitchen = try db.insert(Room(projectId: house.projectId, title: "Kitchen"))
      try db.insert(Room(projectId: house.projectId, title: "Hall"))
      try db.insert(
        AtmosphericLog(
          projectId: house.projectId, roomId: kitchen.roomId, date: Date.now, relativeHumidity: 50, temperature: 20))
      return (house.uuid, try db.insert(Project(title: "Barn")).uuid)
    }
    try await one.sync()
    try await two.sync()
  }

  /// Deletes the project with its dependents on the first device, and syncs both devices.
  private func lose(_ kind: String = "Project", _ uuid: UUID? = nil) async throws {
    try await one.delete(kind, uuid ?? project)
    try await one.sync()
    try await two.sync()
    for device in [one, two] {
      #expect(
        try await device.value(
          "SELECT count(*) FROM OfflineProject WHERE title = 'House' AND isDeleted = 1", as: Int.self) == 0)
    }
  }

  private func room(_ title: String) async throws -> UUID {
    let text = try await one.values("SELECT uuid FROM OfflineRoom WHERE title = \(title)")[0]
    return try #require(UUID(sqlText: text))
  }

  private func expectAgreement(_ place: SourceLocation = #_sourceLocation) async throws {
    try await Device.expectAgreement(one, two, nil, place)
  }

  // MARK: Restored records

  @Test(
    "A purged record is restored, and the next sync restores its dependents on every device",
    arguments: [[0], [1], [0, 1]])
  func restored(by numbers: [Int]) async throws {
    try await lose()
    let devices = [one, two]
    for number in numbers {
      let result = try await devices[number].undelete("Project", project)
      #expect(result == Restoration(restored: 1, fetched: 1, dependentsFollow: true))
      #expect(
        try await devices[number].values("SELECT title FROM OfflineProject WHERE isDeleted = 0 ORDER BY title") == [
          "Barn", "House",
        ])
      #expect(
        try await devices[number].values(
          "SELECT operationType || status FROM OfflineSyncQueue WHERE completedAt IS NULL") == ["updatepending"])
    }
    for number in numbers { #expect(try await devices[number].sync().conflicts == 0) }
    for device in devices {
      try await device.sync()
      #expect(
        try await device.values("SELECT title FROM OfflineRoom WHERE isDeleted = 0 ORDER BY title") == [
          "Hall", "Kitchen",
        ])
      #expect(
        try await device.value("SELECT count(*) FROM OfflineAtmosphericLog WHERE isDeleted = 0", as: Int.self) == 1)
    }
    try await expectAgreement()
  }

  @Test("The photos of a restored record can be fetched again on every device")
  func photos() async throws {
    let path = one.folder.path + "/roof.bin"
    let bytes = Data((0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    try bytes.write(to: URL(filePath: path))
    let photo = try attach(path)
    try await one.sync()
    try await two.sync()
    for isPhotoAlone in [true, false] {
      if isPhotoAlone { try await lose("Photo", photo) } else { try await lose() }
      #expect(try StoredFile.all(in: one.vault.layout).isEmpty)
      _ = try await one.undelete(isPhotoAlone ? "Photo" : "Project", isPhotoAlone ? photo : project)
      for device in [one, two, one, two] {
        try await device.sync()
        ask(device, photo)
        try await device.sync()
      }
      for device in [one, two] { #expect(try content(device, photo) == bytes) }
    }
    try await expectAgreement()
  }

  private func attach(_ path: String) throws -> UUID {
    try one.vault.attach([path], to: try one.vault.entities.entity("Project"), project)[0]
  }

  private func ask(_ device: Device, _ photo: UUID) { _ = try? device.vault.openAttachment(photo) }

  private func content(_ device: Device, _ photo: UUID) throws -> Data {
    var content = Data()
    try device.vault.openAttachment(photo).forEachPart { content.append(contentsOf: $0) }
    return content
  }

  @Test("A record that another device has already restored is stored at once")
  func restoredElsewhere() async throws {
    try await lose()
    _ = try await two.undelete("Project", project)
    try await two.sync()
    let result = try await one.undelete("Project", project)
    #expect(result == Restoration(restored: 1, fetched: 1, dependentsFollow: true))
    #expect(try await one.value("SELECT count(*) FROM OfflineSyncQueue WHERE completedAt IS NULL", as: Int.self) == 0)
    try await expectAgreement()
    #expect(try await one.values("SELECT title FROM OfflineRoom ORDER BY title") == ["Hall", "Kitchen"])
  }

  @Test("After a push-only sync, a row is restored at once, and its dependents with the next sync")
  func afterPushOnly() async throws {
    try await one.delete("Project", project)
    try await one.sync(RoundRequest(pulls: false))
    let kept = try await one.value("SELECT count(*) FROM OfflineProject WHERE uuid = \(project)", as: Int.self)
    let result = try await one.undelete("Project", project)
    #expect(result == Restoration(restored: 1, fetched: 1 - (kept ?? 0), dependentsFollow: true))
    try await one.sync()
    #expect(
      try await one.values("SELECT title FROM OfflineRoom WHERE isDeleted = 0 ORDER BY title") == ["Hall", "Kitchen"])
    try await expectAgreement()
  }

  @Test("A deletion that was not sent is undone without the server")
  func unsent() async throws {
    try await one.delete("Project", project)
    await server.server.stop()
    let result = try await one.undelete("Project", project)
    #expect(result == Restoration(restored: 4))
    #expect(try await one.value("SELECT count(*) FROM OfflineSyncQueue WHERE completedAt IS NULL", as: Int.self) == 0)
  }

  @Test("Records in the vault and purged records are restored together")
  func several() async throws {
    try await lose()
    try await one.delete("Project", other)
    let result = try await one.undelete("Project", other, project)
    #expect(result == Restoration(restored: 2, fetched: 1, dependentsFollow: true))
    try await expectAgreement()
    #expect(try await two.values("SELECT title FROM OfflineProject ORDER BY title") == ["Barn", "House"])
  }

  @Test("A cycle of references is restored from the record that was deleted")
  func cycle() async throws {
    let (annex, wing) = try await one.write { db in
      let annex = try db.insert(Location(projectId: 1, title: "annex"))
      let wing = try db.insert(Location(projectId: 1, parentLocationId: annex.locationId, title: "wing"))
      _ = try db.execute(
        "UPDATE OfflineLocation SET parentLocationId = \(wing.locationId) WHERE locationId = \(annex.locationId)")
      return (annex.uuid, wing.uuid)
    }
    try await one.sync()
    try await one.delete("Location", annex)
    try await one.sync()
    try await two.sync()
    // Rows that reference each other are purged together.
    #expect(try await two.values("SELECT title FROM OfflineLocation WHERE isDeleted = 1") == [])
    try await expectRefusal(
      .refused, remedy: .restoreParent(entity: "Location", uuid: annex.sqlText), undeleting: "Location", wing, on: two)
    _ = try await two.undelete("Location", annex)
    try await two.sync()
    try await expectAgreement()
    #expect(
      try await one.values("SELECT title FROM OfflineLocation WHERE isDeleted = 0 ORDER BY title") == ["annex", "wing"])
  }

  // MARK: Refusals

  /// Expects that a restoration fails and changes nothing.
  private func expectRefusal(
    _ code: VaultError.Code, _ text: String = "", remedy: Remedy? = nil, undeleting kind: String, _ uuids: UUID...,
    on device: Device? = nil,
    _ place: SourceLocation = #_sourceLocation
  ) async throws {
    let device = device ?? one
    let before = try await device.everything()
    do {
      _ = try await device.worker.undelete(try device.vault.entities.entity(kind), uuids)
      Issue.record("nothing was refused", sourceLocation: place)
    } catch let error as VaultError {
      #expect(error.code == code && (text.isEmpty || error.message.contains(text)), "\(error)", sourceLocation: place)
      if let remedy { #expect(error.remedy == remedy, sourceLocation: place) }
    }
    #expect(try await device.everything() == before, sourceLocation: place)
  }

  @Test("Restoring a record whose parent is deleted is refused, and the error names the parent")
  func deletedParent() async throws {
    let kitchen = try await room("Kitchen")
    try await lose()
    try await expectRefusal(
      .refused, remedy: .restoreParent(entity: "Project", uuid: project.sqlText), undeleting: "Room", kitchen)
    // Restoring the parent also restores the room.
    _ = try await one.undelete("Project", project)
    try await expectAgreement()
  }

  @Test("Restoring a record that the server lacks is refused, together with all records named with it")
  func forgotten() async throws {
    try await lose()
    try await expectRefusal(
      .noSuchRecord, "neither this vault nor its server", undeleting: "Project", project, UUID.version7())
    try await server.forgetDeletions()
    try await expectRefusal(.noSuchRecord, project.sqlText, undeleting: "Project", project)
    try await expectAgreement()
  }

  @Test("A restoration requires a sync first if the server was restored or the vault has never synced")
  func otherHistory() async throws {
    try await lose()
    let backup = try await server.backUp()
    try await server.restore(backup)
    try await expectRefusal(.refused, remedy: .syncFirst, undeleting: "Project", project)
    try await one.sync()
    _ = try await one.undelete("Project", project)
    try await expectAgreement()
    #expect(try await two.values("SELECT title FROM OfflineProject ORDER BY title") == ["Barn", "House"])

    let new = try await Device("cleo", at: server)
    try await expectRefusal(.refused, "has not synced", undeleting: "Project", UUID.version7(), on: new)
  }

  @Test("Nothing is restored without the server, with a refused token or in device-only mode")
  func unreachable() async throws {
    try await lose()
    let before = try await one.everything()
    let stranger = try Device.worker(one.vault, url: server.server.url, token: "fv_wrong")
    let entity = try one.vault.entities.entity("Project")
    for (worker, responseClass) in [(stranger, ResponseClass.pauseCredentials), (one.worker, .unreachable)] {
      if responseClass == .unreachable { await server.server.stop() }
      let failure = await #expect(throws: RemoteFailure.self) { try await worker.undelete(entity, [project]) }
      #expect(failure?.responseClass == responseClass)
    }
    #expect(try await one.everything() == before)
    try one.set(.mode, "device")
    await #expect(throws: SyncRefused.deviceOnly) { try await one.worker.undelete(entity, [project]) }
  }

  // MARK: Projects

  @Test("Restoring a record of a project that the device does not follow is refused")
  func otherProject() async throws {
    let kitchen = try await room("Kitchen")
    try await one.delete("Room", kitchen)
    try await one.sync()
    try two.follow(other.sqlText)
    try await two.sync()
    try await expectRefusal(.refused, "does not follow", undeleting: "Room", kitchen, on: two)
    try two.follow("all")
    try await two.sync()
    _ = try await two.undelete("Room", kitchen)
    try await expectAgreement()
    #expect(try await one.values("SELECT title FROM OfflineRoom ORDER BY title") == ["Hall", "Kitchen"])
  }

  @Test(
    "A device that follows active projects restores active projects with dependents, and no others")
  func activeProjects() async throws {
    try await one.write { _ = try $0.execute("UPDATE OfflineProject SET status = 'completed' WHERE title = 'Barn'") }
    try await one.sync()
    try two.follow("active")
    try await two.sync()
    try await lose()
    try await one.delete("Project", other)
    try await one.sync()
    try await two.sync()
    try await expectRefusal(.refused, "not active", undeleting: "Project", other, on: two)
    _ = try await two.undelete("Project", project)
    try await two.sync()
    #expect(
      try await two.values("SELECT title FROM OfflineRoom WHERE isDeleted = 0 ORDER BY title") == ["Hall", "Kitchen"])
    for _ in 1...3 { try await two.sync() }
    #expect(
      try await two.values("SELECT title FROM OfflineRoom WHERE isDeleted = 0 ORDER BY title") == ["Hall", "Kitchen"])
    try await one.sync()
    #expect(
      try await one.values("SELECT title FROM OfflineRoom WHERE isDeleted = 0 ORDER BY title") == ["Hall", "Kitchen"])
  }

  // MARK: Other writers

  @Test("A newer version that waits in the inbox is merged into a restored record")
  func newerVersionInTheInbox() async throws {
    try await lose()
    let entity = try one.vault.entities.entity("Project")
    let info = try await one.worker.remote.account()
    let fetched = try await one.worker.remote.records(
      entityType: "Project", uuids: [project.sqlText], epoch: nil
    ).changes
    _ = try await two.undelete("Project", project)
    try await two.sync()
    try await two.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'Mansion' WHERE title = 'House'") }
    try await two.sync()
    let newer = try await one.worker.remote.records(
      entityType: "Project", uuids: [project.sqlText], epoch: nil
    ).changes[0]
    let (uuid, table) = (project, try #require(one.vault.syncCatalog.tables[entity.type]))
    // Between the request and the transaction, a round of another worker keeps the newer version in the inbox.
    try await one.vault.sync { transaction in
      try transaction.changes.keep(newer, "refused", waitsFor: nil, detail: "another record had its place")
      _ = try transaction.undelete(
        table, [uuid], from: FetchedRecords(account: info, records: fetched, parents: []))
    }
    try await expectAgreement()
    #expect(try await one.values("SELECT title FROM OfflineProject ORDER BY title") == ["Barn", "Mansion"])
  }
}

extension Device {
  func delete(_ kind: String, _ uuid: UUID) async throws {
    let (entities, entity) = (vault.entities, try vault.entities.entity(kind))
    _ = try await write { try RecordWriter($0, entities: entities).delete(entity, uuid) }
  }

  func undelete(_ kind: String, _ uuids: UUID...) async throws -> Restoration {
    try await worker.undelete(try vault.entities.entity(kind), uuids)
  }

  /// Returns all rows that sync and users write, as text.
  func everything() async throws -> [String] {
    try await vault.database.read { connection in
      let tables = try connection.fetch(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND (name LIKE 'Offline%' OR name LIKE 'Sync%') ORDER BY name",
        as: String.self)
      return try tables.flatMap { table in
        let columns = try connection.fetch("SELECT name FROM pragma_table_info(\(table))", as: String.self)
        let row = columns.map { "quote(\(SQL.quoted($0)))" }.joined(separator: " || ',' || ")
        return try connection.fetch(
          SQL(raw: "SELECT '\(table): ' || \(row) FROM \(SQL.quoted(table))"), as: String.self)
      }
    }
  }
}

extension LocalServer {
  /// Forgets all deletions, as the server does after its retention period.
  func forgetDeletions() async throws {
    try await restart(
      { _ in },
      while: {
        let data = try ServerFolder(folder.path + "/data", isCreating: false)
        let directory = try ServerDirectory(in: data)
        let accounts = try directory.accounts()
        let storage = try EmbeddedStorage(in: data, schemas: schemas, accounts: accounts)
        for account in accounts { try await storage.forget(account, before: .max) }
        storage.close()
        directory.close()
      })
  }
}
