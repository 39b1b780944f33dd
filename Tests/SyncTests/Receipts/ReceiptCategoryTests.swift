import CipherSQL
import Foundation
import ReceiptsModel
import RestorationModel
import SyncModel
import Testing

@testable import VaultStore
@testable import SyncEngine

/// The ten default categories, which every device and the server create automatically.
@Suite struct ReceiptCategoryTests {
  private let home: Household

  init() async throws { home = try await Household() }

  private func count(_ device: Device) async throws -> Int? {
    try await device.value("SELECT count(*) FROM OfflineCategory WHERE isDeleted = 0", as: Int.self)
  }

  private func category(_ device: Device, _ order: Int) async throws -> String? {
    try await device.value("SELECT name || ', ' || icon FROM OfflineCategory WHERE sortOrder = \(order)")
  }

  @Test("The ten default categories exist exactly once on every device")
  func theTenCategoriesAreThereOnceForAll() async throws {
    #expect(try await home.phone.sync().pushed == 0)
    #expect(try await home.tablet.sync().pushed == 0)
    let third = try await Device("laptop", at: home.server, schema: ReceiptsSchema.schema)
    try await third.sync()
    for device in [home.phone, home.tablet, third] {
      #expect(try await count(device) == 10)
      #expect(try await device.value("SELECT sum(syncVersion) FROM OfflineCategory", as: Int.self) == 10)
    }
    #expect(try await third.digests() == home.phone.digests())
    try await home.expectAgreement()
  }

  @Test("A category that a user adds reaches the other device") func aCategoryOfOnesOwnComesToTheOthers() async throws {
    try await home.phone.run("INSERT INTO OfflineCategory (name, icon, sortOrder) VALUES ('Books', 'book', 11)")
    for device in [home.phone, home.tablet] { try await device.sync() }
    #expect(try await count(home.tablet) == 11)
    try await home.expectAgreement()
  }

  /// Each device edits a different field of a category before its first sync.
  @Test("First edits of different fields of a default category merge")
  func firstEditsOfADefaultCategoryComeTogether() async throws {
    try await home.phone.run("UPDATE OfflineCategory SET name = 'Gadgets' WHERE sortOrder = 1")
    try await home.tablet.run("UPDATE OfflineCategory SET icon = 'plug' WHERE sortOrder = 1")
    for device in [home.phone, home.tablet, home.phone] { try await device.sync() }
    for device in [home.phone, home.tablet] {
      #expect(try await category(device, 1) == "Gadgets, plug")
      #expect(try await count(device) == 10)
      #expect(try device.conflicts(resolved: true).isEmpty)
    }
    try await home.expectAgreement()
  }

  /// The same edits without an initial pull. The server determines which field the device has changed.
  @Test("A first edit that is pushed before any pull changes only the edited field")
  func aFirstEditThatIsPushedBeforeAnyPullChangesOneField() async throws {
    try await home.phone.run("UPDATE OfflineCategory SET name = 'Gadgets' WHERE sortOrder = 1")
    try await home.tablet.run("UPDATE OfflineCategory SET icon = 'plug' WHERE sortOrder = 1")
    try await home.phone.sync()
    #expect(try await home.tablet.sync(RoundRequest(pulls: false)).pushed == 1)
    for device in [home.tablet, home.phone] { try await device.sync() }
    for device in [home.phone, home.tablet] { #expect(try await category(device, 1) == "Gadgets, plug") }
    #expect(try home.tablet.conflicts(resolved: true).isEmpty)
    try await home.expectAgreement()
  }

  /// Both devices rename the category. The later edit wins in either sync order, and the overwritten value stays
  /// visible.
  @Test("The later rename of a default category wins, in either sync order", arguments: [false, true])
  func theLaterNameOfADefaultCategoryWins(isFirst: Bool) async throws {
    try await home.phone.run("UPDATE OfflineCategory SET name = 'Gadgets' WHERE sortOrder = 1")
    try await Task.sleep(for: .milliseconds(20))
    try await home.tablet.run("UPDATE OfflineCategory SET name = 'Devices' WHERE sortOrder = 1")
    let order = isFirst ? [home.tablet, home.phone, home.tablet] : [home.phone, home.tablet, home.phone]
    for device in order { try await device.sync() }
    for device in order { #expect(try await category(device, 1) == "Devices, laptop") }
    #expect(try order[1].conflicts(resolved: true).first?.fields == ["name"])
    try await home.expectAgreement()
  }

  @Test("Undoing the first edit or deletion of a default category removes its operation from the outbox")
  func aFirstEditThatIsTakenBackLeavesTheQueue() async throws {
    try await home.phone.run("UPDATE OfflineCategory SET name = 'Gadgets' WHERE sortOrder = 1")
    #expect(try await home.phone.waiting() == 1)
    try await home.phone.run("UPDATE OfflineCategory SET name = 'Electronics' WHERE sortOrder = 1")
    #expect(try await home.phone.waiting() == 0)
    try await home.phone.run("DELETE FROM OfflineCategory WHERE sortOrder = 1")
    #expect(try await home.phone.waiting() == 1)
    try await home.phone.run("UPDATE OfflineCategory SET isDeleted = 0")
    #expect(try await home.phone.waiting() == 0)
    #expect(try await home.phone.sync().pushed == 0)
  }

  @Test("Discarding the first edit of a default category restores the default")
  func aFirstEditThatIsDiscardedGoesBackToTheDefault() async throws {
    try await home.phone.run("UPDATE OfflineCategory SET name = 'Gadgets' WHERE sortOrder = 1")
    try home.phone.discardAll()
    #expect(try await category(home.phone, 1) == "Electronics, laptop")
    #expect(try await count(home.phone) == 10)
    for device in [home.phone, home.tablet] { try await device.sync() }
    try await home.expectAgreement()
  }

  /// The deletion also holds from a device that the server has never seen, after an edit, and for a device that
  /// joins later.
  @Test("A deleted default category stays deleted on all devices, including new ones", arguments: [false, true])
  func aDefaultCategoryThatIsDeletedStaysAway(isEdited: Bool) async throws {
    if isEdited { try await home.phone.run("UPDATE OfflineCategory SET name = 'Gadgets' WHERE sortOrder = 1") }
    try await home.phone.run("DELETE FROM OfflineCategory WHERE sortOrder = 1")
    #expect(try await home.phone.waiting() == 1)
    for device in [home.phone, home.tablet] { try await device.sync() }
    let third = try await Device("laptop", at: home.server, schema: ReceiptsSchema.schema)
    try await third.sync()
    for device in [home.phone, home.tablet, third] { #expect(try await count(device) == 9) }
    #expect(try await third.digests() == home.phone.digests())
    try await home.expectAgreement()
  }

  @Test("An edited default category is sent to another server when the vault moves there")
  func anEditedDefaultCategoryGoesToAnotherServer() async throws {
    try await home.phone.run("UPDATE OfflineCategory SET name = 'Gadgets' WHERE sortOrder = 1")
    try await home.phone.sync()
    let other = try LocalServer(schemas: [ReceiptsSchema.schema])
    let moved = try Device.worker(home.phone.vault, url: other.server.url, token: try other.token("phone"))
    #expect(try await moved.sync().outcome == .done)
    let third = try await Device("laptop", at: other, schema: ReceiptsSchema.schema)
    try await third.sync()
    #expect(try await category(third, 1) == "Gadgets, laptop")
    #expect(try await count(third) == 10)
  }

  /// A device with another schema keeps records of unknown entities in its inbox, and its syncs succeed.
  @Test("A device without the receipts schema keeps the ten categories in its inbox")
  func aDeviceWithoutReceiptsKeepsTheCategoriesAside() async throws {
    let server = try LocalServer(schemas: [RestorationSchema.schema, ReceiptsSchema.schema])
    let device = try await Device("ada", at: server)
    let report = try await device.sync()
    #expect(report.kept == 10 && report.pulled == 0 && report.conflicts == 0)
    #expect(try await device.sync(RoundRequest(isFull: true)).repaired == 0)
    #expect(
      try await device.value("SELECT count(*) FROM SyncInbox WHERE reason = 'unknown_entity'", as: Int.self) == 10)
  }

  /// No comparison fetches these versions again, because the device compares only the entities that it knows.
  @Test("Versions of unknown entities stay in the inbox when the server has forgotten the cursor")
  func unknownEntitiesStayWithoutCursor() async throws {
    let server = try LocalServer(schemas: [RestorationSchema.schema, ReceiptsSchema.schema])
    let one = try await Device("ada", at: server)
    let two = try await Device("ben", at: server)
    for device in [one, two] { try await device.sync() }
    try await one.write { _ = try $0.insert(Project(title: "House")) }
    try await one.sync()
    try await one.write { _ = try $0.execute("DELETE FROM OfflineProject") }
    try await one.sync()
    try await server.forgetDeletions()
    let report = try await two.sync()
    #expect(report.outcome == .done && report.hasCompared)
    #expect(try await two.value("SELECT count(*) FROM SyncInbox WHERE reason = 'unknown_entity'", as: Int.self) == 10)
  }
}
