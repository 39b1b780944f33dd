import Foundation
import TestSupport
import Testing

/// Receipts on the command line, with the schema that ships on both sides.
@Suite struct ReceiptCommandTests {
  @Test("A receipt syncs from one vault to another") func aReceiptGoesFromOneVaultToTheOther() throws {
    let sync = try SyncWorkshop(schema: "receipts")
    let shop = sync.shop
    let uuid = try shop.done(
      "put", "Receipt", "storeName=IKEA", "purchaseDate=2025-01-31", "warrantyMonths=13", #"userTags=["gift"]"#,
      vault: "a.vault"
    ).output.trimmingCharacters(in: .newlines)
    #expect(try shop.done("list", "Category", "--json", vault: "a.vault").rows().count == 10)
    try sync.sync("a.vault")
    try sync.sync("b.vault")
    let found = try shop.done("get", "Receipt", uuid, "--json", vault: "b.vault").object()
    #expect(found["warrantyExpiryDate"] as? String == "2026-02-28")
    #expect(try shop.done("search", "gift", "--json", vault: "b.vault").rows().count == 1)
    #expect(try shop.count("OfflineCategory WHERE syncVersion = 1", vault: "b.vault") == 10)
  }

  /// Statements in the shell follow the same rules as writes of an app.
  @Test(
    "An edit in the shell is marked as a user edit",
    .enabled(if: tool("sqlcipher") != nil, "sqlcipher is not installed"))
  func anEditInTheShellIsTheUsers() throws {
    let shop = try Workshop(vault: false)
    try shop.done("init", "--schema", "receipts", "--quiet")
    try shop.done(
      "shell", "-c", "INSERT INTO OfflineReceipt (storeName, purchaseDate) VALUES ('IKEA', '2025-01-31')")
    try shop.done("shell", "-c", "UPDATE OfflineReceipt SET storeName = 'IKEA Thessaloniki', warrantyMonths = 1")
    let rows = try shop.done(
      "shell", "--json", "-c", "SELECT userEditedFields, warrantyExpiryDate FROM OfflineReceipt"
    ).rows()
    #expect(rows.first?["userEditedFields"] as? String == #"["storeName","warrantyMonths"]"#)
    #expect(rows.first?["warrantyExpiryDate"] as? String == "2025-02-28")
    #expect(try shop.count("OfflineSyncQueue") == 1)
    #expect(try shop.done("doctor").status == 0)
  }
}
