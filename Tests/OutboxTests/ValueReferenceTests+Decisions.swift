import CipherSQL
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
      #expect(try sync { transaction in try creates.map(transaction.discard) } == [1])
    }
    #expect(try values("SELECT uuid || site || number || isDeleted || syncStatus FROM OfflineTag") == ["t1b20synced"])
    #expect(try values("SELECT uuid FROM OfflineUnit WHERE isDeleted = 0") == ["u1"])
    #expect(try sent().isEmpty && isConsistent())
  }
}
