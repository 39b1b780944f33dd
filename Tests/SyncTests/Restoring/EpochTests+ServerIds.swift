import CipherSQL
import Foundation
import RestorationModel
import Testing

@testable import VaultStore

/// The server ids of records that a restored server has lost.
extension EpochTests {
  static let roomIds: SQL = """
    SELECT title || ' ' || serverId FROM OfflineRoom WHERE isDeleted = 0 AND syncVersion > 0 ORDER BY title
    """

  private func add(_ titles: [String], on device: Device) async throws {
    try await device.write { db in
      for title in titles { try db.insert(Room(projectId: 1, title: title)) }
    }
    try await device.sync()
  }

  @Test("A record that the server lost keeps its id, whichever device sends it again", arguments: [true, false])
  func keptIds(sendsFirst: Bool) async throws {
    let backup = try await server.backUp()
    try await add(["attic 4", "bath 5"], on: one)
    try await two.sync()
    let ids = try await one.values(Self.roomIds)
    #expect(try await two.values(Self.roomIds) == ids && ids.count == 5)
    try await server.restore(backup)
    // A new record takes no id of a lost one, even if the server learns of that one later.
    let three = try await Device("cleo", at: server)
    try await three.sync()
    try await add(["cellar 6"], on: three)
    for device in sendsFirst ? [one, two] : [two, one] { try await device.sync() }
    try await three.sync()
    try await expectAgreement()
    let after = try await three.values(Self.roomIds)
    #expect(after.filter { !$0.hasPrefix("cellar") } == ids)
    #expect(try await one.values(Self.roomIds) == after)
  }

  @Test("A record that is sent again by a device without its id gets a new one, which all devices store")
  func newIds() async throws {
    let backup = try await server.backUp()
    try await one.write { db in try db.insert(Room(projectId: 1, title: "attic 4")) }
    let three = try Device(copyOf: one, at: server)
    for device in [one, two] { try await device.sync() }
    let before = try await two.values(Self.roomIds)
    try await server.restore(backup)
    // The copy has never learnt the id.
    try await three.sync()
    for device in [two, one, three] { try await device.sync() }
    try await expectAgreement()
    let after = try await three.values(Self.roomIds)
    #expect(after != before && after.count == before.count && Set(after).isSuperset(of: before.dropFirst()))
    for device in [one, two] { #expect(try await device.values(Self.roomIds) == after) }
  }

  @Test("A record that the server has from a copy of the vault gets the server's id with its conflict")
  func idOfConflict() async throws {
    try await one.write { db in try db.insert(Project(title: "Villa")) }
    let copy = try Device(copyOf: one, at: server)
    try await one.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'Castle' WHERE title = 'Villa'") }
    try await copy.sync()
    try await one.sync()
    let conflict = try #require(try one.conflicts().first)
    try one.resolve(conflict.conflictId, takesLocal: false)
    for device in [one, two] { try await device.sync() }
    let ids: SQL = "SELECT title || ' ' || serverId FROM OfflineProject ORDER BY title"
    #expect(try await one.values(ids) == ["House 1", "Villa 2"])
    for device in [two, copy] { #expect(try await device.values(ids) == ["House 1", "Villa 2"]) }
  }
}
