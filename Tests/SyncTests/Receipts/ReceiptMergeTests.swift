import CipherSQL
import Foundation
import ReceiptsModel
import SyncModel
import Testing

@testable import VaultStore
@testable import SyncEngine

/// An extraction service reads a receipt again on the server while the owner corrects it.
@Suite struct ReceiptMergeTests {
  private let home: Household
  private let ikea = Receipt(
    storeName: "IKEA", purchaseDate: CalendarDay("2025-01-31"), extractedMerchantName: "IKEA", extractedTotal: "49,9",
    llmConfidence: 0.6)

  init() async throws { home = try await Household() }

  /// The owner has corrected the store name. An improved model reads another name and a better total.
  @Test("A name that the user corrected stays while the service improves the total")
  func theNameThatTheUserCorrectedStaysWhileTheTotalImproves() async throws {
    let uuid = try await home.shareReceipt(ikea)
    try await home.phone.run("UPDATE OfflineReceipt SET storeName = 'IKEA Thessaloniki'")
    #expect(try await home.phone.receipt("userEditedFields") == #"["storeName"]"#)
    let stored = try await home.extract(
      uuid,
      ["storeName": "IKEA Greece", "extractedTotal": "49.90 EUR", "llmConfidence": SyncValue(real: 0.97) ?? .null])
    guard case .accepted = stored else { Issue.record("\(stored)"); return }
    let report = try await home.phone.sync()
    #expect(report.conflicts == 0 && report.pushed == 1)
    try await home.tablet.sync()
    for device in [home.phone, home.tablet] {
      #expect(
        try await device.receipt(
          "storeName || ', ' || extractedTotal || ', ' || llmConfidence || ', ' || userEditedFields")
          == #"IKEA Thessaloniki, 49.90 EUR, 0.97, ["storeName"]"#)
    }
    #expect(try home.phone.conflicts(resolved: true).isEmpty)
    try await home.expectAgreement()
  }

  /// Where the owner made no correction, the improved reading wins.
  @Test("A name that the user did not correct is updated by the service")
  func aNameThatNobodyCorrectedImproves() async throws {
    let uuid = try await home.shareReceipt(ikea)
    try await home.phone.run("UPDATE OfflineReceipt SET userNotes = 'blue chair'")
    _ = try await home.extract(uuid, ["storeName": "IKEA Greece"])
    try await home.phone.sync()
    try await home.tablet.sync()
    #expect(try await home.tablet.receipt("storeName || ', ' || userNotes") == "IKEA Greece, blue chair")
    #expect(try await home.tablet.receipt("userEditedFields") == "[]")
    try await home.expectAgreement()
  }

  /// An extraction that started before the correction and ended after it.
  @Test("A late extraction does not undo a correction") func aLateReadingDoesNotTakeBackACorrection() async throws {
    let uuid = try await home.shareReceipt(ikea)
    try await home.phone.run("UPDATE OfflineReceipt SET storeName = 'IKEA Thessaloniki'")
    try await home.phone.sync()
    let stored = try await home.extract(
      uuid, ["storeName": "IKEA Greece", "extractedTotal": "49.90 EUR"],
      base: ["storeName": "IKEA", "extractedTotal": "49,9"], version: 1)
    guard case .merged = stored else { Issue.record("\(stored)"); return }
    try await home.phone.sync()
    try await home.tablet.sync()
    #expect(try await home.tablet.receipt("storeName || ', ' || extractedTotal") == "IKEA Thessaloniki, 49.90 EUR")
    #expect(try await home.phone.receipt("userEditedFields") == #"["storeName"]"#)
    try await home.expectAgreement()
  }

  /// Both sides change server-owned and user-owned fields. Each side wins in the fields that it owns.
  @Test("Server-owned fields take the server's value and user-owned fields the user's")
  func eachSideWinsWhatIsItsOwn() async throws {
    let uuid = try await home.shareReceipt(ikea)
    try await home.phone.run("UPDATE OfflineReceipt SET extractedTotal = 'phone', isFavorite = 1, userNotes = 'phone'")
    _ = try await home.extract(
      uuid, ["extractedTotal": "server", "isFavorite": false, "userNotes": "server", "ocrRawText": "TOTAL 49.90"])
    let report = try await home.phone.sync()
    #expect(report.conflicts == 0)
    let whole: SQL = "extractedTotal || ', ' || isFavorite || ', ' || userNotes || ', ' || ocrRawText"
    #expect(try await home.phone.receipt(whole) == "server, 1, phone, TOTAL 49.90")
    try await home.tablet.sync()
    try await home.expectAgreement()
  }

  /// A user decides about a field without an owner.
  @Test("A total that both sides changed becomes a conflict that a user resolves")
  func aTotalThatBothSidesChangedIsAConflict() async throws {
    let uuid = try await home.shareReceipt(ikea)
    try await home.phone.run("UPDATE OfflineReceipt SET totalAmount = 49.9")
    _ = try await home.extract(uuid, ["totalAmount": SyncValue(real: 499) ?? .null])
    #expect(try await home.phone.sync().conflicts == 1)
    #expect(try await home.phone.receipt("syncStatus") == "conflict")
    let conflict = try #require(try home.phone.conflicts().first)
    #expect(conflict.conflictType == "concurrent_edit" && conflict.fields == ["totalAmount"])
    try home.phone.resolve(conflict.conflictId, takesLocal: true)
    try await home.phone.sync()
    try await home.tablet.sync()
    #expect(try await home.tablet.receipt("totalAmount") == "49.9")
    try await home.expectAgreement()
  }

  /// The purchase date comes from the owner and the months from the service. The end of the warranty follows from
  /// both on every device.
  @Test("The end of a warranty is computed from the changes of both sides on every device")
  func theEndOfAWarrantyFollowsFromBothSides() async throws {
    let uuid = try await home.shareReceipt(Receipt(storeName: "IKEA"))
    try await home.phone.run("UPDATE OfflineReceipt SET purchaseDate = '2025-01-31'")
    _ = try await home.extract(uuid, ["warrantyMonths": 13])
    try await home.phone.sync()
    try await home.tablet.sync()
    for device in [home.phone, home.tablet] {
      #expect(try await device.receipt("warrantyExpiryDate") == "2026-02-28")
    }
    // The service writes only the months, and the server computes the expiry date.
    _ = try await home.extract(uuid, ["warrantyMonths": 25])
    try await home.tablet.sync()
    #expect(try await home.tablet.receipt("warrantyExpiryDate") == "2027-02-28")
    try await home.phone.sync()
    try await home.expectAgreement()
  }

  /// User tags, image keys and lists of edited fields of both devices merge.
  @Test("Set-valued fields of both devices merge as sets") func setsOfBothDevicesComeTogether() async throws {
    try await home.shareReceipt(
      Receipt(storeName: "IKEA", userTags: JSONText(#"["gift","old"]"#), imageKeys: JSONText(#"["a"]"#)))
    try await home.phone.run(
      #"UPDATE OfflineReceipt SET userTags = '["gift","phone"]', imageKeys = '["a","b"]', storeName = 'IKEA 2'"#)
    try await home.tablet.run(
      #"UPDATE OfflineReceipt SET userTags = '["gift","old","tablet"]', imageKeys = '["a","c"]', category = 'Other'"#)
    for device in [home.phone, home.tablet, home.phone] { try await device.sync() }
    for device in [home.phone, home.tablet] {
      #expect(try await device.receipt("userTags") == #"["gift","phone","tablet"]"#)
      #expect(try await device.receipt("imageKeys") == #"["a","b","c"]"#)
      #expect(try await device.receipt("userEditedFields") == #"["category","storeName"]"#)
    }
    try await home.expectAgreement()
  }

  /// A deletion has a timestamp, and an extraction on the server does not override it.
  @Test("A deletion wins over an extraction on the server")
  func aDeletionStandsAgainstAReadingOfAMachine() async throws {
    let uuid = try await home.shareReceipt(ikea)
    try await home.phone.run("DELETE FROM OfflineReceipt")
    _ = try await home.extract(uuid, ["extractedTotal": "49.90 EUR"])
    #expect(try await home.phone.sync().conflicts == 0)
    try await home.tablet.sync()
    #expect(try await home.tablet.value("SELECT count(*) FROM OfflineReceipt", as: Int.self) == 0)
    try await home.expectAgreement()
  }
}
