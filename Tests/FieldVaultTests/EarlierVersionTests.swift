import Foundation
import Testing

/// Vaults and a server folder of earlier versions, opened, migrated and synced with this one.
@Suite(.serialized) struct EarlierVersionTests {
  private static let versions = ["0.1"]

  @Test("A vault of an earlier version keeps its operations and its conflict when it is migrated", arguments: versions)
  func operationsSurviveTheMigration(version: String) throws {
    let work = try SyncWorkshop(version: version)
    let outbox = try work.shop.done("queue", "list", "--json", vault: "a.vault").rows()
    let waiting = outbox.map { "\($0["entityType"] ?? "") \($0["operationType"] ?? "") \($0["status"] ?? "")" }
    #expect(
      waiting.sorted() == [
        "Equipment create pending", "Location update pending", "Note create failed", "Photo create pending",
        "Project update conflict", "Room delete pending", "Room update pending", "Room update pending",
      ])
    let conflicts = try work.shop.done("conflicts", "list", "--json", vault: "a.vault").rows()
    #expect(conflicts.map { $0["conflictType"] as? String } == ["concurrent_edit"])
    try work.shop.done("doctor", vault: "a.vault")
    try work.shop.done("doctor", vault: "b.vault")
  }

  @Test(
    "A vault and a server folder of an earlier version sync: every operation takes effect once", arguments: versions)
  func everyOperationTakesEffectOnce(version: String) throws {
    let work = try SyncWorkshop(version: version)
    for vault in ["a.vault", "b.vault", "a.vault", "b.vault"] { try work.sync(vault) }

    let left = try work.shop.done("queue", "list", "--json", vault: "a.vault").rows()
    #expect(left.map { $0["status"] as? String }.sorted { $0 ?? "" < $1 ?? "" } == ["conflict", "failed"])
    for vault in ["a.vault", "b.vault"] {
      let rooms = try work.shop.done("list", "Room", "--json", vault: vault).rows()
      #expect(rooms.map { $0["title"] as? String } == ["Kitchen, wet"], "\(vault)")
      #expect(rooms.first?["level"] as? String == "ground floor" && rooms.first?["squareFootage"] as? Double == 130)
      let locations = try work.shop.done("list", "Location", "--json", vault: vault).rows()
      #expect(locations.map { $0["title"] as? String } == ["Main house, north"])
      #expect(try work.shop.done("list", "Equipment", "--json", vault: vault).rows().count == 1)
      #expect(try work.shop.done("list", "AtmosphericLog", "--json", vault: vault).rows().count == 6)
      try work.shop.done("doctor", vault: vault)
    }
    let notes = try work.shop.done("list", "Note", "--json", vault: "a.vault").rows().map {
      $0["title"] as? String ?? ""
    }
    #expect(notes.sorted() == ["Ben was here", "Refused", "Roof"])
    let photos = try work.shop.done("attach", "list", "--json", vault: "b.vault").rows()
    #expect(photos.count == 2)
  }

  @Test(
    "A failed operation and a conflict of an earlier version can be settled, and a comparison then finds no difference",
    arguments: versions)
  func failedAndConflictedAreSettled(version: String) throws {
    let work = try SyncWorkshop(version: version)
    try work.sync("a.vault")
    let conflicts = try work.shop.done("conflicts", "list", "--json", vault: "a.vault").rows()
    let conflict = try #require(conflicts.first?["conflictId"] as? String)
    try work.shop.done("conflicts", "resolve", conflict, "--take", "local", vault: "a.vault")
    try work.shop.done("queue", "retry", "--all", vault: "a.vault")
    try work.sync("a.vault")
    try work.sync("b.vault")
    #expect(try work.shop.done("queue", "list", "--json", vault: "a.vault").rows().isEmpty)
    let projects = try work.shop.done("list", "Project", "--json", vault: "b.vault").rows()
    #expect(projects.map { $0["title"] as? String } == ["Flooded house (Ada)"])
    #expect(try work.shop.done("list", "Note", "--json", vault: "b.vault").rows().count == 3)

    // The first comparison takes over the times of records that version 0.1 stored with the clock of the device.
    for vault in ["a.vault", "b.vault"] { try work.sync(vault, "--full") }
    for vault in ["a.vault", "b.vault"] {
      try work.sync(vault, "--full")
      let rounds = try work.shop.done("history", "--json", "-n", "1", vault: vault).rows()
      #expect(rounds.first?["repaired"] as? Int == 0, "the comparison of \(vault) found a difference")
    }
  }
}
