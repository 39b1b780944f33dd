import CipherSQL
import Foundation
import Testing

@testable import VaultStore
@testable import ReceiptsModel

/// `userEditedFields` keeps itself.
@Suite struct UserEditTests {
  private let receipts: Receipts

  init() throws {
    receipts = try Receipts()
    try receipts.run(
      "INSERT INTO OfflineReceipt (storeName, category, warrantyMonths) VALUES ('IKEA', 'Furniture', 24)")
  }

  private func marks() throws -> String? { try receipts.value("SELECT userEditedFields FROM OfflineReceipt") }

  @Test("The initial values of a receipt are not marked as user edits") func whatAReceiptIsMadeWithIsNoEdit() throws {
    #expect(try marks() == "[]")
  }

  @Test("A service can create a receipt with values that a user typed")
  func aProgramMayMakeAReceiptWithWhatTheUserHasTyped() throws {
    try receipts.database.write { db in
      var receipt = Receipt(storeName: "Corner shop")
      try receipt.markAsEdited([.warrantyMonths, .storeName])
      try db.insert(receipt)
    }
    let typed = try receipts.database.read { db in
      try Receipt.where { $0.storeName == "Corner shop" }.fetchFirst(db)?.editedFields()
    }
    #expect(typed == [.storeName, .warrantyMonths])
  }

  @Test("An update through the typed API marks the edited field") func anEditByTypedSwiftMarks() throws {
    try receipts.synchronise()
    try receipts.database.write { db in
      var receipt = try #require(try Receipt.all.fetchFirst(db))
      receipt.storeName = "IKEA Thessaloniki"
      receipt.userNotes = "blue"
      try db.update(receipt)
    }
    #expect(try marks() == #"["storeName"]"#)
  }

  @Test("An update by field names marks the edited field") func anEditByFieldsMarks() throws {
    let uuid = try #require(try receipts.value("SELECT uuid FROM OfflineReceipt", as: String.self))
    try receipts.database.write { db in
      try RecordWriter(db, entities: receipts.entities).put(
        try receipts.entities.entity("Receipt"), [("category", .text("Other"))], uuid: UUID(sqlText: uuid))
    }
    #expect(try marks() == #"["category"]"#)
  }

  /// Changed columns alone, whether the record has changes already or not.
  @Test("An SQL update marks exactly the columns that change", arguments: [false, true]) func anEditBySQLMarks(
    isSynced: Bool
  ) throws {
    if isSynced { try receipts.synchronise() }
    try receipts.run(
      "UPDATE OfflineReceipt SET storeName = storeName, totalAmount = 3, warrantyMonths = NULL",
      "UPDATE OfflineReceipt SET storeName = 'IKEA Thessaloniki'")
    #expect(try marks() == #"["storeName","warrantyMonths"]"#)
    #expect(try receipts.queue() == [isSynced ? "update Receipt" : "create Receipt"])
  }

  @Test("A marked field stays marked") func aFieldThatIsMarkedStaysMarked() throws {
    try receipts.run(
      "UPDATE OfflineReceipt SET storeName = 'a'", "UPDATE OfflineReceipt SET storeName = 'IKEA'",
      "UPDATE OfflineReceipt SET userEditedFields = '[]'",
      "UPDATE OfflineReceipt SET userEditedFields = '[]', category = 'Other'")
    #expect(try marks() == #"["category","storeName"]"#)
  }

  /// A program that writes back what it read before the field was marked.
  @Test("Writing back a record that was read before an edit does not remove the mark")
  func aRecordThatWasReadBeforeDoesNotUnmark() throws {
    try receipts.database.write { db in
      let stale = try #require(try Receipt.all.fetchFirst(db))
      try db.execute("UPDATE OfflineReceipt SET warrantyMonths = 12")
      try db.update(stale)
    }
    #expect(try marks() == #"["warrantyMonths"]"#)
  }

  @Test("A write of sync marks no field and queues no operation") func whatSyncWritesIsNoEdit() throws {
    try receipts.synchronise()
    try receipts.database.write { db in
      try WriteMode.sync(on: db) { try db.execute("UPDATE OfflineReceipt SET storeName = 'IKEA Greece'") }
    }
    #expect(try marks() == "[]")
    #expect(try receipts.queue().isEmpty)
  }

  @Test("An import marks changed fields and does not mark the fields of new records") func anImportWritesAsAPerson()
    throws
  {
    try receipts.synchronise()
    let entity = try receipts.entities.entity("Receipt")
    try receipts.database.write { db in
      try WriteMode.queueingAtOnce(entity, in: receipts.entities, on: db) {
        try db.execute("UPDATE OfflineReceipt SET storeName = 'imported'")
        try db.execute("INSERT INTO OfflineReceipt (storeName) VALUES ('new')")
      }
    }
    #expect(
      try receipts.values("SELECT storeName || userEditedFields FROM OfflineReceipt ORDER BY receiptId")
        == [#"imported["storeName"]"#, "new[]"])
  }

  /// Back at its base, and yet something is new: the user has said that this is the value.
  @Test("A value that returns to its base stays queued because of its new mark")
  func aValueThatIsChangedBackLeavesItsMarkToSend() throws {
    try receipts.synchronise()
    try receipts.run("UPDATE OfflineReceipt SET storeName = 'b'", "UPDATE OfflineReceipt SET storeName = 'IKEA'")
    #expect(try receipts.queue() == ["update Receipt"])
    #expect(try receipts.value("SELECT isDirty FROM OfflineReceipt", as: Bool.self) == true)
  }

  /// The same for a value that no person has changed away from it.
  @Test("A value that a user sets to its base is marked and queued") func aValueThatAPersonSetsToItsBaseIsMarkedToo()
    throws
  {
    try receipts.synchronise()
    try receipts.run("UPDATE OfflineReceipt SET userNotes = 'x'")
    try receipts.database.write { db in
      try WriteMode.sync(on: db) { try db.execute("UPDATE OfflineReceipt SET userNotes = NULL, storeName = 'merged'") }
    }
    try receipts.run("UPDATE OfflineReceipt SET storeName = 'IKEA'")
    #expect(try marks() == #"["storeName"]"#)
    #expect(try receipts.queue() == ["update Receipt"])
  }

  /// Nothing is new when the field was marked before.
  @Test("A marked value that returns to its base leaves the outbox") func aMarkedValueThatIsChangedBackLeavesTheQueue()
    throws
  {
    try receipts.run("UPDATE OfflineReceipt SET storeName = 'b'")
    try receipts.synchronise()
    try receipts.run("UPDATE OfflineReceipt SET storeName = 'c', userNotes = 'x'")
    #expect(try receipts.queue() == ["update Receipt"])
    try receipts.run("UPDATE OfflineReceipt SET storeName = 'b'", "UPDATE OfflineReceipt SET userNotes = NULL")
    #expect(try receipts.queue().isEmpty)
    #expect(try receipts.value("SELECT syncStatus FROM OfflineReceipt", as: String.self) == "synced")
  }

  @Test("Only tables with user_edited fields have triggers that mark edits") func entitiesWithoutSuchFieldsPayNothing()
    throws
  {
    let triggers = try receipts.values("SELECT tbl_name || ' ' || sql FROM sqlite_schema WHERE type = 'trigger'")
    let marking = triggers.filter { $0.contains("json_group_array") }
    #expect(marking.count == 3 && marking.allSatisfy { $0.hasPrefix("OfflineReceipt ") })
  }

  @Test("A user_edited field in a table without userEditedFields is refused") func aTableThatCannotKeepEditsIsRefused()
    throws
  {
    let sql = """
      CREATE TABLE OfflineThing (thingId INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, title TEXT) STRICT;
      INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('Thing', 'OfflineThing', 'own');
      INSERT INTO SyncedColumn (entityType, columnName, ownership) VALUES ('Thing', 'title', 'user_edited');
      """
    let schema = Schema(name: "own", migrations: [MigrationFile(version: 1, name: "x", sql: sql)])
    #expect {
      try Vault.migrator(for: [schema]).apply(to: try Database.inMemory())
    } throws: { error in
      (error as? SQLError)?.message.hasPrefix(
        "own/0001_x.sql:1: Thing.title is user_edited, but its table does not record user edits (OfflineThing needs ")
        == true
    }
  }
}
