import CipherSQL
import Foundation
import Testing

@testable import VaultStore
@testable import ReceiptsModel

/// Receipts with the derived triggers, without a vault's keys around them.
struct Receipts {
  let database: Database
  let entities: Entities

  init() throws {
    database = try Database.inMemory()
    try Vault.migrator(for: [ReceiptsSchema.schema]).apply(to: database)
    entities = try database.read { try Entities.read(from: $0) }
  }

  func run(_ statements: SQL...) throws {
    try database.write { db in for sql in statements { try db.execute(sql) } }
  }

  func value<Value: SQLValue>(_ sql: SQL, as type: Value.Type = Value.self) throws -> Value? {
    try database.read { try $0.fetchOne(sql, as: Optional<Value>.self) ?? nil }
  }

  func values(_ sql: SQL) throws -> [String] { try database.read { try $0.fetch(sql, as: String.self) } }

  /// What waits for the server, as `operationType entityType`.
  func queue() throws -> [String] {
    try values(
      """
      SELECT operationType || ' ' || entityType FROM OfflineSyncQueue WHERE completedAt IS NULL ORDER BY queueNumber
      """)
  }

  /// Makes all receipts look as if the server had them, at version 1.
  func synchronise() throws {
    try database.write { db in
      try WriteMode.sync(on: db) {
        try db.execute("DELETE FROM OfflineSyncQueue")
        try db.execute("DELETE FROM SyncBase")
        try db.execute("UPDATE OfflineReceipt SET isDirty = 0, syncStatus = 'synced', syncVersion = 1")
      }
    }
  }
}

/// A small generator with a seed, so that a failing run can be repeated.
struct Seeded: RandomNumberGenerator {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }

  // SplitMix64, https://prng.di.unimi.it/splitmix64.c
  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = (state ^ (state >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}

func day(_ text: String) throws -> CalendarDay { try #require(CalendarDay(text)) }
