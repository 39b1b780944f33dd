import CipherSQL
import Foundation
import RestorationModel
import StoreSupport
import SyncModel
import TestSupport
import Testing
import VaultKeys

@testable import VaultStore

/// The doctor's findings about the outbox, and its repairs.
@Suite struct DoctorOutboxTests {
  private let folder: TemporaryFolder
  private let vault: Vault
  private var path: String { folder.path + "/v.vault" }

  init() throws {
    folder = try TemporaryFolder()
    vault = try Vault.create(
      at: folder.path + "/v.vault",
      schemas: [(SchemaSource(name: "restoration", folder: nil), RestorationSchema.schema)], secret: keyFileSecret(1))
    try vault.database.write { db in
      let project = try db.insert(Project(title: "House"))
      for title in ["Kitchen", "Hall", "Cellar"] { try db.insert(Room(projectId: project.projectId, title: title)) }
    }
  }

  private func doctor() throws -> Doctor {
    try Doctor(path: path, schemas: [RestorationSchema.schema]) { try keyFileSecret(1) }
  }

  private func findings(_ check: String) throws -> [String] { try doctor().examine().findings(check).map(\.what) }

  @Test("The doctor, the explanation and the outbox name an operation that cannot be sent, and it can be discarded")
  func unsendableOperation() throws {
    let uuid = try vault.database.write { db in
      try db.execute("UPDATE OfflineRoom SET squareFootage = 9e999 WHERE title = 'Hall'")
      return try #require(try db.fetchOne("SELECT uuid FROM OfflineRoom WHERE title = 'Hall'", as: String.self))
    }
    #expect(try vault.syncNow { try $0.nextBatch(limit: 25).failed } == 1)
    let found = try findings("sync")
    let said = "1 operation cannot be sent: Room \(uuid): squareFootage is infinite"
    #expect(found.count == 1 && found[0].hasPrefix(said), "\(found)")
    let why = try vault.why(try vault.entities.entity("Room"), try #require(UUID(uuidString: uuid)))
    #expect(why.syncStatus == "failed" && why.reason.contains("squareFootage is infinite"), "\(why)")
    var entries: [OutboxEntry] = []
    try vault.forEachOperation { if $0.status == "failed" { entries.append($0) } }
    #expect(entries.map(\.entityUuid) == [uuid] && entries[0].errorMessage?.contains("squareFootage") == true)
    #expect(try vault.operation(entries[0].operationId).entry.errorMessage?.contains("squareFootage") == true)
    #expect(try vault.discard([entries[0].operationId]) == 1)
    #expect(try findings("sync") == [])
  }

  @Test("Leftovers of records that OR REPLACE removed in older versions are found and removed")
  func replacedRecords() throws {
    try vault.database.write { db in
      for type in ["Project", "Room"] { try markAsSynced(type, in: db, vault.entities) }
      try db.execute("UPDATE OfflineRoom SET title = title || ' 2' WHERE roomId < 3")
      try WriteMode.purge(on: db) { _ = try db.execute("DELETE FROM OfflineRoom WHERE roomId < 3") }
      // Another record has the local id of the second one.
      try WriteMode.sync(on: db) {
        _ = try db.execute(
          "INSERT INTO OfflineRoom (roomId, projectId, title, isDirty, syncStatus, syncVersion) VALUES (2, 1, 'x', 0, 'synced', 1)"
        )
      }
    }
    let found = try findings("sync").joined()
    #expect(found.contains("1 base refers to a missing Room"), "\(found)")
    #expect(found.contains("1 operation refers to another Room than its row"), "\(found)")
    vault.close()
    let doctor = try doctor()
    let report = try doctor.repair(try doctor.examine())
    #expect(report.done == ["queued changes without an operation"] && report.failed.isEmpty)
    #expect(try doctor.examine().findings.isEmpty)
  }
}
