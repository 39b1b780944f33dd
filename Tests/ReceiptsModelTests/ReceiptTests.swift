import CipherSQL
import Foundation
import Testing

@testable import VaultStore
@testable import ReceiptsModel

/// The constraints of the tables and the results of the queries.
@Suite struct ReceiptTests {
  private let receipts: Receipts

  init() throws { receipts = try Receipts() }

  /// The shops of what a query finds.
  private func shops(_ query: @escaping @Sendable (Connection) throws -> [Receipt]) throws -> [String?] {
    try receipts.database.read { try query($0).map(\.storeName) }
  }

  @Test("Each synced table is STRICT and has the common fields") func everySyncedTableHasTheCommonFields() throws {
    let synced = receipts.entities.all.filter { $0.sync?.schemaName == "receipts" }
    #expect(synced.map(\.type) == ["Category", "Receipt", "ReceiptImage"])
    #expect(synced.allSatisfy { $0.hasCommonFields && $0.marksDeletion && $0.table.isStrict })
    #expect(AttachmentEntity(try receipts.entities.entity("ReceiptImage"))?.tellsUploadStatus == true)
    try receipts.run("INSERT INTO OfflineReceipt DEFAULT VALUES")
    #expect(try receipts.queue() == ["create Receipt"])
  }

  @Test("Each owned field has its documented owner") func eachFieldBelongsToWhomItShould() throws {
    let owned = try receipts.database.read { db in
      try db.fetchRows(
        "SELECT ownership, columnName FROM SyncedColumn WHERE ownership IS NOT NULL", as: String.self, String.self)
    }
    let fields = Dictionary(grouping: owned, by: \.0).mapValues { Set($0.map(\.1)) }
    #expect(
      fields == [
        "server": ["extractedMerchantName", "extractedDate", "extractedTotal", "ocrRawText", "llmConfidence"],
        "user": ["userNotes", "userTags", "isFavorite"], "user_edited": ["storeName", "category", "warrantyMonths"],
      ])
    #expect(Set(UserEditedField.allCases.map(\.rawValue)) == fields["user_edited"])
  }

  @Test("Ten default categories with fixed UUIDs exist and are not queued") func tenCategoriesAreThereAndNotQueued()
    throws
  {
    let categories = try receipts.database.read { try ReceiptsQueries.categoriesInOrder($0) }
    #expect(categories.count == 10 && categories.allSatisfy { $0.isDefault && !$0.isDirty && $0.icon != nil })
    #expect(categories.map(\.sortOrder) == Array(1...10))
    #expect(categories.first?.uuid.uuidString.lowercased() == "01900000-0000-7000-8000-000000000001")
    #expect(try receipts.queue().isEmpty)
    let others = try Receipts().values("SELECT uuid FROM OfflineCategory ORDER BY sortOrder")
    #expect(others == categories.map(\.uuid.sqlText))
  }

  @Test("Queries find warranties that expire soon or have expired") func whatExpiresSoonIsFound() throws {
    try receipts.database.write { db in
      for (name, bought, months) in [
        ("kettle", "2024-03-01", 24), ("drill", "2024-03-31", 24), ("lamp", "2024-04-01", 24),
        ("book", "2024-03-10", nil),
        ("old", "2020-03-10", 12),
      ] as [(String, String, Int64?)] {
        try db.insert(Receipt(storeName: name, purchaseDate: try day(bought), warrantyMonths: months))
      }
      try db.insert(
        Receipt(storeName: "returned", purchaseDate: try day("2024-03-15"), warrantyMonths: 24, status: .returned))
      try db.insert(Receipt(storeName: "deleted", purchaseDate: try day("2024-03-15"), warrantyMonths: 24))
      try db.execute("DELETE FROM OfflineReceipt WHERE storeName = 'deleted'")
    }
    let today = try day("2026-03-01"), tomorrow = try day("2026-03-02")
    #expect(
      try shops { try ReceiptsQueries.warrantiesExpiring($0, today: today, days: 30) } == ["kettle", "drill"])
    #expect(try shops { try ReceiptsQueries.warrantiesExpiring($0, today: today, days: 0) } == ["kettle"])
    #expect(try shops { try ReceiptsQueries.warrantiesExpired($0, today: today) } == ["old"])
    #expect(try shops { try ReceiptsQueries.warrantiesExpired($0, today: tomorrow) } == ["kettle", "old"])
    #expect(try receipts.values("SELECT storeName FROM warranties") == ["old", "kettle", "drill", "lamp"])
  }

  @Test("Queries find receipts by category, favourites and pending receipts")
  func categoriesFavouritesAndWhatIsPendingAreFound() throws {
    try receipts.run(
      "INSERT INTO OfflineReceipt (storeName, category, purchaseDate) VALUES ('a', 'Health', '2025-01-01')",
      "INSERT INTO OfflineReceipt (storeName, category, purchaseDate) VALUES ('b', 'Health', '2025-02-01')",
      "INSERT INTO OfflineReceipt (storeName, isFavorite) VALUES ('c', 1)")
    try receipts.synchronise()
    try receipts.run("UPDATE OfflineReceipt SET totalAmount = 9.99, currency = 'EUR' WHERE storeName = 'a'")
    #expect(try shops { try ReceiptsQueries.receiptsInCategory($0, category: "Health") } == ["b", "a"])
    #expect(try shops { try ReceiptsQueries.favoriteReceipts($0) } == ["c"])
    #expect(try shops { try ReceiptsQueries.pendingReceipts($0) } == ["a"])
    #expect(try receipts.values("SELECT name || receipts FROM categories WHERE receipts > 0") == ["Health2"])
  }

  @Test("Full-text search finds words of recognized text, notes and tags, without regard to accents and case")
  func wordsAreFoundInWhatWasReadAndWhatWasWritten() throws {
    try receipts.run(
      """
      INSERT INTO OfflineReceipt (storeName, ocrRawText, userNotes, userTags, extractedMerchantName)
      VALUES ('Café Zürich', 'SUMME 12,50 Kaffeemaschine', 'for the office', '["gift","blue kitchen"]', 'Zuerich AG')
      """,
      "INSERT INTO OfflineReceipt (storeName) VALUES ('IKEA')")
    func count(_ words: String) throws -> Int? {
      try receipts.value("SELECT count(*) FROM ReceiptSearch WHERE ReceiptSearch MATCH \(words)")
    }
    for words in ["cafe zurich", "kaffeemaschine", "office", "gift", "kitchen", "zuerich"] {
      #expect(try count(words) == 1, "\(words)")
    }
    try receipts.run("UPDATE OfflineReceipt SET userTags = '[]'")
    #expect(try count("gift") == 0)
    let found = try receipts.database.read { db in
      try receipts.entities.entity("Receipt").searchTable
    }
    #expect(found == "ReceiptSearch")
  }

  @Test("JSON lists are read and written as Swift arrays") func listsAreArraysInSwift() throws {
    try receipts.database.write { db in
      var receipt = Receipt(storeName: "IKEA")
      try receipt.setTags(["gift", "garden \"x\""])
      try receipt.setUploadedImageKeys(["users/1/a.jpg"])
      try receipt.setLocalImages(["/tmp/a.jpg"])
      try db.insert(receipt)
    }
    let receipt = try #require(try receipts.database.read { try Receipt.all.fetchFirst($0) })
    #expect(try receipt.tags() == ["gift", "garden \"x\""])
    #expect(try receipt.uploadedImageKeys() == ["users/1/a.jpg"] && receipt.localImages() == ["/tmp/a.jpg"])
    #expect(try receipt.editedFields().isEmpty)
    #expect(try receipts.values("SELECT tags FROM receipts") == ["gift, garden \"x\""])
    var odd = receipt
    odd.userTags = JSONText("{}")
    #expect(throws: DecodingError.self) { try odd.tags() }
  }

  @Test("Receipt settings are stored apart from sync settings and are not queued") func settingsAreKeptAndTouchNoOther()
    throws
  {
    try receipts.database.write { db in
      try SyncSettings.set(.mode, "device", in: db)
      try ReceiptSettings.set("language", "el", in: db)
      try ReceiptSettings.set("mode", "dark", in: db)
      try ReceiptSettings.set("language", "de", in: db)
      try ReceiptSettings.set("currency", "EUR", in: db)
      try ReceiptSettings.set("currency", nil, in: db)
    }
    let settings = try receipts.database.read { try ReceiptSettings.all(in: $0) }
    let single = try receipts.database.read { db in
      try ["language", "currency"].map { try ReceiptSettings.value($0, in: db) }
    }
    #expect(settings == ["language": "de", "mode": "dark"] && single == ["de", nil])
    #expect(try receipts.database.read { try SyncSettings.value(.mode, in: $0) } == "device")
    #expect(try receipts.queue().isEmpty)
  }
}
