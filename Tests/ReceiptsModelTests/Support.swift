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

func day(_ text: String) throws -> CalendarDay { try #require(CalendarDay(text)) }
