import CipherSQL
import Foundation
import ReceiptsModel
import SyncModel
import HTTPServer
import SyncServer
import TestSupport
import Testing

@testable import VaultStore
@testable import SyncEngine

/// Receipts under realistic conditions of devices, network and server.
@Suite struct ReceiptScenarioTests {
  private static let photo = packagePath("Tests/Data/rocket.jpg")

  private func makeReceipts(_ count: Int, on device: Device, named name: String = "shop") async throws {
    try await device.write { db in
      for number in 0..<count { try db.insert(Receipt(storeName: "\(name) \(number)")) }
    }
  }

  // MARK: One receipt, two devices

  @Test("A receipt edited on two offline devices has both edits")
  func aReceiptEditedOnTwoOfflineDevicesHasBothEdits() async throws {
    let home = try await Household()
    try await home.shareReceipt(Receipt(storeName: "IKEA"))
    try await home.phone.run("UPDATE OfflineReceipt SET storeName = 'IKEA Thessaloniki'")
    try await home.tablet.run("UPDATE OfflineReceipt SET userNotes = 'blue chair'")
    for device in [home.phone, home.tablet, home.phone] { #expect(try await device.sync().conflicts == 0) }
    for device in [home.phone, home.tablet] {
      #expect(try await device.receipt("storeName || ', ' || userNotes") == "IKEA Thessaloniki, blue chair")
    }
    try await home.expectAgreement()
  }

  /// Both devices change the same user-owned field. The second device to sync wins, and the overwritten value stays
  /// visible.
  @Test("Of two edits of one field, the second to sync wins", arguments: ["userNotes", "storeName"])
  func ofTwoEditsOfOneFieldTheSecondToSyncWins(field: String) async throws {
    let home = try await Household()
    try await home.shareReceipt(Receipt(storeName: "IKEA"))
    try await home.phone.run("UPDATE OfflineReceipt SET \(identifier: field) = 'phone'")
    try await home.tablet.run("UPDATE OfflineReceipt SET \(identifier: field) = 'tablet'")
    for device in [home.phone, home.tablet, home.phone] { #expect(try await device.sync().conflicts == 0) }
    for device in [home.phone, home.tablet] {
      #expect(try await device.receipt("\(identifier: field)") == "tablet")
    }
    #expect(try home.tablet.conflicts(resolved: true).first?.fields == [field])
    try await home.expectAgreement()
  }

  // MARK: Many receipts

  /// The import is pushed in batches of 25, each stored permanently. After an interruption the push resumes and
  /// sends nothing twice.
  @Test("A large offline import is pushed in batches and resumes after an interruption")
  func aLargeImportWhileOfflineGoesInBatchesAndSurvivesACut() async throws {
    let pushes = Locked(0)
    let monitor = NetworkMonitor(fixed: .online)
    let home = try await Household(
      log: RequestLog { line in
        guard line.contains("POST /v1/push 200") else { return }
        // The connection drops in the middle of the import.
        if pushes.withLock({
          $0 += 1; return $0
        }) == 2 {
          monitor.isForcedOffline = true
        }
      })
    try await makeReceipts(130, on: home.phone)
    #expect(try await home.phone.value("SELECT count(*) FROM receipts", as: Int.self) == 130)
    let worker = SyncWorker(
      vault: home.phone.vault, remote: await home.phone.worker.remote, monitor: monitor)
    #expect(try home.phone.pending() == 130)
    let events = try await worker.events {
      let first = try await worker.sync()
      #expect(first.outcome == .offline && first.pushed % 25 == 0 && (50...75).contains(first.pushed))
      #expect(try await home.phone.waiting() == 130 - first.pushed)
      #expect(try home.phone.pending() == 130 - first.pushed)
      #expect(try await home.phone.value("SELECT max(retryCount) FROM OfflineSyncQueue", as: Int.self) == 0)
      monitor.isForcedOffline = false
      #expect(try await worker.sync().pushed == 130 - first.pushed)
    }
    let batches = events.compactMap { event in if case .pushed(let count) = event { count } else { nil } }
    #expect(batches == [25, 25, 25, 25, 25, 5] && pushes.withLock { $0 } == 6)
    #expect(try home.phone.pending() == 0)
    #expect(try await home.tablet.sync().pulled == 140)
    try await home.expectAgreement()
  }

  /// The records arrive page by page. Thumbnails download automatically, the full image when the user opens it.
  @Test("The first sync of a new device fetches all records and the thumbnails, but no full image")
  func theFirstSyncOfANewDeviceBringsEverythingAndThumbnailsFirst() async throws {
    let pages = Locked(0)
    let home = try await Household(
      log: RequestLog { line in if line.contains("GET /v1/changes") { pages.withLock { $0 += 1 } } })
    try await makeReceipts(700, on: home.phone)
    let receipt = try #require(try await home.phone.value("SELECT uuid FROM OfflineReceipt LIMIT 1", as: UUID.self))
    let image = try home.phone.attach(Self.photo, to: receipt)
    try await home.phone.sync()
    pages.withLock { $0 = 0 }
    let events = try await home.tablet.worker.events {
      let report = try await home.tablet.sync()
      // 700 receipts, an image and ten categories.
      #expect(report.pulled == 711 && pages.withLock { $0 } >= 2)
      #expect(report.filesFetched == 1)
    }
    let progress = events.compactMap { event in
      if case .pulled(let count, let remaining) = event { "\(count) \(remaining ?? -1)" } else { nil }
    }
    #expect(progress == ["500 211", "211 0"])
    #expect(home.tablet.content(image, .thumbnail) != nil && home.tablet.content(image) == nil)
    #expect(try await home.tablet.sync().filesFetched == 1)
    #expect(home.tablet.content(image) == home.phone.content(image))
    try await home.expectAgreement()
  }

  // MARK: Images

  /// The receipt syncs while its image is still on one device. The image follows later.
  @Test("A receipt syncs without waiting for an image whose upload fails")
  func aReceiptDoesNotWaitForAnImageThatFails() async throws {
    let home = try await Household { $0.files.fileBytes = 2_000 }
    let uuid = Receipt(storeName: "IKEA")
    try await home.phone.write { _ = try $0.insert(uuid) }
    let image = try home.phone.attach(bytes: 5_000, to: uuid.uuid)
    let failed = try await home.phone.sync()
    #expect(failed.pushed == 2 && failed.filesFailed == 1)
    #expect(try await home.phone.values("SELECT uploadStatus FROM OfflineReceiptImage") == ["failed"])
    try await home.tablet.sync()
    #expect(try await home.tablet.values("SELECT storeName || ' ' || full FROM receiptImages") == ["IKEA absent"])
    #expect(try await home.tablet.receipt("imageKeys") == "[]")
    #expect(home.tablet.content(image) == nil)
    // The image was requested, but the server does not have it yet.
    try await home.tablet.sync()
    #expect(try home.tablet.attachment(image).full == "absent" && home.tablet.attachment(image).waitsForUpload)
    // The device requests the image early when the user asks for a sync, and when records arrived.
    #expect(try await home.tablet.filesAskedFor(in: .timer) == 0)
    #expect(try await home.tablet.filesAskedFor(in: .request) == 1)
    try await home.tablet.sync()

    try await home.server.restart()
    #expect(try home.phone.retryFiles() == 1)
    #expect(try await home.phone.sync().filesSent == 1)
    #expect(try await home.tablet.filesAskedFor(in: .timer) == 0)
    // As an app does then, the phone stores the key of the image.
    try await home.phone.run(#"UPDATE OfflineReceipt SET imageKeys = '["users/1/receipt.jpg"]'"#)
    try await home.phone.sync()
    #expect(try await home.tablet.filesAskedFor(in: .timer) == 1)
    try await home.tablet.sync()
    #expect(try await home.tablet.receipt("imageKeys") == #"["users/1/receipt.jpg"]"#)
    #expect(home.tablet.content(image) == 5_000)
    #expect(try home.tablet.attachment(image).full == "here" && !home.tablet.attachment(image).waitsForUpload)
    try await home.expectAgreement()
  }

  // MARK: The server

  /// An outage counts as no failed attempt, however often the device retries. After an outage with many pending
  /// operations, the device runs a full comparison.
  @Test("A server outage fails no operation, and local work continues")
  func anOutageOfTheServerFailsNothing() async throws {
    let home = try await Household()
    try await home.phone.sync()
    try await home.tablet.sync()
    try await home.server.restart(while: {
      try await makeReceipts(120, on: home.phone)
      for _ in 0..<7 { #expect(try await home.phone.worker.sync().outcome != .done) }
      #expect(try await home.phone.waiting() == 120)
      #expect(
        try await home.phone.value(
          "SELECT count(*) FROM OfflineSyncQueue WHERE status <> 'pending' OR retryCount > 0", as: Int.self) == 0)
      // Meanwhile the receipts can be read, searched and changed on the device.
      try await home.phone.run("UPDATE OfflineReceipt SET isFavorite = 1 WHERE storeName = 'shop 7'")
      let found = try await home.phone.value(
        "SELECT count(*) FROM ReceiptSearch WHERE ReceiptSearch MATCH 'shop 7'", as: Int.self)
      #expect(found == 1)
      #expect(try await home.phone.waiting() == 120)
    })
    let report = try await home.phone.sync()
    #expect(report.pushed == 120 && report.hasCompared)
    try await home.tablet.sync()
    try await home.expectAgreement()
  }

  /// One clock is two days ahead, the other two days behind. Neither clock decides, because the order of the server
  /// counts.
  @Test("Wrong device clocks neither lose nor win an edit") func wrongClocksLoseNothingAndWinNothing() async throws {
    let home = try await Household()
    let ahead = Date.nowInMilliseconds().addingTimeInterval(2 * 86_400)
    let behind = Date.nowInMilliseconds().addingTimeInterval(-2 * 86_400)
    let receipt = Receipt(storeName: "IKEA", createdAt: ahead, updatedAt: ahead)
    try await home.shareReceipt(receipt)
    // No timestamp is later than the clock of the server.
    let created = try #require(try await home.tablet.value("SELECT createdAt FROM OfflineReceipt", as: Date.self))
    #expect(created <= Date.nowInMilliseconds())

    try await home.phone.run("UPDATE OfflineReceipt SET storeName = 'ahead', updatedAt = \(ahead)")
    try await home.tablet.run("UPDATE OfflineReceipt SET userNotes = 'behind', updatedAt = \(behind)")
    for device in [home.phone, home.tablet, home.phone] { try await device.sync() }
    #expect(try await home.phone.receipt("storeName || ', ' || userNotes") == "ahead, behind")
    try await home.expectAgreement()

    // The later of two category names wins, although the first claims to be from the day after tomorrow.
    try await home.phone.run(
      "UPDATE OfflineCategory SET name = 'first', updatedAt = \(ahead) WHERE sortOrder = 1")
    try await home.phone.sync()
    try await Task.sleep(for: .milliseconds(20))
    try await home.tablet.run("UPDATE OfflineCategory SET name = 'second' WHERE sortOrder = 1")
    for device in [home.tablet, home.phone] { try await device.sync() }
    for device in [home.phone, home.tablet] {
      #expect(try await device.values("SELECT name FROM OfflineCategory WHERE sortOrder = 1") == ["second"])
    }

    // A creation time in the past stays.
    try await home.tablet.run("INSERT INTO OfflineReceipt (storeName, createdAt) VALUES ('old', \(behind))")
    for device in [home.tablet, home.phone] {
      try await device.sync()
      let kept = try await device.value("SELECT createdAt FROM OfflineReceipt WHERE storeName = 'old'", as: Date.self)
      #expect(try abs(#require(kept).timeIntervalSince(behind)) < 1)
    }
    try await home.expectAgreement()
  }

  // MARK: Device-only mode

  /// A device-only vault sends, fetches and loses nothing. It keeps the outbox and the cursor for its return to the
  /// cloud.
  @Test("A vault that becomes device-only keeps its data, its outbox and its cursor")
  func aVaultThatGoesDeviceOnlyKeepsItsDataItsQueueAndItsPlace() async throws {
    let home = try await Household()
    try await home.shareReceipt(Receipt(storeName: "IKEA"))
    let place = try await home.phone.value("SELECT value FROM Setting WHERE name = 'cursor'", as: String.self)
    try await home.phone.run("UPDATE OfflineReceipt SET userNotes = 'unsent'")
    try home.phone.set(.mode, "device")
    await #expect(throws: SyncRefused.deviceOnly) { try await home.phone.worker.sync() }
    try await makeReceipts(2, on: home.phone)
    #expect(try await home.phone.value("SELECT count(*) FROM receipts", as: Int.self) == 3)
    #expect(try await home.phone.waiting() == 3)
    #expect(place != nil)
    #expect(try await home.phone.value("SELECT value FROM Setting WHERE name = 'cursor'", as: String.self) == place)
    // The server keeps its records, and the other device continues to sync with them.
    let third = try await Device("laptop", at: home.server, schema: ReceiptsSchema.schema)
    try await third.sync()
    #expect(try await third.values("SELECT storeName FROM OfflineReceipt") == ["IKEA"])
    try await home.tablet.run("UPDATE OfflineReceipt SET isFavorite = 1")
    #expect(try await home.tablet.sync().pushed == 1)
  }

  /// The round compares, sends, fetches and merges: receipts and images of this device, and the changes of the
  /// other device.
  @Test("A vault that returns to the cloud is compared and merged")
  func aVaultThatComesBackToTheCloudIsComparedAndMerged() async throws {
    let home = try await Household()
    let uuid = try await home.shareReceipt(Receipt(storeName: "IKEA"))
    try home.phone.set(.mode, "device")
    try await home.phone.run("UPDATE OfflineReceipt SET userNotes = 'phone'")
    try await makeReceipts(3, on: home.phone, named: "phone")
    let image = try home.phone.attach(Self.photo, to: uuid)
    try await home.tablet.run("UPDATE OfflineReceipt SET category = 'Furniture'")
    try await makeReceipts(2, on: home.tablet, named: "tablet")
    try await home.tablet.sync()

    try home.phone.set(.mode, "cloud")
    let events = try await home.phone.worker.events {
      let report = try await home.phone.sync()
      #expect(report.hasCompared && report.conflicts == 0)
      // An edited receipt, three new receipts and an image record; the content of the image and its thumbnail.
      #expect(report.pushed == 5 && report.filesSent == 2)
    }
    let sent = events.compactMap { event in if case .pushed(let count) = event { count } else { nil } }
    let files = events.compactMap { event in if case .fileMoved(let progress) = event { progress } else { nil } }
    #expect(sent.reduce(0, +) == 5 && files.count == 2 && files.allSatisfy(\.isUpload))
    try await home.tablet.sync()
    _ = home.tablet.content(image)
    try await home.tablet.sync()
    #expect(home.tablet.content(image) == home.phone.content(image))
    for device in [home.phone, home.tablet] {
      #expect(try await device.value("SELECT count(*) FROM receipts", as: Int.self) == 6)
      let both = try await device.values("SELECT userNotes || category FROM OfflineReceipt WHERE storeName = 'IKEA'")
      #expect(both == ["phoneFurniture"])
    }
    try await home.expectAgreement()
  }

  /// A vault that was device-only from the start.
  @Test("A vault that was always device-only sends all its records when it joins the cloud")
  func aVaultThatNeverHadACloudSendsAllItHas() async throws {
    let home = try await Household()
    try home.phone.set(.mode, "device")
    try await makeReceipts(4, on: home.phone)
    try await home.phone.run("UPDATE OfflineCategory SET name = 'Gadgets' WHERE sortOrder = 1")
    try await makeReceipts(2, on: home.tablet, named: "tablet")
    try await home.tablet.sync()
    try home.phone.set(.mode, "cloud")
    #expect(try await home.phone.sync().pushed == 5)
    try await home.tablet.sync()
    #expect(try await home.tablet.value("SELECT count(*) FROM receipts", as: Int.self) == 6)
    try await home.expectAgreement()
  }
}
