import CSQLCipher
import Foundation
import RestorationModel
import StoreSupport
import SyncModel
import Testing
import VaultStore

@testable import CipherSQL
@testable import Outbox

/// Versions that wait for a record are applied in short transactions.
@Suite struct BoundedInboxTests {
  private static func uuid(_ number: Int) -> String { String(format: "00000000-0000-7000-8000-%012d", number) }

  private static func remote(_ type: String, _ number: Int, _ fields: SyncObject) -> RemoteRecord {
    RemoteRecord(
      entityType: type, entityUuid: uuid(number), serverId: .integer(Int64(number)), createdAt: 0,
      state: RecordState(fields: fields, syncVersion: 1, updatedAt: 1))
  }

  private static func location(_ number: Int, in project: Int, under parent: Int? = nil) -> RemoteRecord {
    remote(
      "Location", number,
      [
        "projectId": .text(uuid(project)), "title": "place",
        "parentLocationId": parent.map { .text(uuid($0)) } ?? .null,
      ])
  }

  @Test("A record that 1,300 others wait for lets in at most 500 of them in one transaction, and all in the end")
  func admission() throws {
    let (database, entities) = try restorationDatabase()
    let catalog = SyncCatalog(entities)
    func sync<Result>(_ body: (SyncTransaction) throws -> Result) throws -> Result {
      try database.write { try SyncTransaction.run(on: $0, catalog, now: Clock.system.now(), body) }
    }
    func stored() throws -> Int {
      try database.read { try $0.fetchOne("SELECT count(*) FROM OfflineLocation", as: Int.self) } ?? 0
    }
    var counts = ApplyCounts()
    // A third of them wait for one of the others besides.
    let locations = (2...1301).map { Self.location($0, in: 1, under: $0 % 3 == 0 ? $0 - 1 : nil) }
    try sync { try $0.changes.apply(locations.reversed(), counts: &counts) }
    #expect(try stored() == 0)
    let project = Self.remote("Project", 1, ["title": "House"])
    var arrived = try sync { transaction in
      try transaction.changes.apply([project], counts: &counts)
      return transaction.changes.arrived
    }
    var transactions = 1
    var last = try stored()
    #expect(last > 0 && last <= 500)
    while !arrived.isEmpty {
      let uuids = arrived
      arrived = try sync { transaction in
        try transaction.changes.admit(arrived: uuids, counts: &counts)
        return transaction.changes.arrived
      }
      let now = try stored()
      #expect(now - last <= 500)
      last = now
      transactions += 1
      try #require(transactions < 20)
    }
    #expect(last == 1300)
    #expect(try database.read { try $0.fetchOne("SELECT count(*) FROM SyncInbox", as: Int.self) } == 0)
  }

  @Test("The parents of a page are named once, without those that are here or in the page")
  func missingParents() throws {
    let (database, entities) = try restorationDatabase()
    let catalog = SyncCatalog(entities)
    var counts = ApplyCounts()
    try database.write { db in
      try SyncTransaction.run(on: db, catalog, now: Clock.system.now()) {
        try $0.changes.apply([Self.remote("Project", 1, ["title": "House"])], counts: &counts)
      }
    }
    let page = [
      Self.location(10, in: 1), Self.location(11, in: 2), Self.location(12, in: 2, under: 11),
      Self.location(13, in: 2, under: 14),
    ]
    let missing = try database.read { try MissingParents(catalog: catalog, connection: $0).of(page) }
    #expect(
      Set(missing.map { "\($0.entityType) \($0.uuid)" }) == ["Project \(Self.uuid(2))", "Location \(Self.uuid(14))"])
    #expect(missing.count == 2)
    try database.write { db in
      try SyncTransaction.run(on: db, catalog, now: Clock.system.now()) { try $0.changes.apply(page, counts: &counts) }
    }
    let kept = try database.read { try MissingParents(catalog: catalog, connection: $0).ofInbox(after: "", limit: 10) }
    #expect(kept.map(\.uuid) == [2, 11, 14].map(Self.uuid))
  }

  @Test("Whether a batch is still the next one takes the same work among 30 and among 3,000 waiting operations")
  func isStillNextIsFlat() throws {
    func work(_ waiting: Int, _ order: BatchOrder) throws -> Int {
      let (database, entities) = try restorationDatabase()
      let catalog = SyncCatalog(entities)
      return try database.write { db in
        let project = try db.insert(Project(title: "House"))
        for number in 0..<waiting { try db.insert(Room(projectId: project.projectId, title: "Room \(number)")) }
        return try SyncTransaction.run(on: db, catalog, now: Clock.system.now()) { transaction in
          let batch = try transaction.nextBatch(limit: 10, order: order)
          #expect(batch.operations.count == 10)
          var isNext = false
          let steps = try db.countingSteps { isNext = try transaction.isStillNext(batch) }
          #expect(isNext)
          return steps
        }
      }
    }
    for order in [BatchOrder.priority, .age] {
      let (few, many) = (try work(30, order), try work(3_000, order))
      #expect(many <= few + few / 10, "\(order): \(few) and \(many) steps")
    }
  }
}

extension Connection {
  /// Returns how many steps SQLite's virtual machine takes for a body.
  fileprivate func countingSteps(_ body: () throws -> Void) throws -> Int {
    var steps = 0
    try withUnsafeMutablePointer(to: &steps) { pointer in
      sqlite3_progress_handler(
        handle, 1,
        { context in
          context?.assumingMemoryBound(to: Int.self).pointee += 1
          return 0
        }, pointer)
      defer { sqlite3_progress_handler(handle, 0, nil, nil) }
      try body()
    }
    return steps
  }
}
