import Foundation
import TestSupport
import Testing

/// Vaults and a server folder of earlier versions, opened, migrated and synced with this one.
@Suite(.serialized) struct EarlierVersionTests {
  private static let vaults = ["a.vault", "b.vault"]

  @Test("Every stored version is tested")
  func everyVersionIsTested() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: packagePath("Tests/Data"))
    let stored = folders.filter {
      FileManager.default.fileExists(atPath: packagePath("Tests/Data/\($0)/store.tar"))
    }
    #expect(stored.sorted() == EarlierVersion.all.map(\.name))
  }

  @Test(
    "The vaults of an earlier version keep operations, conflicts and records when they are migrated",
    arguments: EarlierVersion.all)
  func operationsSurviveTheMigration(version: EarlierVersion) throws {
    let work = try SyncWorkshop(version)
    #expect(try work.outbox() == version.outbox)
    let sealed = try work.selected(
      """
      SELECT entityType || ' ' || operationType FROM OfflineSyncQueue WHERE payload IS NOT NULL AND completedAt IS NULL
      ORDER BY 1
      """)
    #expect(sealed == ["Equipment create", "Room update"])
    #expect(try work.conflicts().keys.sorted() == version.conflicts.keys.sorted())
    #expect(try work.shop.done("status", "--json", vault: "a.vault").object()["kept"] as? Int == version.kept)
    let begun = try work.selected("SELECT photoId FROM OfflinePhoto WHERE tusUploadId IS NOT NULL")
    #expect(begun.count == version.begunUploads)
    #expect(try work.findings("a.vault") == version.findings)
    #expect(try work.findings("b.vault").isEmpty)
    // A killed process may have left the last write in the write-ahead log.
    #expect(try work.titles("Note", "b.vault") == ["Ben was here", "Roof"])
  }

  @Test(
    "A vault and a server folder of an earlier version sync: every operation takes effect once",
    arguments: EarlierVersion.all)
  func everyOperationTakesEffectOnce(version: EarlierVersion) throws {
    let work = try SyncWorkshop(version)
    for vault in Self.vaults + Self.vaults { try work.sync(vault) }

    #expect(try work.outbox() == version.undecided)
    #expect(try work.findings("a.vault") == version.findingsAfterSync)
    #expect(try work.findings("b.vault").isEmpty)
    for vault in Self.vaults {
      let rooms = try work.shop.done("list", "Room", "--json", vault: vault).rows()
      #expect(rooms.map { $0["title"] as? String } == ["Kitchen, wet"], "\(vault)")
      #expect(rooms.first?["level"] as? String == "ground floor" && rooms.first?["squareFootage"] as? Double == 130)
      #expect(try work.titles("Location", vault) == ["Main house, north"])
      #expect(try work.shop.done("list", "Equipment", "--json", vault: vault).rows().count == 1)
      #expect(try work.shop.done("list", "AtmosphericLog", "--json", vault: vault).rows().count == 6)
    }
    #expect(try work.titles("Note", "a.vault") == ["Ben was here", "Refused", "Roof"])
    let photos = try work.shop.done("attach", "list", "--json", vault: "a.vault").rows()
    #expect(photos.map { $0["uploadStatus"] as? String } == Array(repeating: "completed", count: version.photos))
    #expect(try work.shop.done("attach", "list", "--json", vault: "b.vault").rows().count == version.photos)
  }

  @Test(
    "Failed operations and conflicts of an earlier version can be settled, and a comparison then finds no difference",
    arguments: EarlierVersion.all)
  func failedAndConflictedAreSettled(version: EarlierVersion) throws {
    let work = try SyncWorkshop(version)
    try work.sync("a.vault")
    for (conflict, id) in try work.conflicts() {
      let side = try #require(version.conflicts[conflict])
      try work.shop.done("conflicts", "resolve", id, "--take", side, vault: "a.vault")
    }
    for (entity, change) in version.corrections {
      let uuid = try #require(try work.selected("SELECT uuid FROM Offline\(entity)").first)
      try work.shop.done("put", entity, "--uuid", uuid, change, vault: "a.vault")
    }
    try work.shop.done("queue", "retry", "--all", vault: "a.vault")
    for vault in Self.vaults { try work.sync(vault) }
    #expect(try work.outbox().isEmpty)
    for vault in Self.vaults {
      #expect(try work.titles("Project", vault) == version.projects)
      #expect(try work.titles("Note", vault) == ["Ben was here", "Refused", "Roof"])
      for entity in version.corrections.keys { #expect(try work.titles(entity, vault).count == 1) }
      #expect(try work.findings(vault).isEmpty)
    }

    // The first comparison takes over the times of records that version 0.1 stored with the clock of the device.
    for vault in Self.vaults { try work.sync(vault, "--full") }
    for vault in Self.vaults {
      try work.sync(vault, "--full")
      let rounds = try work.shop.done("history", "--json", "-n", "1", vault: vault).rows()
      #expect(rounds.first?["repaired"] as? Int == 0, "the comparison of \(vault) found a difference")
    }
  }

  @Test(
    "The server folder of an earlier version remembers the deletion of a record that it does not have",
    arguments: EarlierVersion.all.filter { $0.deletedNote != nil })
  func deletionIsRemembered(version: EarlierVersion) throws {
    let work = try SyncWorkshop(version)
    try work.sync("b.vault")
    let projects = try work.shop.done("list", "Project", "--json", vault: "b.vault").rows()
    let project = try #require(projects.first?["uuid"] as? String)
    let note = try #require(version.deletedNote)
    _ = try work.put("b.vault", "Note", "--uuid", note, "projectId=\(project)", "title=Cellar", "body=Dry")
    try work.sync("b.vault")
    let conflicts = try work.shop.done("conflicts", "list", "--json", vault: "b.vault").rows()
    #expect(conflicts.map { $0["conflictType"] as? String } == ["deleted_remotely"])
  }
}
