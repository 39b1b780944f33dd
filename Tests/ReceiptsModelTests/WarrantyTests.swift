import CipherSQL
import Foundation
import TestSupport
import Testing

@testable import VaultStore
@testable import ReceiptsModel

/// When a warranty ends, in Swift and in the database.
@Suite struct WarrantyTests {
  @Test(
    "A warranty ends on the same day of the month or on the last day of a shorter month",
    arguments: [
      ("2025-01-31", 1, "2025-02-28"), ("2024-01-31", 1, "2024-02-29"), ("2024-02-29", 12, "2025-02-28"),
      ("2024-02-29", 48, "2028-02-29"), ("2025-12-31", 2, "2026-02-28"), ("2025-03-31", 6, "2025-09-30"),
      ("2025-05-15", 24, "2027-05-15"), ("2025-05-15", 0, "2025-05-15"), ("1900-01-30", 1, "1900-02-28"),
      ("9999-12-31", 0, "9999-12-31"), ("9999-12-31", 1, nil), ("2025-01-01", -1, nil),
    ])
  func endsOnTheSameDayOrTheLastOfTheMonth(_ purchased: String, _ months: Int, _ end: String?) throws {
    #expect(Warranty.expiryDate(purchased: try day(purchased), months: months)?.description == end)
  }

  @Test("A number of months that overflows gives no date") func tooManyMonthsAreNoDay() throws {
    #expect(Warranty.expiryDate(purchased: try day("2025-01-01"), months: .max) == nil)
  }

  /// The database computes the same values as Swift for every write, and queues no operation of its own.
  @Test("The database computes the same expiry dates as Swift", arguments: [1, UInt64.random(in: 1...UInt64.max)])
  func theDatabaseSaysTheSame(seed: UInt64) throws {
    print("WarrantyTests: seed \(seed)")
    var random = Seeded(seed)
    let receipts = try Receipts()
    try receipts.run("INSERT INTO OfflineReceipt (storeName) VALUES ('x')")
    for round in 0..<2_000 {
      let month = Int.random(in: 1...12, using: &random)
      // The ends of months more often than their middles.
      let days = Bool.random(using: &random) ? 27...31 : 1...31
      let purchased = CalendarDay(
        year: Int.random(in: 1...9999, using: &random), month: month, day: Int.random(in: days, using: &random))
      let months = Int.random(in: 0...9, using: &random) == 0 ? nil : Int.random(in: 0...1200, using: &random)
      let columns: SQL = "purchaseDate = \(purchased.sqlArgument), warrantyMonths = \(months.sqlArgument)"
      try receipts.run("UPDATE OfflineReceipt SET \(columns)")
      let expected = purchased.flatMap { day in
        months.flatMap { Warranty.expiryDate(purchased: day, months: $0) }
      }
      let found = try receipts.value("SELECT warrantyExpiryDate FROM OfflineReceipt", as: CalendarDay.self)
      #expect(found == expected, "seed \(seed), round \(round)")
    }
    #expect(try receipts.queue() == ["create Receipt"])
  }

  @Test("The expiry date is computed for typed and SQL writes, and a written one is replaced")
  func itIsComputedHoweverItIsWritten() throws {
    let receipts = try Receipts()
    try receipts.database.write { db in
      try db.insert(Receipt(storeName: "typed", purchaseDate: try day("2025-01-31"), warrantyMonths: 1))
      try db.execute("INSERT INTO OfflineReceipt (purchaseDate, warrantyMonths) VALUES ('2025-01-31', 13)")
      try db.execute(
        "INSERT INTO OfflineReceipt (purchaseDate, warrantyExpiryDate) VALUES ('2025-01-31', '2030-01-01')")
    }
    let ends: SQL = "SELECT ifnull(warrantyExpiryDate, 'none') FROM OfflineReceipt ORDER BY receiptId"
    #expect(try receipts.values(ends) == ["2025-02-28", "2026-02-28", "none"])
    try receipts.run("UPDATE OfflineReceipt SET warrantyExpiryDate = '2030-01-01'")
    #expect(try receipts.values(ends) == ["2025-02-28", "2026-02-28", "none"])
    try receipts.run("UPDATE OfflineReceipt SET warrantyMonths = NULL WHERE receiptId = 1")
    #expect(try receipts.values(ends).first == "none")
  }

  @Test("An import computes the expiry date and queues one operation") func anImportComputesItAndQueuesOnce() throws {
    let receipts = try Receipts()
    let entity = try receipts.entities.entity("Receipt")
    try receipts.database.write { db in
      try WriteMode.queueingAtOnce(entity, in: receipts.entities, on: db) {
        try db.execute("INSERT INTO OfflineReceipt (purchaseDate, warrantyMonths) VALUES ('2025-01-31', 1)")
      }
    }
    #expect(try receipts.values("SELECT warrantyExpiryDate FROM OfflineReceipt") == ["2025-02-28"])
    #expect(try receipts.queue() == ["create Receipt"])
  }

  /// Computed columns return to the base together with their source field.
  @Test("A reverted purchase date leaves the outbox together with its expiry date")
  func aChangeThatIsTakenBackLeavesTheQueue() throws {
    let receipts = try Receipts()
    try receipts.run("INSERT INTO OfflineReceipt (purchaseDate, warrantyMonths) VALUES ('2025-01-31', 1)")
    try receipts.synchronise()
    let before: String? = try receipts.value("SELECT updatedAt FROM OfflineReceipt")
    try receipts.run("UPDATE OfflineReceipt SET purchaseDate = '2025-02-01'")
    #expect(try receipts.queue() == ["update Receipt"])
    try receipts.run("UPDATE OfflineReceipt SET purchaseDate = '2025-01-31'")
    #expect(try receipts.queue().isEmpty)
    #expect(try receipts.value("SELECT updatedAt FROM OfflineReceipt", as: String.self) == before)
    try receipts.run("UPDATE OfflineReceipt SET warrantyExpiryDate = '2030-01-01'")
    #expect(try receipts.queue().isEmpty)
  }

  /// Values of the server are stored unchanged.
  @Test("An expiry date from sync is stored unchanged") func whatSyncWritesIsNotComputed() throws {
    let receipts = try Receipts()
    try receipts.run("INSERT INTO OfflineReceipt (purchaseDate, warrantyMonths) VALUES ('2025-01-31', 1)")
    try receipts.database.write { db in
      try WriteMode.sync(on: db) { try db.execute("UPDATE OfflineReceipt SET warrantyExpiryDate = '2030-01-01'") }
    }
    #expect(try receipts.values("SELECT warrantyExpiryDate FROM OfflineReceipt") == ["2030-01-01"])
  }

  @Test("The deletion time is set by a deletion and cleared by a restoration")
  func theTimeOfDeletionFollowsTheDeletion() throws {
    let receipts = try Receipts()
    try receipts.run("INSERT INTO OfflineReceipt (storeName) VALUES ('IKEA')")
    try receipts.synchronise()
    try receipts.run("UPDATE OfflineReceipt SET deletedAt = '2025-01-01T00:00:00.000Z'")
    #expect(try receipts.value("SELECT deletedAt FROM OfflineReceipt", as: String.self) == nil)
    try receipts.run("DELETE FROM OfflineReceipt")
    let deletedAt = try #require(try receipts.value("SELECT deletedAt FROM OfflineReceipt", as: Date.self))
    #expect(abs(deletedAt.timeIntervalSinceNow) < 60)
    #expect(try receipts.queue() == ["delete Receipt"])
    try receipts.run("UPDATE OfflineReceipt SET isDeleted = 0")
    #expect(try receipts.value("SELECT deletedAt FROM OfflineReceipt", as: String.self) == nil)
    #expect(try receipts.queue().isEmpty)
  }
}
