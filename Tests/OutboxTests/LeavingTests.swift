import CipherSQL
import Foundation
import StoreSupport
import SyncModel
import TestSupport
import Testing
import VaultStore

@testable import Outbox

/// Records of projects that the user has lost.
@Suite struct LeavingTests {
  private let vault: LeavingDatabase

  init() throws { vault = try LeavingDatabase() }

  private static let (house, barn) = (LeavingDatabase.uuid(1), LeavingDatabase.uuid(2))

  private static func version(_ type: String, _ number: Int, _ fields: SyncObject) -> RemoteRecord {
    ValueReferenceTests.version(1, of: type, LeavingDatabase.uuid(number), fields)
  }

  private static func area(_ number: Int, _ title: String, in project: String, under parent: Int? = nil) -> RemoteRecord
  {
    version(
      "Area", number,
      [
        "title": .text(title), "projectId": .text(project),
        "parentId": parent.map { .text(LeavingDatabase.uuid($0)) } ?? .null,
      ])
  }

  private static func item(_ number: Int, _ title: String, in area: Int, twin: Int? = nil) -> RemoteRecord {
    version(
      "Item", number,
      [
        "title": .text(title), "areaId": .text(LeavingDatabase.uuid(area)),
        "twinId": twin.map { .text(LeavingDatabase.uuid($0)) } ?? .null,
      ])
  }

  /// Two projects with an area and an item each.
  private func fill() throws {
    try vault.apply([
      Self.version("Project", 1, ["title": "House"]), Self.version("Project", 2, ["title": "Barn"]),
      Self.area(11, "Cellar", in: Self.house), Self.area(12, "Loft", in: Self.barn),
      Self.item(21, "Pump", in: 11), Self.item(22, "Beam", in: 12),
    ])
  }

  private func lost() throws -> [String] { try vault.values("SELECT entityUuid FROM SyncLostProject") }

  private func titles(_ type: String) throws -> [String] {
    try vault.values("SELECT title FROM \(identifier: "Offline" + type) ORDER BY title")
  }

  @Test("The clean records of a lost project leave, and those of other projects stay")
  func clean() throws {
    try fill()
    try vault.announce([Self.house])
    let result = try vault.leave()
    #expect(result?.removed == 3 && result?.kept == [])
    #expect(try titles("Project") == ["Barn"])
    #expect(try titles("Area") == ["Loft"])
    #expect(try titles("Item") == ["Beam"])
    #expect(try lost() == [])
    try vault.expectIntegrity()
  }

  @Test("Repeated announcements and those of unknown projects change nothing")
  func repeated() throws {
    try fill()
    for _ in 1...2 {
      try vault.announce([Self.house, LeavingDatabase.uuid(99)])
      try vault.announce([Self.house])
      try vault.leave()
      #expect(try lost() == [])
      #expect(try vault.count("OfflineProject") == 1)
    }
    try vault.expectIntegrity()
  }

  @Test("A record with an unsent change stays with the records that it references, until the change is discarded")
  func unsent() throws {
    try fill()
    try vault.apply([Self.item(23, "Stove", in: 11)])
    try vault.write("UPDATE OfflineItem SET title = 'Wet pump' WHERE title = 'Pump'")
    try vault.announce([Self.house])
    let result = try #require(try vault.leave())
    #expect(result.removed == 1)
    #expect(
      result.kept == [
        KeptRecords(entityType: "Area", reason: .referenced, count: 1),
        KeptRecords(entityType: "Item", reason: .unsentChange, count: 1),
        KeptRecords(entityType: "Project", reason: .referenced, count: 1),
      ])
    #expect(try titles("Item") == ["Beam", "Wet pump"])
    #expect(try lost() == [Self.house])
    let ids = try vault.values("SELECT operationId FROM OfflineSyncQueue WHERE completedAt IS NULL")
    try vault.sync { _ = try $0.discard(ids) }
    #expect(try vault.leave()?.removed == 3)
    #expect(try titles("Project") == ["Barn"])
    #expect(try lost() == [])
    try vault.expectIntegrity()
  }

  @Test("An operation on a record of a lost project fails at once, and a retry sends it under a new key")
  func failed() throws {
    try fill()
    try vault.write("UPDATE OfflineItem SET title = 'Wet ' || title")
    let sent = try vault.sync { try $0.nextBatch(limit: 25).operations }
    try #require(sent.count == 2)
    // The announcement arrives while the operation is in flight.
    try vault.announce([Self.house])
    #expect(try vault.leave()?.removed == 0)
    let problem = ServerProblem(type: ServerProblem.notMember, title: "Not a member", status: 403, detail: "no")
    let counts = try vault.sync { transaction in
      var counts = PushCounts()
      for operation in sent {
        let isLost = operation.entityUuid == LeavingDatabase.uuid(21)
        try transaction.acknowledge(
          isLost ? .rejected(problem) : .accepted(version: 2, serverId: .integer(22)), of: operation, jitter: 0,
          counts: &counts)
      }
      return counts
    }
    #expect(counts.failed == 1 && counts.pushed == 1 && counts.delayed == 0)
    let reason = try #require(
      try vault.values("SELECT errorMessage FROM OfflineSyncQueue WHERE status = 'failed' AND errorStatus = 403").first)
    #expect(reason.contains("not a member") && reason.contains("retry") && reason.contains("discard"))
    #expect(try vault.leave()?.removed == 0)
    let failed = try vault.values("SELECT operationId FROM OfflineSyncQueue WHERE status = 'failed'")
    try vault.sync { try $0.retry(try #require(failed.first)) }
    let again = try #require(try vault.sync { try $0.nextBatch(limit: 25).operations }.first)
    #expect(again.entityUuid == LeavingDatabase.uuid(21) && again.patch.fields.text("title") == "Wet Pump")
    #expect(again.idempotencyKey != sent.first { $0.entityUuid == again.entityUuid }?.idempotencyKey)
    try vault.expectIntegrity()
  }

  @Test(
    "Operations on records that reference a record whose creation was refused wait, and all of them leave once they are discarded"
  )
  func dependents() throws {
    try fill()
    try vault.write("INSERT INTO OfflineArea (uuid, title, projectId) VALUES (\(LeavingDatabase.uuid(13)), 'Attic', 1)")
    try vault.write(
      "INSERT INTO OfflineItem (uuid, title, areaId) SELECT \(LeavingDatabase.uuid(24)), 'Tank', areaId FROM OfflineArea WHERE title = 'Attic'"
    )
    try vault.write("UPDATE OfflineItem SET title = 'Oak beam' WHERE title = 'Beam'")
    try vault.announce([Self.house])
    let sent = try vault.sync { try $0.nextBatch(limit: 25).operations }
    let problem = ServerProblem(type: ServerProblem.notMember, title: "", status: 403, detail: "")
    try vault.sync { transaction in
      var counts = PushCounts()
      var refused: String?
      for operation in sent {
        let outcome: PushResult.Outcome
        if operation.entityType == "Area" {
          (outcome, refused) = (.rejected(problem), operation.operationId)
        } else if operation.entityUuid == LeavingDatabase.uuid(24), let refused {
          outcome = .waiting(for: refused)
        } else {
          outcome = .accepted(version: 2, serverId: .integer(22))
        }
        try transaction.acknowledge(outcome, of: operation, jitter: 0, counts: &counts)
      }
    }
    #expect(try vault.sync { try $0.nextBatch(limit: 25).operations }.map(\.entityUuid) == [])
    #expect(
      try vault.values("SELECT entityType || status FROM OfflineSyncQueue WHERE completedAt IS NULL ORDER BY 1") == [
        "Areafailed", "Itempending",
      ])
    let waiting = try vault.values(
      "SELECT operationId FROM OfflineSyncQueue WHERE completedAt IS NULL ORDER BY queueNumber DESC")
    try vault.sync { _ = try $0.discard(waiting) }
    try vault.leave()
    #expect(try titles("Project") == ["Barn"])
    #expect(try titles("Item") == ["Oak beam"])
    #expect(try titles("Area") == ["Loft"])
    try vault.expectIntegrity()
  }

  @Test(
    "An unsent change of a reference moves no dependents: they leave or stay with the project that the server knows")
  func moved() throws {
    try fill()
    try vault.write("UPDATE OfflineArea SET projectId = 3 - projectId")
    try vault.announce([Self.house])
    let result = try #require(try vault.leave())
    #expect(result.removed == 1)
    #expect(
      result.kept == [
        KeptRecords(entityType: "Area", reason: .unsentChange, count: 1),
        KeptRecords(entityType: "Project", reason: .referenced, count: 1),
      ])
    #expect(try titles("Item") == ["Beam"])
    #expect(try titles("Area") == ["Cellar", "Loft"])
    try vault.expectIntegrity()
  }

  @Test("A record that changes after the plan was read stays, with the records that its row and its base reference")
  func changedSince() throws {
    try fill()
    try vault.apply([Self.item(23, "Stove", in: 11, twin: 21), Self.item(24, "Lamp", in: 11)])
    try vault.announce([Self.house])
    let plan = try vault.plan()
    try #require(plan.records.count == 5)
    try vault.write("UPDATE OfflineItem SET twinId = NULL WHERE title = 'Stove'")
    #expect(try vault.sync { try $0.leave(plan.records, .lost, since: plan.lastOperation) } == 1)
    #expect(try titles("Item") == ["Beam", "Pump", "Stove"])
    let ids = try vault.values("SELECT operationId FROM OfflineSyncQueue WHERE completedAt IS NULL")
    try vault.sync { _ = try $0.discard(ids) }
    #expect(try vault.leave()?.removed == 4)
    try vault.expectIntegrity()
  }

  @Test("A record in conflict stays, and leaves once the user takes the server's version")
  func conflict() throws {
    try fill()
    try vault.write("UPDATE OfflineItem SET title = 'Wet pump' WHERE title = 'Pump'")
    try vault.apply([
      ValueReferenceTests.version(
        2, of: "Item", LeavingDatabase.uuid(21),
        ["title": "New pump", "areaId": .text(LeavingDatabase.uuid(11)), "twinId": .null])
    ])
    try vault.announce([Self.house])
    let result = try #require(try vault.leave())
    #expect(result.removed == 0)
    #expect(result.kept.contains(KeptRecords(entityType: "Item", reason: .conflict, count: 1)))
    let id = try #require(
      try vault.values("SELECT operationId FROM OfflineSyncQueue WHERE status = 'conflict'").first)
    try vault.sync { _ = try $0.discard([id]) }
    #expect(try vault.leave()?.removed == 3)
    // The history of the record has its values.
    #expect(try vault.count("OfflineConflictResolution") == 0)
    try vault.expectIntegrity()
  }

  @Test("A project that the user regains before its records have left stays")
  func regained() throws {
    try fill()
    try vault.announce([Self.house, Self.barn])
    try vault.announce([], [Self.version("Project", 1, ["title": "House"])])
    try vault.leave()
    #expect(try titles("Project") == ["House"])
    #expect(try titles("Item") == ["Pump"])
  }

  @Test(
    "A comparison names the members: other projects of the server leave, unsent projects and those of a new epoch stay")
  func members() throws {
    try fill()
    try vault.write("INSERT INTO OfflineProject (uuid, title) VALUES (\(LeavingDatabase.uuid(3)), 'New')")
    #expect(try vault.sync { try $0.noteMemberProjects([Self.barn], isNewEpoch: true) } == [])
    #expect(try vault.sync { try $0.noteMemberProjects([Self.barn], isNewEpoch: false) } == [Self.house])
    #expect(try vault.sync { try $0.noteMemberProjects([Self.barn, Self.house], isNewEpoch: false) } == [])
    #expect(try vault.sync { try $0.noteMemberProjects([], isNewEpoch: false) } == [Self.house, Self.barn])
    #expect(try vault.sync { try $0.noteMemberProjects(nil, isNewEpoch: false) } == [])
    #expect(try vault.sync { try $0.noteMemberProjects([Self.barn], isNewEpoch: false) } == [Self.house])
    try vault.leave()
    #expect(try titles("Project") == ["Barn", "New"])
    #expect(try titles("Area") == ["Loft"])
  }

  @Test(
    "Records that stay in a lost project are in no digest of a comparison, also below a record that an unsent change moves"
  )
  func digests() throws {
    try fill()
    try vault.write("UPDATE OfflineArea SET projectId = 2 WHERE title = 'Cellar'")
    try vault.write("UPDATE OfflineItem SET title = 'Wet pump' WHERE title = 'Pump'")
    func digested(without excluded: [String]) throws -> [String] {
      try vault.database.read { connection in
        let digests = try StoreDigests(catalog: vault.catalog, connection: connection, without: excluded)
        return try vault.catalog.parentsFirst.flatMap { table in
          try digests.records(of: table, in: Set((0...255).map { String(format: "%02x", $0) })).map(\.entityUuid)
        }
      }
    }
    #expect(try digested(without: []).count == 6)
    try #expect(Set(digested(without: [Self.house])) == Set([2, 12, 22].map(LeavingDatabase.uuid)))
  }

  @Test("A followed project that the user has lost stays in the scope, and is named until it returns")
  func followed() throws {
    try fill()
    try vault.sync { try $0.follow([Self.house]) }
    try vault.announce([Self.house, LeavingDatabase.uuid(99)])
    #expect(try vault.plan().followed == [Self.house])
    try vault.leave()
    #expect(try lost() == [Self.house])
    #expect(try vault.values("SELECT entityUuid FROM SyncScope") == [Self.house])
    #expect(try vault.plan().followed == [Self.house])
    try vault.announce([], [Self.version("Project", 1, ["title": "House"])])
    #expect(try lost() == [])
  }

  @Test("Versions of a lost project that wait in the inbox leave, and others stay")
  func inbox() throws {
    try fill()
    let missing = LeavingDatabase.uuid(77)
    func note(_ number: Int, in project: String) -> RemoteRecord {
      Self.version("Note", number, ["projectId": .text(project), "itemId": .text(missing), "title": "Leak"])
    }
    try vault.apply([note(31, in: Self.house), note(32, in: Self.barn), Self.item(25, "Lamp", in: 88)])
    try #require(try vault.count("SyncInbox") == 3)
    try vault.announce([Self.house])
    try vault.leave()
    try #expect(Set(vault.values("SELECT entityUuid FROM SyncInbox")) == Set([25, 32].map(LeavingDatabase.uuid)))
  }

  @Test("Trees and cycles leave, and a record of another project keeps what it references")
  func cycles() throws {
    try fill()
    try vault.apply([
      Self.area(14, "Hall", in: Self.house, under: 11), Self.area(10, "Nook", in: Self.house, under: 14),
      Self.item(26, "One", in: 10), Self.item(27, "Two", in: 10, twin: 26),
      Self.item(28, "Door", in: 14), Self.item(29, "Frame", in: 12, twin: 28),
    ])
    try vault.apply([
      ValueReferenceTests.version(
        2, of: "Item", LeavingDatabase.uuid(26),
        ["title": "One", "areaId": .text(LeavingDatabase.uuid(10)), "twinId": .text(LeavingDatabase.uuid(27))])
    ])
    try vault.announce([Self.house])
    let result = try #require(try vault.leave(limit: 2))
    #expect(try titles("Item") == ["Beam", "Door", "Frame"])
    #expect(try titles("Area") == ["Cellar", "Hall", "Loft"])
    #expect(result.removed == 4 && result.kept.allSatisfy { $0.reason == .referenced })
    try vault.expectIntegrity()
  }
}
