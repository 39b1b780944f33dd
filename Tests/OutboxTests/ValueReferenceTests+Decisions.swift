import CipherSQL
import RecordStore
import SchemaModel
import SyncModel
import Testing

@testable import Outbox

/// Decisions for the server's side about a record that the server never had, while records of the server reference it.
extension ValueReferenceTests {
  private func takeServer(_ conflict: String) throws {
    try sync { try $0.resolver.resolve(conflict, ConflictDecision(side: .remote, user: "ada")) }
  }

  // Found by the simulation, seed 20201: every decision was refused, because the server had deleted the other record.
  @Test("The server's side undoes an unsent reference to the own record only", arguments: [false, true])
  func unsentReference(isEdited: Bool) throws {
    try apply([Self.version(1, of: "Unit", "u1", ["code": "x", "parentId": .null, "twinCode": .null])])
    try database.write { db in
      try db.execute("INSERT INTO OfflineUnit (id, uuid, site, number, code) VALUES (9, 'mine', 'a', 1, 'm')")
      try db.execute("UPDATE OfflineUnit SET twinCode = 'm', parentId = 9 WHERE uuid = 'u1'")
      try db.execute("UPDATE OfflineUnit SET twinCode = 'x' WHERE uuid = 'mine'")
      if isEdited { try db.execute("UPDATE OfflineUnit SET number = 7 WHERE uuid = 'u1'") }
    }
    try takeServer(conflictWithTheirs(limit: 1))
    #expect(
      try values(
        """
        SELECT uuid || coalesce(twinCode, '') || coalesce(parentId, '') || coalesce(number, '') || isDirty || syncStatus
        FROM OfflineUnit WHERE isDeleted = 0
        """) == [isEdited ? "u171pending" : "u10synced"])
    #expect(try sent().map { $0.patch.fields } == (isEdited ? [["number": 7]] : []))
    #expect(try isConsistent())
  }

  @Test("A record that is discarded returns a dependent to its former parent", arguments: [false, true])
  func unsentMove(isInConflict: Bool) throws {
    try apply([
      Self.version(1, of: "Unit", "u1", ["site": "b", "number": 2]),
      Self.version(1, of: "Tag", "t1", ["site": "b", "number": 2]),
    ])
    try database.write { db in
      try db.execute("INSERT INTO OfflineUnit (uuid, site, number) VALUES ('mine', 'a', 1)")
      try db.execute("UPDATE OfflineTag SET site = 'a', number = 1")
    }
    if isInConflict {
      try takeServer(conflictWithTheirs(limit: 1))
    } else {
      let creates = try values("SELECT operationId FROM OfflineSyncQueue WHERE entityUuid = 'mine'")
      #expect(try sync { try $0.discard(creates) } == 1)
    }
    #expect(try values("SELECT uuid || site || number || isDeleted || syncStatus FROM OfflineTag") == ["t1b20synced"])
    #expect(try values("SELECT uuid FROM OfflineUnit WHERE isDeleted = 0") == ["u1"])
    #expect(try sent().isEmpty && isConsistent())
  }

  /// Gives a unit of the server the values of another one, by which a record of the server references that one.
  /// - Returns: the version of the unit at the server.
  private func takeValues(referencedBy type: String) throws -> RemoteRecord {
    let mine = Self.version(1, of: "Unit", "mine", ["site": "b", "number": 2])
    try apply([mine])
    try database.write { try $0.execute("UPDATE OfflineUnit SET site = 'a', number = 1") }
    try apply([Self.version(1, of: type, "r1", ["site": "a", "number": 1])])
    return mine
  }

  private static let theirs = version(1, of: "Unit", "theirs", ["site": "a", "number": 1])

  private func references(_ type: String) throws -> [String] {
    try values("SELECT uuid || site || number || isDeleted || syncStatus FROM Offline\(raw: type)")
  }

  // Found by the simulation, seed 247: every decision was refused, because another record referenced the values.
  @Test(
    "A decision gives UNIQUE values that others reference to the record that has them at the server",
    arguments: ["Reading", "Tag", "Seal"], [MergeSide.remote, .local])
  func returnedValues(type: String, side: MergeSide) throws {
    let mine = try takeValues(referencedBy: type)
    try apply([Self.theirs])
    let conflict = try conflictWithTheirs(record: mine)
    let other: [String: FieldChoice] = side == .local ? ["number": .value(9)] : [:]
    try sync { try $0.resolver.resolve(conflict, ConflictDecision(side: side, fields: other, user: "ada")) }
    #expect(
      try values("SELECT uuid || site || number || syncStatus FROM OfflineUnit ORDER BY uuid")
        == [side == .remote ? "mineb2synced" : "minea9pending", "theirsa1synced"])
    #expect(try references(type) == ["r1a10synced"])
    #expect(try sent().map { $0.patch.fields } == (side == .remote ? [] : [["site": "a", "number": 9]]))
    #expect(try isConsistent())
  }

  @Test("A decision gives UNIQUE values that only an unsent record references to the server's record")
  func valuesOfUnsentReading() throws {
    let mine = Self.version(1, of: "Unit", "mine", ["site": "b", "number": 2])
    try apply([mine])
    try database.write { db in
      try db.execute("UPDATE OfflineUnit SET site = 'a', number = 1")
      try db.execute("INSERT INTO OfflineReading (uuid, site, number) VALUES ('r1', 'a', 1)")
    }
    try apply([Self.theirs])
    let conflict = try conflictWithTheirs(limit: 1, record: mine)
    try takeServer(conflict)
    #expect(
      try values("SELECT uuid || site || number || syncStatus FROM OfflineUnit ORDER BY uuid")
        == ["mineb2synced", "theirsa1synced"])
    #expect(try sent().map(\.entityUuid) == ["r1"])
    #expect(try isConsistent())
  }

  @Test("A discarded edit returns UNIQUE values that others reference", arguments: ["Reading", "Tag", "Seal"])
  func discardedValues(type: String) throws {
    _ = try takeValues(referencedBy: type)
    let edits = try values("SELECT operationId FROM OfflineSyncQueue")
    let discard = { try self.sync { try $0.discard(edits) } }
    #expect(throws: VaultError.self, "theirs has not arrived") { try discard() }
    try apply([Self.theirs])
    #expect(try discard() == 0)
    #expect(
      try values("SELECT uuid || site || number || syncStatus FROM OfflineUnit ORDER BY uuid")
        == ["mineb2synced", "theirsa1synced"])
    #expect(try references(type) == ["r1a10synced"])
    #expect(try sent().isEmpty && isConsistent())
  }

  @Test("A discarded create keeps records of the server that reference its values", arguments: ["Reading", "Tag"])
  func discardedCreate(type: String) throws {
    try database.write { try $0.execute("INSERT INTO OfflineUnit (uuid, site, number) VALUES ('mine', 'a', 1)") }
    try apply([Self.version(1, of: type, "r1", ["site": "a", "number": 1])])
    let creates = try values("SELECT operationId FROM OfflineSyncQueue")
    let discard = { try self.sync { try $0.discard(creates) } }
    let error = #expect(throws: VaultError.self) { try discard() }
    #expect(
      error?.message == "\(type) r1 of the server refers to the same values, and the server's Unit has not arrived")
    #expect(try references(type) == ["r1a10synced"])
    try apply([Self.theirs])
    #expect(try discard() == 1)
    #expect(try values("SELECT uuid || isDeleted || syncStatus FROM OfflineUnit") == ["theirs0synced"])
    #expect(try references(type) == ["r1a10synced"])
    #expect(try sent().isEmpty && isConsistent())
  }
}
