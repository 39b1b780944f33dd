import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import TestSupport
import Testing
import VaultKeys

@testable import VaultStore

/// Rows of records that the server has deleted.
@Suite struct DeletedVersionTests {
  private let folder: TemporaryFolder
  private let vault: Vault
  private let ids = (0..<4).map { _ in UUID.version7().uuidString.lowercased() }

  init() throws {
    folder = try TemporaryFolder()
    vault = try Vault.create(
      at: folder.path + "/v.vault",
      schemas: [(SchemaSource(name: "restoration", folder: nil), RestorationSchema.schema)], secret: keyFileSecret(1))
  }

  private func apply(
    _ type: String, _ uuid: String, _ fields: SyncObject, version: Int64, isDeleted: Bool = false
  ) throws {
    var counts = ApplyCounts()
    let state = RecordState(fields: fields, isDeleted: isDeleted, syncVersion: version, updatedAt: 1_000)
    try vault.syncNow { transaction in
      try transaction.changes.apply(
        RemoteRecord(entityType: type, entityUuid: uuid, serverId: 7, createdAt: 0, state: state), counts: &counts)
    }
  }

  @Test(
    "A row that keeps a reference which the deleted version does not have keeps its version too",
    arguments: [true, false])
  func keptReference(isHere: Bool) throws {
    let project = SyncValue.text(ids[0])
    try apply("Project", ids[0], ["title": "Elm"], version: 1)
    try apply("Room", ids[1], ["title": "Hall", "projectId": project], version: 1)
    if isHere { try apply("Room", ids[2], ["title": "Attic", "projectId": project], version: 1) }
    let note: SyncObject = ["projectId": project, "roomId": .text(ids[1]), "body": "wet"]
    try apply("Note", ids[3], note, version: 1)
    try apply("Note", ids[3], note.overlaid(with: ["roomId": .text(ids[2])]), version: 3, isDeleted: true)
    let rows = try vault.database.read { connection in
      try connection.fetchRows(
        "SELECT note.isDeleted, note.syncVersion, room.title FROM OfflineNote AS note JOIN OfflineRoom AS room USING (roomId)",
        as: Bool.self, Int64.self, String?.self)
    }
    // A restoration by a user is sent as an edit of that version, and the server returns its own reference.
    #expect(rows.count == 1 && rows.first?.0 == true && rows.first?.1 == (isHere ? 3 : 1))
  }
}
