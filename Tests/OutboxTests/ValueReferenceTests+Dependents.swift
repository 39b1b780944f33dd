import CipherSQL
import SyncModel
import Testing

@testable import Outbox

/// A change of a referenced value, which SQLite applies to the dependents by the foreign key's ON UPDATE action.
extension ValueReferenceTests {
  /// Changes the code of a unit on which a part and a cover depend.
  private func changeCode() throws {
    try apply([
      Self.version(1, of: "Unit", "u1", ["code": "x"]), Self.version(1, of: "Part", "p1", ["unitCode": "u1"]),
      Self.version(1, of: "Cover", "c1", ["unitCode": "u1"]),
    ])
    try database.write { _ = try $0.execute("UPDATE OfflineUnit SET code = 'y'") }
  }

  private func discard(_ type: String) throws {
    let operations = try values(
      "SELECT operationId FROM OfflineSyncQueue WHERE entityType = \(type) AND completedAt IS NULL")
    try sync { _ = try $0.discard(operations) }
  }

  // Found by the simulation, seed 64 of 2026-11-26.
  @Test("A discarded update that ON UPDATE CASCADE or SET NULL has queued leaves the reference as the server has it")
  func discardedDependents() throws {
    try changeCode()
    for type in ["Part", "Cover"] { try discard(type) }
    #expect(try values("SELECT unitCode FROM OfflinePart UNION ALL SELECT unitCode FROM OfflineCover") == ["y", "y"])
    #expect(try sent().map(\.entityUuid) == ["u1"])
    #expect(try isConsistent())
  }

  @Test("ON UPDATE CASCADE sends no reference, and ON UPDATE SET NULL sends the empty one")
  func sentDependents() throws {
    try changeCode()
    let operations = try sent()
    #expect(operations.map(\.entityUuid).sorted() == ["c1", "u1"])
    #expect(operations.first { $0.entityUuid == "c1" }?.patch.fields["unitCode"] == .null)
  }

  @Test("Dependents that wait for a record are not tried again after the record was undone with its set")
  func undoneArrival() throws {
    try apply([Self.version(1, of: "Unit", "u1", ["code": "x"])])
    let parts = (0...600).map { Self.version(1, of: "Part", "p\($0)", ["unitCode": "u2"]) }
    // The second unit has the code of the first, whose next version breaks a rule of the table.
    let units = [
      Self.version(2, of: "Unit", "u1", ["code": true]), Self.version(1, of: "Unit", "u2", ["code": "x"]),
    ]
    let arrived = try sync { transaction in
      var counts = ApplyCounts()
      try transaction.changes.apply(parts + units, counts: &counts)
      return transaction.changes.arrived
    }
    #expect(arrived == [])
    #expect(
      try values("SELECT reason || count(*) FROM SyncInbox GROUP BY reason") == ["parent_missing601", "refused2"])
  }

  // Found by the simulation, seed 81.
  @Test("A version takes the UNIQUE value of a record that was deleted with a record whose row is gone")
  func valueOfDependentWithoutRoot() throws {
    try database.write { db in
      try db.execute("INSERT INTO OfflineRack (id, uuid, label) VALUES (1, 'mine', 'a')")
      try db.execute("INSERT INTO OfflineSlot (uuid, code, rackId) VALUES ('slot', 'x', 1)")
      try db.execute("DELETE FROM OfflineRack WHERE id = 1")
    }
    try apply([Self.version(1, of: "Rack", "theirs", ["label": "a"])])
    try apply([Self.version(1, of: "Slot", "other", ["code": "x", "rackId": "theirs"])])
    #expect(try isConsistent())
    #expect(try values("SELECT uuid FROM OfflineSlot") == ["other"])
    #expect(try values("SELECT entityType FROM SyncCascade") == [])
  }

  // Found by the simulation, seed 177.
  @Test("A version takes the row of a deleted record that another deleted record references by its id")
  func rowBehindDeleted() throws {
    try database.write { db in
      try db.execute("INSERT INTO OfflineUnit (id, uuid, site, number) VALUES (1, 'mine', 'a', 1)")
      try db.execute("INSERT INTO OfflineUnit (id, uuid, code, parentId) VALUES (2, 'part', 'x', 1)")
      try db.execute("DELETE FROM OfflineUnit WHERE id = 2")
      try db.execute("DELETE FROM OfflineUnit WHERE id = 1")
    }
    try apply([Self.version(1, of: "Reading", "r1", ["site": "a", "number": 1])])
    try apply([Self.version(1, of: "Unit", "theirs", ["site": "a", "number": 1])])
    #expect(try isConsistent())
    #expect(try values("SELECT uuid FROM OfflineUnit WHERE isDeleted = 0") == ["theirs"])
    #expect(try values("SELECT uuid FROM OfflineReading") == ["r1"])
  }

  // Found by the simulation, seed 60285.
  @Test("A removed record leaves no base for the next record of its row")
  func baseOfRemovedRecord() throws {
    try apply([
      Self.version(1, of: "Unit", "u1", ["code": "x"]), Self.version(1, of: "Part", "p1", ["unitCode": "u1"]),
    ])
    // ON UPDATE CASCADE changes the row of the part, and nothing of it that is sent.
    try database.write { try $0.execute("UPDATE OfflineUnit SET code = 'y'") }
    #expect(try values("SELECT entityType FROM SyncBase WHERE entityType = 'Part'") == ["Part"])
    try apply([Self.version(2, of: "Part", "p1", ["unitCode": "u1"], isDeleted: true)])
    _ = try sync { try $0.purgeDeleted(limit: 10) }
    #expect(try values("SELECT uuid FROM OfflinePart") == [])
    #expect(try values("SELECT fields FROM SyncBase WHERE entityType = 'Part'") == [])
  }

  /// A deleted unit whose row stays, because the newer version of a part that references it waits for another unit, which
  /// has the place of the deleted one at the server.
  private func movePartToTakenPlace() throws {
    let place: SyncObject = ["site": "a", "number": 1]
    try apply([
      Self.version(1, of: "Unit", "old", place.overlaid(with: ["code": "x"])),
      Self.version(1, of: "Part", "p1", ["unitCode": "old"]),
    ])
    try apply([
      Self.version(2, of: "Unit", "old", place.overlaid(with: ["code": "x"]), isDeleted: true),
      Self.version(3, of: "Unit", "new", place.overlaid(with: ["code": "y"])),
      Self.version(2, of: "Part", "p1", ["unitCode": "new"]),
    ])
  }

  // Found by the simulation, seed 51583: the two versions waited for each other.
  @Test("A version takes the UNIQUE value of a deleted record that a live record references by another value")
  func valueOfReferencedDeleted() throws {
    try movePartToTakenPlace()
    #expect(try isConsistent())
    #expect(
      try values("SELECT uuid || site || number FROM OfflineUnit WHERE isDeleted = 0") == ["newa1"])
    #expect(try values("SELECT unitCode || syncVersion FROM OfflinePart") == ["y2"])
    _ = try sync { try $0.purgeDeleted(limit: 10) }
    #expect(try values("SELECT uuid FROM OfflineUnit") == ["new"])
  }

  // Found by the simulation, seed 50781.
  @Test("A version takes the UNIQUE value of a deleted record that a remembered deleted record references")
  func valueBehindRemembered() throws {
    let place: SyncObject = ["site": "a", "number": 1]
    try apply([
      Self.version(1, of: "Unit", "old", place), Self.version(1, of: "Unit", "child", ["parentId": "old"]),
      Self.version(1, of: "Unit", "mine", ["parentId": "child"]),
    ])
    // The user may return to the former parent.
    try database.write { try $0.execute("UPDATE OfflineUnit SET parentId = NULL WHERE uuid = 'mine'") }
    try apply([
      Self.version(2, of: "Unit", "child", ["parentId": "old"], isDeleted: true),
      Self.version(2, of: "Unit", "old", place, isDeleted: true), Self.version(1, of: "Unit", "new", place),
    ])
    #expect(try isConsistent())
    #expect(try values("SELECT uuid FROM OfflineUnit WHERE site = 'a' AND number = 1") == ["new"])
  }

  @Test("A restored record that gave up a UNIQUE value builds on an older version, so that the server merges")
  func restoredWithoutValue() throws {
    try movePartToTakenPlace()
    try database.write { try $0.execute("UPDATE OfflineUnit SET isDeleted = 0 WHERE uuid = 'old'") }
    let operation = try #require(try sync { try $0.nextBatch(limit: 1).operations.first })
    #expect(operation.entityUuid == "old" && operation.patch.isDeleted == false && operation.baseVersion == 1)
    #expect(operation.patch.fields == [:])
  }
}
