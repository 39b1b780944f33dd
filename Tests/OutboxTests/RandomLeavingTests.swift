import CipherSQL
import StoreSupport
import SyncModel
import TestSupport
import Testing
import VaultStore

@testable import Outbox

/// Random trees of records, edited at random, of which some projects leave.
@Suite struct RandomLeavingTests {
  /// A record of the server.
  private struct Row {
    let type: String
    let uuid: String
    var fields: SyncObject
  }

  /// The references of each entity that lead to its project, in the order of its columns. Kept apart from the code under test.
  private static let ways: [String: [(column: String, parent: String)]] = [
    "Area": [("parentId", "Area"), ("projectId", "Project")], "Item": [("areaId", "Area"), ("twinId", "Item")],
    "Note": [("projectId", "Project"), ("itemId", "Item")],
  ]
  /// The references that decide about the project. Others may leave it.
  private static let ties: [String: Set<String>] = [
    "Area": ["parentId", "projectId"], "Item": ["areaId"], "Note": ["projectId"],
  ]

  private var random: Seeded
  private let vault: LeavingDatabase
  private var server: [String: Row] = [:]
  private var next = 100

  init() throws { try self.init(Seeded(of: "RandomLeavingTests")) }

  private init(_ random: Seeded) throws {
    self.random = random
    vault = try LeavingDatabase()
  }

  private mutating func uuid() -> String {
    next += 1
    return LeavingDatabase.uuid(next)
  }

  /// Fills the server and the device with records of three projects.
  private mutating func fill() throws {
    var rows: [Row] = []
    func uuids(_ type: String) -> [String] { rows.filter { $0.type == type }.map(\.uuid) }
    func value(_ uuid: String?) -> SyncValue { uuid.map { .text($0) } ?? .null }
    for _ in 1...3 { rows.append(Row(type: "Project", uuid: uuid(), fields: ["title": "p"])) }
    for _ in 0..<random.number(1..<12) {
      let parent = random.chance(0.5) ? uuids("Area").randomElement(using: &random) : nil
      rows.append(
        Row(
          type: "Area", uuid: uuid(),
          fields: [
            "title": "a", "parentId": value(parent), "projectId": value(uuids("Project").randomElement(using: &random)),
          ]))
    }
    for _ in 0..<random.number(1..<20) {
      rows.append(
        Row(
          type: "Item", uuid: uuid(),
          fields: ["title": "i", "areaId": value(uuids("Area").randomElement(using: &random)), "twinId": .null]))
    }
    for index in rows.indices where rows[index].type == "Item" && random.chance(0.3) {
      rows[index].fields["twinId"] = value(uuids("Item").randomElement(using: &random))
    }
    for _ in 0..<random.number(1..<12) {
      rows.append(
        Row(
          type: "Note", uuid: uuid(),
          fields: [
            "title": "n",
            "projectId": random.chance(0.7) ? value(uuids("Project").randomElement(using: &random)) : .null,
            "itemId": random.chance(0.6) ? value(uuids("Item").randomElement(using: &random)) : .null,
          ]))
    }
    server = Dictionary(uniqueKeysWithValues: rows.map { ($0.uuid, $0) })
    try vault.apply(rows.map { ValueReferenceTests.version(1, of: $0.type, $0.uuid, $0.fields) })
    try #require(try vault.count("SyncInbox") == 0)
  }

  /// Changes records as a user does. Some edits are refused, for example because a record is referenced.
  private mutating func edit(_ count: Int) throws {
    for _ in 0..<count {
      let type = random.pick(["Project", "Area", "Item", "Note"])
      let table = SQL(raw: "Offline\(type)")
      let id = SQL(raw: "(SELECT rowid FROM Offline\(type) ORDER BY uuid LIMIT 1 OFFSET \(random.number(0..<12)))")
      func any(_ type: String) -> SQL {
        SQL(
          raw:
            "(SELECT rowid FROM Offline\(type) WHERE isDeleted = 0 ORDER BY uuid LIMIT 1 OFFSET \(random.number(0..<(type == "Project" ? 3 : 6))))"
        )
      }
      let statement: SQL
      switch random.number(0..<8) {
      case 0: statement = "DELETE FROM \(table) WHERE rowid = \(id)"
      case 1: statement = "UPDATE OfflineArea SET projectId = \(any("Project")) WHERE areaId = \(any("Area"))"
      case 2: statement = "UPDATE OfflineItem SET areaId = \(any("Area")) WHERE itemId = \(any("Item"))"
      case 3: statement = "UPDATE OfflineItem SET twinId = \(any("Item")) WHERE itemId = \(any("Item"))"
      case 4:
        statement =
          "UPDATE OfflineNote SET projectId = \(any("Project")), itemId = \(any("Item")) WHERE noteId = \(any("Note"))"
      case 5:
        statement =
          "INSERT INTO OfflineItem (uuid, title, areaId, twinId) VALUES (\(uuid()), 'new', \(any("Area")), \(any("Item")))"
      default: statement = "UPDATE \(table) SET title = title || '!' WHERE rowid = \(id)"
      }
      do { try vault.write(statement) } catch let error as SQLError where error.code == .constraint {}
    }
  }

  /// Another device changes records, some of which are edited here. Edits on both sides are conflicts.
  private mutating func editElsewhere(_ count: Int) throws {
    for _ in 0..<count {
      guard let uuid = server.keys.sorted().randomElement(using: &random), var row = server[uuid] else { continue }
      row.fields["title"] = "elsewhere"
      server[uuid] = row
      try vault.apply([ValueReferenceTests.version(2, of: row.type, uuid, row.fields)])
    }
  }

  // MARK: The model

  /// Returns the project of a record of the server, or of one that only this device has.
  private func project(of uuid: String, _ unsent: [String: Row], _ seen: Set<String> = []) -> String? {
    guard let row = server[uuid] ?? unsent[uuid], !seen.contains(uuid) else { return nil }
    if row.type == "Project" { return uuid }
    for (column, _) in Self.ways[row.type] ?? [] where Self.ties[row.type]?.contains(column) == true {
      if let parent = row.fields.text(column), let project = project(of: parent, unsent, seen.union([uuid])) {
        return project
      }
    }
    return nil
  }

  /// The records of the device with the UUIDs that they reference, by their rows, their bases and their open conflicts.
  private func references() throws -> [String: Set<String>] {
    var references: [String: Set<String>] = [:]
    try vault.database.read { connection in
      for (type, ways) in Self.ways.merging(["Project": []], uniquingKeysWith: { first, _ in first }) {
        guard let table = vault.catalog.tables[type] else { continue }
        try table.forEach(where: "1", in: connection) { record in
          var fields = [record.state.fields]
          if let base = try BaseTable.find(type, record.key, in: connection) { fields.append(base.fields) }
          if let remote = try OpenConflict.find(of: record, type, in: connection)?.remote {
            fields.append(remote.fields)
          }
          references[record.uuid] = Set(fields.flatMap { fields in ways.compactMap { fields.text($0.column) } })
        }
      }
    }
    return references
  }

  /// The records that stay: those outside of the lost projects, those with unfinished operations, and all that these reference.
  private func staying(besides lost: Set<String>) throws -> Set<String> {
    let references = try references()
    let unfinished = Set(try vault.values("SELECT entityUuid FROM OfflineSyncQueue WHERE completedAt IS NULL"))
    let unsent = try unsentItems()
    var open = references.keys.filter { uuid in
      unfinished.contains(uuid) || project(of: uuid, unsent).map(lost.contains) != true
    }
    var staying = Set(open)
    while let uuid = open.popLast() {
      for parent in references[uuid] ?? [] where staying.insert(parent).inserted { open.append(parent) }
    }
    return staying
  }

  /// The items that only this device has, also those that the user has deleted again.
  private func unsentItems() throws -> [String: Row] {
    var items: [String: Row] = [:]
    try vault.database.read { connection in
      try vault.catalog.tables["Item"]?.forEach(where: "syncVersion = 0", in: connection) { record in
        items[record.uuid] = Row(type: "Item", uuid: record.uuid, fields: record.state.fields)
      }
    }
    return items
  }

  private func contents() throws -> [String: String] {
    var contents: [String: String] = [:]
    try vault.database.read { connection in
      for table in vault.catalog.tables.values {
        try table.forEach(where: "1", in: connection) { record in
          contents[record.uuid] = "\(record.state) \(record.isDirty) \(record.syncStatus)"
        }
      }
    }
    return contents
  }

  private func operations() throws -> [String] {
    try vault.values(
      "SELECT operationId || status || coalesce(payload, '') FROM OfflineSyncQueue WHERE completedAt IS NULL ORDER BY 1"
    )
  }

  @Test(
    "Exactly the clean records that no remaining record needs leave, also in parts and with a crash between two of them"
  )
  mutating func leaving() throws {
    try leaveOften()
  }

  @Test("New records that refer to each other are discarded together, and not one without the other")
  func newTwins() throws {
    let (first, second, third) = (LeavingDatabase.uuid(71), LeavingDatabase.uuid(72), LeavingDatabase.uuid(73))
    try vault.write("INSERT INTO OfflineProject (uuid, title) VALUES (\(LeavingDatabase.uuid(61)), 'p')")
    try vault.write("INSERT INTO OfflineArea (uuid, title, projectId) VALUES (\(LeavingDatabase.uuid(62)), 'a', 1)")
    for uuid in [first, second, third] {
      try vault.write("INSERT INTO OfflineItem (uuid, title, areaId) VALUES (\(uuid), 'new', 1)")
    }
    for (uuid, other) in [(first, second), (second, third), (third, first)] {
      try vault.write(
        "UPDATE OfflineItem SET twinId = (SELECT itemId FROM OfflineItem WHERE uuid = \(other)) WHERE uuid = \(uuid)")
    }
    let operations = try vault.values(
      "SELECT operationId FROM OfflineSyncQueue WHERE entityType = 'Item' AND completedAt IS NULL")
    #expect(throws: VaultError.self) { try vault.sync { try $0.discard([operations[0]]) } }
    // The remaining record holds one of two, and nothing changes.
    #expect(throws: VaultError.self) { try vault.sync { try $0.discard(Array(operations.prefix(2))) } }
    #expect(try vault.values("SELECT uuid FROM OfflineItem WHERE twinId IS NOT NULL").count == 3)
    #expect(try vault.sync { try $0.discard(operations) } == 3)
    #expect(try vault.values("SELECT uuid FROM OfflineItem WHERE isDeleted = 0") == [])
    #expect(
      try vault.values("SELECT entityType FROM OfflineSyncQueue WHERE completedAt IS NULL").sorted() == [
        "Area", "Project",
      ])
    try vault.expectIntegrity()
  }

  @Test("A new item whose twin was queued before it is discarded after the twin") func twinOfNewItem() throws {
    var test = try Self(Seeded(73_101_182_396_114))
    try test.leaveOften()
  }

  private mutating func leaveOften() throws {
    for round in 1...60 {
      var test = try Self(Seeded(random.next()))
      try test.run(round)
    }
  }

  private mutating func run(_ round: Int) throws {
    try fill()
    try edit(random.number(0..<20))
    try editElsewhere(random.number(0..<4))
    let projects = server.values.filter { $0.type == "Project" }.map(\.uuid).sorted()
    let lost = Set(projects.shuffled(using: &random).prefix(random.number(1..<3)))
    let (before, outbox) = (try contents(), try operations())
    let expected = try staying(besides: lost)
    try vault.announce(lost.sorted())
    let limit = random.number(1..<8)
    if random.chance(0.5) { try vault.leave(limit: limit, killedAfter: random.number(0..<5)) }
    try vault.leave(limit: limit)
    let after = try contents()
    let comment: Comment = "round \(round) of TEST_SEED"
    #expect(expected.subtracting(after.keys) == [], comment)
    #expect(Set(after.keys).subtracting(expected) == [], comment)
    for uuid in after.keys { #expect(after[uuid] == before[uuid], comment) }
    #expect(try operations() == outbox, comment)
    // A project stays in the list as long as the device has its record.
    let listed = Set(try vault.values("SELECT entityUuid FROM SyncLostProject"))
    #expect(listed == lost.intersection(after.keys), comment)
    #expect(try vault.leave(limit: limit)?.removed == 0, comment)
    try vault.expectIntegrity(comment)
    try discardAll(lost, comment)
  }

  private func unfinished() throws -> [String] {
    try vault.values("SELECT operationId FROM OfflineSyncQueue WHERE completedAt IS NULL ORDER BY queueNumber DESC")
  }

  /// Discards all operations of lost projects. Then everything clean leaves.
  private mutating func discardAll(_ lost: Set<String>, _ comment: Comment) throws {
    // A record stays while a record with an operation refers to it, so its operation has to wait.
    var open = try unfinished()
    while !open.isEmpty {
      for id in open where try unfinished().contains(id) {
        do {
          try vault.sync { _ = try $0.discard([id]) }
        } catch let error as VaultError where error.code == .badValue || error.code == .refused {}
      }
      let left = try unfinished()
      if left.count == open.count {
        // New items that refer to each other hold each other. Their user discards them together.
        try vault.sync { _ = try $0.discard(left) }
        try #require(try unfinished().isEmpty, comment)
        break
      }
      open = left
    }
    try vault.leave(limit: 3)
    let expected = try staying(besides: lost)
    #expect(Set(try contents().keys) == expected, comment)
    try vault.expectIntegrity(comment)
  }
}

/// A database whose projects have areas, items in trees and cycles, and notes that may belong to no project.
struct LeavingDatabase {
  static let schema = Schema(
    name: "sites",
    migrations: [
      MigrationFile(
        version: 1, name: "sites",
        sql: """
          CREATE TABLE OfflineProject (
            projectId INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE, title TEXT,
            \(ReferenceCycleTests.shared)) STRICT;
          CREATE TABLE OfflineArea (
            areaId INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE, title TEXT,
            parentId INTEGER REFERENCES OfflineArea (areaId) ON DELETE CASCADE,
            projectId INTEGER NOT NULL REFERENCES OfflineProject (projectId) ON DELETE CASCADE,
            \(ReferenceCycleTests.shared)) STRICT;
          CREATE TABLE OfflineItem (
            itemId INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE, title TEXT,
            areaId INTEGER NOT NULL REFERENCES OfflineArea (areaId),
            twinId INTEGER REFERENCES OfflineItem (itemId),
            \(ReferenceCycleTests.shared)) STRICT;
          CREATE TABLE OfflineNote (
            noteId INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE, title TEXT,
            projectId INTEGER REFERENCES OfflineProject (projectId) ON DELETE CASCADE,
            itemId INTEGER REFERENCES OfflineItem (itemId),
            \(ReferenceCycleTests.shared)) STRICT;
          INSERT INTO SyncedEntity (entityType, tableName, schemaName, conflictPolicy) VALUES
            ('Project', 'OfflineProject', 'sites', 'manual'), ('Area', 'OfflineArea', 'sites', 'manual'),
            ('Item', 'OfflineItem', 'sites', 'manual'), ('Note', 'OfflineNote', 'sites', 'manual');
          """)
    ])

  let database: Database
  let catalog: SyncCatalog

  init() throws {
    database = try Database.inMemory()
    try Vault.migrator(for: [Self.schema]).apply(to: database, isDraft: true)
    catalog = SyncCatalog(try database.read { try Entities.read(from: $0) })
  }

  static func uuid(_ number: Int) -> String { String(format: "00000000-0000-7000-8000-%012d", number) }

  @discardableResult
  func sync<Result>(_ body: (SyncTransaction) throws -> Result) throws -> Result {
    try database.write { try SyncTransaction.run(on: $0, catalog, now: 1_800_000_000_000, body) }
  }

  func apply(_ versions: [RemoteRecord]) throws {
    try sync { transaction in
      var counts = ApplyCounts()
      try transaction.changes.apply(versions, counts: &counts)
    }
  }

  func write(_ sql: SQL) throws { try database.write { _ = try $0.execute(sql) } }

  func values(_ sql: SQL) throws -> [String] { try database.read { try $0.fetch(sql, as: String.self) } }

  func count(_ table: SQL) throws -> Int {
    try database.read { try $0.fetchOne("SELECT count(*) FROM \(table)", as: Int.self) } ?? 0
  }

  /// Stores a page without changes that announces lost projects.
  func announce(_ projects: [String], _ changes: [RemoteRecord] = []) throws {
    let page = ChangesPage(
      serverTime: 0, epoch: "one", changes: changes, cursor: "there", hasMore: false, remaining: nil,
      removedProjects: projects)
    try sync { try $0.noteRemovedProjects(in: page) }
  }

  func plan(_ cause: LeavingCause = .lost) throws -> LeavingPlan {
    try database.read { try LeavingReader(catalog, in: $0).plan(cause) }
  }

  /// Removes all records that can leave, as a round does.
  /// - Parameters:
  ///   - limit: the most records of one transaction.
  ///   - transactions: the number of transactions after which the program is killed; `nil` for none.
  /// - Returns: the number of removed records, and those that stay; `nil` if the program was killed.
  @discardableResult
  func leave(
    _ cause: LeavingCause = .lost, limit: Int = 100, killedAfter transactions: Int? = nil
  ) throws -> (removed: Int, kept: [KeptRecords])? {
    var (total, left) = (0, transactions ?? .max)
    while true {
      let plan = try plan(cause)
      var removed = 0
      if !plan.versions.isEmpty { try sync { try $0.forget(plan.versions) } }
      for start in stride(from: 0, to: plan.records.count, by: limit) {
        if left == 0 { return nil }
        left -= 1
        let part = Array(plan.records[start..<min(start + limit, plan.records.count)])
        removed += try sync { try $0.leave(part, cause, since: plan.lastOperation) }
      }
      total += removed
      if removed > 0, removed < plan.records.count { continue }
      let kept = removed > 0 ? plan.kept : plan.remaining
      try sync { try $0.endLeaving(cause, isDone: kept.allSatisfy { $0.reason == .referenced }) }
      return (total, kept)
    }
  }

  func expectIntegrity(_ comment: Comment? = nil) throws {
    let violations = try database.read { try SyncInvariants(catalog: catalog, connection: $0).violations() }
    #expect(violations == [], comment)
    #expect(try values("SELECT \"table\" FROM pragma_foreign_key_check") == [], comment)
  }
}
