import CipherSQL
import DrawnSchema
import StoreSupport
import TestSupport
import Testing

@testable import VaultStore

/// A soft deletion has the effects of SQLite's DELETE.
@Suite struct CascadeTests {
  @Test(
    "A soft deletion reaches what SQLite's own deletion reaches, for every kind of foreign key",
    arguments: (1...60).map { UInt64($0) } + [UInt64.random(in: 1000...UInt64.max)])
  func softDeletionIsLikeSQLites(seed: UInt64) throws {
    let drawn = DrawnSchema(seed: seed, Seeded(seed))
    let database = try Database.inMemory()
    try Vault.migrator(for: [drawn.schema]).apply(to: database, isDraft: true)
    let entities = try database.read { try Entities.read(from: $0) }
    try database.write { db in
      for sql in drawn.inserts { try db.execute(SQL(raw: sql)) }
      for table in 0..<drawn.tableCount { try markAsSynced(drawn.type(table), in: db, entities) }
    }
    let plain = try drawn.plainCopy()
    var random = Seeded(seed &+ 1)
    for step in 0..<4 {
      let table = Int.random(in: 0..<drawn.tableCount, using: &random)
      let id = drawn.rows[table].randomElement(using: &random) ?? 1
      let deletion = SQL(raw: "DELETE FROM \(drawn.name(table)) WHERE id = \(id)")
      func isRefused(_ database: Database) throws -> Bool {
        do {
          _ = try database.write { try $0.execute(deletion) }
          return false
        } catch let error as SQLError where error.code == .constraint {
          return true
        }
      }
      let before = try drawn.content(of: database, isPlain: false)
      let (soft, hard) = (try isRefused(database), try isRefused(plain))
      #expect(
        soft == hard, "seed \(seed), step \(step): \(deletion.text)\n\(before)\n\(drawn.schema.migrations[0].sql)")
      let after = try drawn.content(of: database, isPlain: false)
      #expect(
        after == (try drawn.content(of: plain, isPlain: true)),
        "seed \(seed), step \(step): \(deletion.text)\n\(before)\n\(drawn.schema.migrations[0].sql)")
      #expect(try violations(database, entities) == [], "seed \(seed), step \(step)")
      if soft != hard || after.isEmpty { return }
    }
  }

  @Test(
    "A restored record comes back with the dependents that its deletion took", arguments: (1...30).map { UInt64($0) })
  func restorationIsTheReverse(seed: UInt64) throws {
    let drawn = DrawnSchema(seed: seed, Seeded(seed))
    let database = try Database.inMemory()
    try Vault.migrator(for: [drawn.schema]).apply(to: database, isDraft: true)
    let entities = try database.read { try Entities.read(from: $0) }
    try database.write { db in
      for sql in drawn.inserts { try db.execute(SQL(raw: sql)) }
      for table in 0..<drawn.tableCount { try markAsSynced(drawn.type(table), in: db, entities) }
    }
    func live() throws -> [String] {
      try drawn.content(of: database, isPlain: false).map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
    }
    for table in 0..<drawn.tableCount {
      for id in drawn.rows[table] {
        let before = try live()
        do {
          try database.write { db in
            try db.execute(SQL(raw: "DELETE FROM \(drawn.name(table)) WHERE id = \(id)"))
            try db.execute(SQL(raw: "UPDATE \(drawn.name(table)) SET isDeleted = 0 WHERE id = \(id)"))
          }
        } catch let error as SQLError where error.code == .constraint {}
        #expect(try live() == before, "seed \(seed), \(drawn.type(table)) \(id)")
        #expect(try violations(database, entities) == [], "seed \(seed)")
      }
    }
    #expect(try database.read { try $0.fetchOne("SELECT count(*) FROM SyncCascade", as: Int.self) } == 0)
  }

  private func violations(_ database: Database, _ entities: Entities) throws -> [String] {
    try database.read { try VaultInvariants.violations(SyncCatalog(entities), in: $0) }
  }
}
