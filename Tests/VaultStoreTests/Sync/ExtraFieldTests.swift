import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import TestSupport
import Testing
import VaultKeys

@testable import VaultStore

/// Members and entity types of a response that the schema of this vault does not contain.
@Suite struct ExtraFieldTests {
  private let folder: TemporaryFolder
  private let vault: Vault
  private let uuid = UUID.version7().uuidString.lowercased()

  init() throws {
    folder = try TemporaryFolder()
    vault = try Vault.create(
      at: folder.path + "/v.vault",
      schemas: [(SchemaSource(name: "restoration", folder: nil), RestorationSchema.schema)], secret: keyFileSecret(1))
  }

  private func remote(_ fields: SyncObject, version: Int64, type: String = "Project") -> RemoteRecord {
    RemoteRecord(
      entityType: type, entityUuid: uuid, serverId: 7, createdAt: 0,
      state: RecordState(fields: fields, syncVersion: version, updatedAt: 1_000))
  }

  private func apply(_ records: RemoteRecord...) throws -> ApplyCounts {
    var counts = ApplyCounts()
    try vault.syncNow { transaction in for record in records { try transaction.changes.apply(record, counts: &counts) }
    }
    return counts
  }

  private func count(_ table: String) throws -> Int? {
    try vault.database.read { try $0.fetchOne("SELECT count(*) FROM \(identifier: table)", as: Int.self) }
  }

  private func digest() throws -> DigestSummary {
    try vault.database.read { connection in
      let table = try #require(vault.syncCatalog.tables["Project"])
      return try StoreDigests(catalog: vault.syncCatalog, connection: connection).digests(of: table).whole
    }
  }

  @Test("An unknown member counts in digests only as long as the newest version has it")
  func unknownMembersGoWithTheirVersion() throws {
    _ = try apply(remote(["title": "Elm"], version: 1))
    let plain = try digest()
    _ = try apply(remote(["title": "Elm", "later": 5], version: 2))
    #expect(try count("SyncExtraFields") == 1)
    #expect(try digest() != plain)
    _ = try apply(remote(["title": "Elm", "older": 5], version: 1))
    _ = try apply(remote(["title": "Elm"], version: 3))
    #expect(try count("SyncExtraFields") == 0)
    #expect(try digest() == plain)
  }

  @Test("A comparison replaces the unknown members of a record with those that the server has")
  func repairsReplaceUnknownMembers() throws {
    _ = try apply(remote(["title": "Elm", "later": 5], version: 2))
    var (repaired, counts) = (RepairCounts(), ApplyCounts())
    try vault.syncNow { transaction in
      try transaction.changes.repair(remote(["title": "Elm"], version: 2), repaired: &repaired, counts: &counts)
    }
    #expect(try count("SyncExtraFields") == 0)
  }

  /// Stores version 1 of the record and seals an edit of it.
  private func sealEdit() throws -> PushOperation {
    _ = try apply(remote(["title": "Elm"], version: 1))
    try vault.database.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'Oak'") }
    return try #require(try vault.syncNow { try $0.nextBatch(limit: 25).operations.first })
  }

  private func acknowledge(_ sent: PushOperation, _ outcome: PushResult.Outcome) throws {
    var counts = PushCounts()
    try vault.syncNow { try $0.acknowledge(outcome, of: sent, jitter: 0, counts: &counts) }
  }

  @Test("A record keeps the unknown members of a merged version")
  func unknownMembersOfMergedVersions() throws {
    try acknowledge(sealEdit(), .merged(remote(["title": "Ash", "later": 5], version: 2), lost: []))
    #expect(try count("SyncExtraFields") == 1)
  }

  @Test(
    "A conflict keeps the unknown members of the server's version, also when it is decided for the server's side",
    arguments: [false, true])
  func unknownMembersOfConflict(isDeletedOnBothSides: Bool) throws {
    let sent = try sealEdit()
    var version = remote(["title": "Ash", "later": 5], version: 2)
    if isDeletedOnBothSides {
      try vault.database.write { _ = try $0.execute("DELETE FROM OfflineProject") }
      version.state.isDeleted = true
      try acknowledge(sent, .conflict(.deletedRemotely, fields: [], record: version))
    } else {
      try acknowledge(sent, .conflict(.concurrentEdit, fields: ["title"], record: version))
      let conflict = try #require(try vault.conflicts(resolved: false).first)
      try vault.resolveConflict(conflict.conflictId, takesLocal: false, user: "ada")
    }
    #expect(try kept() == [#"{"later":5}"#])
  }

  private func kept() throws -> [String] {
    try vault.database.read { try $0.fetch("SELECT fields FROM SyncExtraFields", as: String.self) }
  }

  @Test("A record has the unknown members of the version that it gets in a new epoch")
  func unknownMembersOfNewEpoch() throws {
    _ = try apply(remote(["title": "Elm", "earlier": 5], version: 1))
    var (repaired, counts) = (RepairCounts(), ApplyCounts())
    try vault.syncNow { transaction in
      let record = remote(["title": "Ash", "later": 5], version: 1)
      try transaction.changes.takeAfterNewEpoch(record, repaired: &repaired, counts: &counts)
    }
    #expect(try kept() == [#"{"later":5}"#])
  }

  @Test("An entity name that no schema can have is not kept; one that another schema may have is kept and reported")
  func impossibleEntities() throws {
    for name in ["", "  ", "a\u{0}b", "a\nb", String(repeating: "x", count: 201)] {
      #expect(try apply(remote([:], version: 1, type: name)).kept == 0, "\(name.debugDescription)")
    }
    #expect(try count("SyncInbox") == 0)
    #expect(try apply(remote([:], version: 1, type: "Spaceship")).kept == 1)
    let waiting = try vault.database.read { connection in
      try SyncInvariants.WaitingReason.allCases.map { try SyncInvariants.waitingVersions($0, in: connection) }
    }
    #expect(waiting == [["1 of Spaceship (unknown to this vault)"], []])
  }

  @Test("Columns that a later file added are known with their constant defaults, in new and in old vaults")
  func addedDefaults() throws {
    let fresh = try vault.database.read { try AddedColumns.defaults(in: $0) }
    // As in a vault of version 0.1, whose files were applied before there was this table.
    try vault.database.write { connection in
      let file = try #require(CoreSchema.schema.migrations.last)
      try connection.asMigration {
        try connection.execute("DELETE FROM SyncedColumnDefault")
        try AddedColumns.follow(file, RenamedColumns(of: file, on: connection), on: connection)
      }
    }
    let replayed = try vault.database.read { try AddedColumns.defaults(in: $0) }
    #expect(replayed == fresh)
  }
}
