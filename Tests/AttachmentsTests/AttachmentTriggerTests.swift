import CipherSQL
import Foundation
import RestorationModel
import StoreSupport
import SyncModel
import Testing

@testable import Attachments
@testable import VaultStore

/// A database with a project, into which photos are put as sync or a person would.
struct PhotoBench {
  let database: Database
  let entities: Entities
  let catalog: SyncCatalog
  static let digest = String(repeating: "0123456789abcdef", count: 4)

  init() throws {
    (database, entities) = try restorationDatabase()
    catalog = SyncCatalog(entities)
    try database.write { db in
      _ = try db.insert(Project(title: "House"))
      try markAsSynced("Project", in: db, entities)
    }
  }

  static func content(_ number: Int) -> String { "01900000-0000-7000-8000-" + String(format: "%012d", number) }

  /// A photo with a content, typed as SQL.
  func addPhoto(
    _ content: String?, key: [UInt8] = Array(repeating: 7, count: 32), thumbnail: String? = PhotoBench.digest,
    isTyped: Bool = true, version: Int64 = 0
  ) throws {
    try database.write { db in
      let insertion: SQL = """
        INSERT INTO OfflinePhoto (projectId, fileName, fileSize, mimeType, contentUuid, contentKey, contentDigest,
          thumbnailDigest, syncVersion, isDirty)
        VALUES (1, 'a.jpg', 1000, 'image/jpeg', \(content.sqlArgument), \(key), \(Self.digest), \(thumbnail.sqlArgument),
          \(version), \(isTyped))
        """
      _ = try isTyped ? db.execute(insertion) : WriteMode.sync(on: db) { try db.execute(insertion) }
    }
  }

  /// Says that the files of a content are here, as taking it in does.
  func markHere(_ content: String, bytes: Int64 = 1100) throws {
    try database.write { db in
      for variant in AttachmentVariant.allCases {
        try AttachmentContentRow.note(.here, sealedBytes: bytes, of: content, variant, in: db)
      }
      try AttachmentContentRow.queueUploads(of: content, in: db)
    }
  }

  func count(_ sql: SQL) throws -> Int { try database.read { try $0.fetchOne(sql, as: Int.self) ?? 0 } }
  func texts(_ sql: SQL) throws -> [String] { try database.read { try $0.fetch(sql, as: String.self) } }

  func sync<Result>(now: Int64 = 0, _ body: (SyncTransaction) throws -> Result) throws -> Result {
    try database.write { try SyncTransaction.run(on: $0, catalog, now: now, body) }
  }
}

/// The rows of `AttachmentContent` follow the records that reference them, whoever writes these records.
@Suite struct AttachmentTriggerTests {
  private let bench: PhotoBench
  private let one = PhotoBench.content(1)

  init() throws { bench = try PhotoBench() }

  @Test("A record creates the content that it references", arguments: [true, false])
  func aRecordMakesTheContentThatItRefersTo(isTyped: Bool) throws {
    try bench.addPhoto(one, isTyped: isTyped)
    #expect(
      try bench.texts("SELECT contentUuid || full || byteCount || digest FROM AttachmentContent") == [
        one + "absent1000" + PhotoBench.digest
      ])
    #expect(try bench.count("SELECT count(*) FROM AttachmentContent WHERE thumbnailDigest IS NOT NULL") == 1)
  }

  @Test("Content uuid, key and digest are sent; device-only columns are not")
  func contentUuidKeyAndDigestAreSentAndWhatConcernsThisDeviceIsNot() throws {
    try bench.addPhoto(one)
    try bench.markHere(one)
    let payload = try #require(
      try bench.sync { transaction in
        let queued = try QueuedOperation.all(where: "entityType = 'Photo'", [], in: transaction.connection)
        return try queued.first.flatMap { try PayloadBuilder(sync: transaction).preview($0)?.wire.json }
      })
    for field in ["contentUuid", "contentKey", "contentDigest", "thumbnailDigest"] {
      #expect(payload.contains("\"\(field)\""))
    }
    for field in ["uploadStatus", "localPath", "tusUploadId"] { #expect(!payload.contains(field)) }
    #expect(payload.contains(Data(repeating: 7, count: 32).base64EncodedString()))
  }

  @Test("Records with equal content share one file under the first key")
  func recordsOfTheSameContentShareItAndTheFirstKeyCounts() throws {
    try bench.addPhoto(one)
    try bench.addPhoto(one, key: Array(repeating: 9, count: 32))
    #expect(try bench.count("SELECT count(*) FROM AttachmentContent") == 1)
    #expect(try bench.texts("SELECT hex(contentKey) FROM AttachmentContent") == [String(repeating: "07", count: 32)])
  }

  @Test("A content key is removed when the last record is purged") func theKeyGoesWithTheLastRecordAndNotBefore() throws
  {
    try bench.addPhoto(one)
    try bench.addPhoto(one)
    func purge(_ condition: SQL) throws {
      try bench.database.write { db in
        try WriteMode.purge(on: db) {
          try db.execute("DELETE FROM OfflinePhoto WHERE \(condition)")
        }
      }
    }
    _ = try bench.database.write { try $0.execute("DELETE FROM OfflinePhoto") }
    // Marked as deleted: a discard may bring them back.
    #expect(try bench.count("SELECT count(*) FROM AttachmentContent") == 1)
    try purge("photoId = 1")
    #expect(try bench.count("SELECT count(*) FROM AttachmentContent") == 1)
    try bench.markHere(one)
    try purge("photoId = 2")
    #expect(try bench.count("SELECT count(*) FROM AttachmentContent") == 0)
    #expect(try bench.count("SELECT count(*) FROM AttachmentTransfer") == 0)
  }

  @Test("Purging a project removes the keys of its photos") func thePurgeOfAProjectTakesTheKeysOfItsPhotos() throws {
    try bench.addPhoto(one)
    try bench.database.write { db in
      try WriteMode.purge(on: db) {
        try db.execute("DELETE FROM OfflineProject")
      }
    }
    #expect(try bench.count("SELECT count(*) FROM OfflinePhoto") == 0)
    #expect(try bench.count("SELECT count(*) FROM AttachmentContent") == 0)
  }

  @Test("A record with an invalid content reference is stored without a content")
  func whatIsNoContentIsStoredLikeAnyOtherRecord() throws {
    // A third-party schema, without FieldVault's CHECKs.
    let database = try Database.inMemory()
    let schema = Schema(
      name: "own",
      migrations: [
        MigrationFile(
          version: 1, name: "scans",
          sql: try bench.texts("SELECT sql FROM sqlite_schema WHERE name = 'OfflineAlbum'")[0]
            .replacing("OfflineAlbum", with: "Scan").replacing("albumId", with: "scanId")
            .replacing("projectId INTEGER NOT NULL REFERENCES OfflineProject (projectId) ON DELETE CASCADE,", with: "")
            .replacing("roomId INTEGER REFERENCES OfflineRoom (roomId) ON DELETE CASCADE,", with: "")
            .replacing("title TEXT", with: "contentUuid TEXT, contentKey BLOB, contentDigest TEXT, title TEXT")
            + ";INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('Scan', 'Scan', 'own');")
      ])
    try Vault.migrator(for: [schema]).apply(to: database)
    let bad: [(String, [UInt8])] = [
      ("../../etc/passwd", Array(repeating: 1, count: 32)), ("", Array(repeating: 1, count: 32)),
      (one.uppercased(), []), (one, Array(repeating: 1, count: 31)), (one, []),
      ("01900000-0000-7000-8000-00000000000/", Array(repeating: 1, count: 32)),
      ("A1900000-0000-7000-8000-000000000001", Array(repeating: 1, count: 32)),
    ]
    try database.write { db in
      for (uuid, key) in bad {
        try db.execute(
          "INSERT INTO Scan (title, contentUuid, contentKey, contentDigest) VALUES ('x', \(uuid), \(key), 'no')")
      }
      try db.execute(
        "INSERT INTO Scan (title, contentUuid, contentKey, contentDigest) VALUES ('x', \(one), zeroblob(32), 'no digest')"
      )
    }
    let found = try database.read { db in
      (
        try db.fetchOne("SELECT count(*) FROM Scan", as: Int.self),
        try db.fetch("SELECT contentUuid FROM AttachmentContent WHERE digest IS NULL", as: String.self)
      )
    }
    #expect(found.0 == bad.count + 1)
    #expect(found.1 == [one])
  }

  @Test("A migration that fills content columns creates the contents")
  func aMigrationThatFillsTheColumnsMakesTheContents() throws {
    try bench.addPhoto(nil)
    try bench.database.write { db in
      try DerivedTriggers.drop(in: db)
      try db.execute(
        "UPDATE OfflinePhoto SET contentUuid = \(one), contentKey = zeroblob(32), contentDigest = \(PhotoBench.digest)")
      try VaultTriggers.create(in: db)
    }
    #expect(try bench.texts("SELECT contentUuid FROM AttachmentContent") == [one])
  }

  @Test("A record shows its upload progress without becoming dirty")
  func aRecordSaysHowFarItsUploadIsAndThatIsNoChangeOfIt() throws {
    try bench.addPhoto(one)
    try bench.database.write { try markAsSynced("Photo", in: $0, bench.entities) }
    func said() throws -> [String] {
      try bench.texts(
        "SELECT uploadStatus || ' ' || localPath || ' ' || coalesce(tusUploadId, '-') || ' ' || isDirty FROM OfflinePhoto"
      )
    }
    #expect(try said() == ["pending  - 0"])
    try bench.markHere(one)
    let path = "attachments/01/" + one
    #expect(try said() == ["pending \(path) - 0"])
    let transfers = try bench.sync { ($0, try $0.nextUpload(), try $0.nextUpload()) }
    let (small, full) = (try #require(transfers.1), try #require(transfers.2))
    #expect(small.variant == .thumbnail && full.variant == .full)
    try bench.sync { try $0.note(address: "/v1/files/uploads/7", of: full) }
    #expect(try said() == ["uploading \(path) /v1/files/uploads/7 0"])
    try bench.sync { try $0.transferRefused(full, "no") }
    #expect(try said() == ["failed \(path) /v1/files/uploads/7 0"])
    try bench.sync { transaction in
      try transaction.uploadCompleted(small, compared: nil)
      try transaction.uploadCompleted(full, compared: nil)
    }
    #expect(try said() == ["completed \(path) - 0"])
    // A second record of the same content says the same from the beginning.
    try bench.addPhoto(one, isTyped: false, version: 3)
    #expect(try said() == ["completed \(path) - 0", "completed \(path) - 0"])
    #expect(try bench.count("SELECT count(*) FROM OfflineSyncQueue") == 0)
  }
}
