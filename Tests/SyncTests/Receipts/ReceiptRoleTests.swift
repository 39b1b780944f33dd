import CipherSQL
import Foundation
import ReceiptsModel
import SyncModel
import Testing

@testable import VaultStore
@testable import SyncEngine

/// The worked example of the receipts document, with a service that writes through its own token.
@Suite struct ReceiptRoleTests {
  private let home: Household
  private let ikea = Receipt(
    storeName: "IKEA", purchaseDate: CalendarDay("2025-01-31"), extractedMerchantName: "IKEA", extractedTotal: "49,9",
    llmConfidence: 0.6)

  init() async throws { home = try await Household() }

  @Test("A service on the current version does not overwrite a corrected name but improves the total")
  func aServiceThatHasSeenTheCorrection() async throws {
    let uuid = try await home.shareReceipt(ikea)
    try await home.phone.run("UPDATE OfflineReceipt SET storeName = 'IKEA Thessaloniki'")
    try await home.phone.sync()
    let stored = try await home.extract(uuid, ["storeName": "IKEA Greece", "extractedTotal": "49.90 EUR"])
    guard case .merged(let record, let lost) = stored else { Issue.record("\(stored)"); return }
    #expect(record.state.fields["storeName"] == "IKEA Thessaloniki")
    #expect(record.state.fields["extractedTotal"] == "49.90 EUR")
    #expect(record.state.userEditedFields == ["storeName"] && lost.isEmpty)
    for device in [home.phone, home.tablet] {
      try await device.sync()
      #expect(
        try await device.receipt("storeName || ', ' || extractedTotal || ', ' || userEditedFields")
          == #"IKEA Thessaloniki, 49.90 EUR, ["storeName"]"#)
    }
    try await home.expectAgreement()
  }

  @Test("A device fills a server-owned field until a service writes it; then the service's value stays")
  func aFieldOfTheServer() async throws {
    let uuid = try await home.shareReceipt(ikea)
    try await home.phone.run("UPDATE OfflineReceipt SET extractedTotal = 'phone'")
    try await home.phone.sync()
    try await home.tablet.sync()
    #expect(try await home.tablet.receipt("extractedTotal") == "phone")
    _ = try await home.extract(uuid, ["extractedTotal": "service"])
    try await home.phone.sync()
    try await home.phone.run("UPDATE OfflineReceipt SET extractedTotal = 'phone again', userNotes = 'chair'")
    let report = try await home.phone.sync()
    #expect(report.merged == 1 && report.conflicts == 0)
    try await home.tablet.sync()
    for device in [home.phone, home.tablet] {
      #expect(try await device.receipt("extractedTotal || ', ' || userNotes") == "service, chair")
    }
    try await home.expectAgreement()
  }

  @Test("A device's edit of a field that a service has written is sent once, and the service's value stays")
  func editOfServiceFieldAlone() async throws {
    let uuid = try await home.shareReceipt(ikea)
    _ = try await home.extract(uuid, ["extractedTotal": "service"])
    try await home.phone.sync()
    try await home.phone.run("UPDATE OfflineReceipt SET extractedTotal = 'phone'")
    let report = try await home.phone.sync()
    #expect(report.outcome == .done && report.merged == 1)
    try await home.tablet.sync()
    for device in [home.phone, home.tablet] { #expect(try await device.receipt("extractedTotal") == "service") }
    try await home.expectAgreement()
  }
}
