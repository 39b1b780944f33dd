import CipherSQL
import Foundation
import SyncModel
import Testing

@testable import VaultStore
@testable import SyncEngine

/// The UNIQUE values of restored records.
extension DeletionTests {
  private static func first(_ kind: String) throws -> UUID {
    try #require(UUID(sqlText: Storeroom.uuid(kind == "Thing" ? 2 : 3, 1)))
  }

  @Test(
    "A restoration is refused if a local record has the UNIQUE value, and the error names that record",
    arguments: [("Thing", "code", "'t1'"), ("Seat", "number", "1")], [false, true])
  func takenHere(_ value: (kind: String, column: String, value: String), isRemoved: Bool) async throws {
    let (kind, column) = (value.kind, value.column)
    // A deleted row that stays in the vault keeps its UNIQUE value, so no other record can take the value.
    if kind == "Thing", !isRemoved { return }
    let uuid = try Self.first(kind)
    try await one.delete(kind, uuid)
    if isRemoved { try await one.sync() }
    let change = "UPDATE Offline\(kind) SET \(column) = \(value.value) WHERE \(kind.lowercased())Id = 2"
    try await one.write { _ = try $0.execute(SQL(raw: change)) }
    let before = try await one.everything()
    let error = await #expect(throws: VaultError.self) { try await one.undelete(kind, uuid) }
    let holder = Storeroom.uuid(kind == "Thing" ? 2 : 3, 2)
    #expect(error?.code == .refused && error?.message == "the \(kind) \(holder) now has the same \(column)")
    #expect(try await one.everything() == before)
    // The other record releases the value.
    try await one.write { _ = try $0.execute(SQL(raw: change.replacing(value.value, with: "9"))) }
    _ = try await one.undelete(kind, uuid)
    try await expectAgreement()
  }

  @Test(
    "A restored record whose UNIQUE value is taken at the server becomes a conflict with the other record"
  )
  func takenAtTheServer() async throws {
    let uuid = try Self.first("Thing")
    try await one.delete("Thing", uuid)
    try await one.sync()
    try await two.sync()
    try await two.write { _ = try $0.execute("UPDATE OfflineThing SET code = 't1' WHERE thingId = 2") }
    try await two.sync()
    #expect(try await one.undelete("Thing", uuid) == Restoration(restored: 1, fetched: 1, dependentsFollow: true))
    #expect(try await one.sync(RoundRequest(pulls: false)).conflicts == 1)
    let conflict = try #require(try one.conflicts().first)
    #expect(conflict.conflictType == "not_unique" && conflict.fields == ["code"])
    #expect(conflict.other == RecordReference(entityType: "Thing", entityUuid: Storeroom.uuid(2, 2)))
    try one.resolve(conflict.conflictId, takesLocal: true, choices: ["code": .value("new")])
    try await expectAgreement()
    #expect(try await two.values("SELECT code FROM OfflineThing ORDER BY thingId") == ["t1", "t3", "new"])
  }
}
