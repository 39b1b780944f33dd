import CipherSQL
import Testing

@testable import VaultStore
@testable import ReceiptsModel

/// What an app schedules notifications from.
@Suite struct ReminderTests {
  private let receipts: Receipts

  init() throws {
    receipts = try Receipts()
    try receipts.run(
      "INSERT INTO OfflineReceipt (storeName, purchaseDate, warrantyMonths) VALUES ('kettle', '2024-03-31', 24)",
      "INSERT INTO OfflineReceipt (storeName, purchaseDate, warrantyMonths) VALUES ('drill', '2024-03-08', 24)",
      "INSERT INTO OfflineReceipt (storeName, purchaseDate) VALUES ('book', '2024-03-08')",
      "INSERT INTO OfflineReceipt (storeName, purchaseDate, warrantyMonths) VALUES ('old', '2020-03-08', 24)")
  }

  private func next(_ today: String, _ days: [Int] = WarrantyReminder.usualDaysBefore, limit: Int = 64) throws
    -> [String]
  {
    let today = try day(today)
    return try receipts.database.read { db in
      try WarrantyReminder.next(from: today, daysBefore: days, limit: limit, in: db).map {
        "\($0.date) \($0.storeName ?? "") \($0.daysBefore)"
      }
    }
  }

  @Test("The next reminders are ordered by date and limited in number") func theNextRemindersComeInTheirOrder() throws {
    #expect(
      try next("2026-03-01") == [
        "2026-03-01 drill 7", "2026-03-01 kettle 30", "2026-03-07 drill 1", "2026-03-24 kettle 7",
        "2026-03-30 kettle 1",
      ])
    #expect(try next("2026-03-02").first == "2026-03-07 drill 1")
    #expect(try next("2026-03-01", limit: 2).count == 2)
    #expect(try next("2026-03-01", limit: -1).isEmpty && next("2026-03-01", []).isEmpty)
    #expect(try next("2026-03-08", [0, 0, -5]) == ["2026-03-08 drill 0", "2026-03-31 kettle 0"])
    #expect(try next("2026-03-01", [.max]).isEmpty)
  }

  @Test("The id of a reminder consists of the receipt's UUID and the number of days")
  func aReminderHasTheSameNameEachTime() throws {
    let reminder = try receipts.database.read { db in
      try WarrantyReminder.next(from: try day("2026-03-01"), in: db).first
    }
    let uuid = try receipts.value("SELECT uuid FROM OfflineReceipt WHERE storeName = 'drill'", as: String.self)
    #expect(reminder?.id == "\(uuid ?? "")/7")
    #expect(reminder?.expiryDate.description == "2026-03-08")
  }

  /// What an app observes changes when a warranty does, and not for anything else.
  @Test("Observed reminders change with a warranty and with no other field")
  func remindersAreToldAnewWhenAWarrantyChanges() async throws {
    let observation = receipts.database.warrantyReminders(from: try day("2026-03-20"))
    let iterator = observation.makeAsyncIterator()
    #expect(try await iterator.next()?.map(\.daysBefore) == [7, 1])
    try await receipts.database.write { _ = try $0.execute("UPDATE OfflineReceipt SET userNotes = 'x'") }
    try await receipts.database.write { db in
      _ = try db.execute("UPDATE OfflineReceipt SET status = 'returned' WHERE storeName = 'kettle'")
    }
    #expect(try await iterator.next()?.isEmpty == true)
  }
}
