import CSQLCipher
import Foundation
import Testing

@testable import CipherSQL

/// Files that open, files that do not, with their errors; and the bytes of encrypted files.
@Suite(.timeLimit(.minutes(20))) struct OpeningTests {
  private func refusal(_ open: () throws -> Database) throws -> SQLError {
    try #require(#expect(throws: SQLError.self) { _ = try open() })
  }

  private func contents(_ path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

  // MARK: Keys and files

  @Test("A database reopens with the same key") func theSameKeyOpensAgain() throws {
    let vault = try TemporaryVault()
    try vault.openHouse().close()
    #expect(try vault.open().read { try $0.fetchOne("SELECT count(*) FROM OfflineRoom", as: Int.self) } == 4)
  }

  @Test("A wrong key is refused with a hint and leaves the file unchanged") func aWrongKeyIsRefused() throws {
    let vault = try TemporaryVault()
    try vault.openHouse().close()
    let error = try refusal { try Database(path: vault.path, key: PlainKey.random()) }
    #expect(error.code == .notADatabase)
    #expect(error.hint == "the key is wrong, or this is not an encrypted database")
    // The attempt has not hurt the file.
    #expect(try vault.open().read { try $0.fetchOne("SELECT count(*) FROM OfflineRoom", as: Int.self) } == 4)
  }

  @Test("A plaintext database is refused and left unchanged") func aPlaintextDatabaseIsRefused() throws {
    let vault = try TemporaryVault()
    var plain: OpaquePointer?
    #expect(sqlite3_open(vault.path, &plain) == SQLITE_OK)
    #expect(sqlite3_exec(plain, "CREATE TABLE t (x); INSERT INTO t VALUES (1)", nil, nil, nil) == SQLITE_OK)
    sqlite3_close(plain)
    let before = try contents(vault.path)
    #expect(before.starts(with: Data("SQLite format 3".utf8)))
    #expect(try refusal { try vault.open() }.code == .notADatabase)
    #expect(try contents(vault.path) == before)
  }

  @Test("A file that is not a database is refused") func anotherKindOfFileIsRefused() throws {
    let vault = try TemporaryVault()
    try Data(String(repeating: "not a database at all. ", count: 1000).utf8).write(to: URL(fileURLWithPath: vault.path))
    #expect(try refusal { try vault.open() }.code == .notADatabase)
  }

  /// Cut inside the first page, behind it, and in the middle of the tables.
  @Test("Reading a truncated file fails", arguments: [2000, 4096, 6000, 20_000]) func aTruncatedFileIsNotTakenForWhole(
    length: Int
  ) throws {
    let vault = try TemporaryVault()
    try vault.openHouse().close()
    let whole = try contents(vault.path)
    #expect(whole.count > 20_000)
    try whole.prefix(length).write(to: URL(fileURLWithPath: vault.path))
    let error = try #require(
      #expect(throws: SQLError.self) {
        let database = try vault.open()
        try database.read { db in
          for table in ["OfflineProject", "OfflineRoom", "OfflineLog"] {
            try db.forEach("SELECT * FROM \(identifier: table)") { _ in }
          }
        }
      })
    #expect([.notADatabase, .damaged, .inputOutput].contains(error.code), "\(error.code): \(error)")
  }

  @Test("A changed byte in each page is detected when the file is opened") func aChangedByteIsNoticed() throws {
    let vault = try TemporaryVault()
    try vault.openHouse().close()
    var bytes = try contents(vault.path)
    for page in stride(from: 0, to: bytes.count, by: 4096) { bytes[page + 100] ^= 1 }
    try bytes.write(to: URL(fileURLWithPath: vault.path))
    let error = try refusal { try vault.open() }
    #expect([.notADatabase, .damaged, .inputOutput].contains(error.code), "\(error.code): \(error)")
  }

  @Test("A path in a missing folder is refused with a hint") func aMissingFolderCannotBeOpened() throws {
    let vault = try TemporaryVault()
    let error = try refusal { try Database(path: vault.folder.path + "/missing/test.db", key: vault.key) }
    #expect(error.code == .cannotOpen)
    #expect(error.hint == "check that the folder exists and is writable")
  }

  @Test("A key has exactly 32 bytes") func aKeyOfAnotherLengthIsRefused() {
    #expect(PlainKey([UInt8](repeating: 1, count: 31)) == nil)
    #expect(PlainKey([UInt8](repeating: 1, count: 33)) == nil)
    #expect(PlainKey([UInt8](repeating: 1, count: 32)) != nil)
  }

  // MARK: Read-only

  @Test("A read-only database refuses writes") func readOnlyRefusesWrites() throws {
    let vault = try TemporaryVault()
    let owner = try vault.openHouse()
    var configuration = Configuration()
    configuration.isReadOnly = true
    let database = try vault.open(configuration)
    #expect(try database.read { try $0.fetchOne("SELECT count(*) FROM OfflineLog", as: Int.self) } == 4)
    let error = #expect(throws: SQLError.self) { try database.write { try $0.execute("DELETE FROM OfflineLog") } }
    #expect(error?.code == .readOnly)
    #expect(try owner.read { try $0.fetchOne("SELECT count(*) FROM OfflineLog", as: Int.self) } == 4)
  }

  @Test("Opening a missing file read-only creates no file") func readOnlyMakesNoFile() throws {
    let vault = try TemporaryVault()
    var configuration = Configuration()
    configuration.isReadOnly = true
    #expect(try refusal { try vault.open(configuration) }.code == .cannotOpen)
    #expect(!FileManager.default.fileExists(atPath: vault.path))
  }

  // MARK: What the files show

  @Test("Neither the database nor its log contains plaintext") func noFileShowsWhatWasWritten() throws {
    let vault = try TemporaryVault()
    let database = try vault.openHouse()
    let marker = "a marker that nothing else holds"
    try database.write { db in
      for number in 0..<200 { try db.insert(Log(logId: 0, roomId: 1, text: "\(marker) \(number)", updatedAt: .now)) }
    }
    func expectNothing(in names: [String]) throws {
      for name in names {
        let bytes = try contents(vault.folder.path + "/" + name)
        for text in [marker, "OfflineRoom", "Kitchen", "SQLite format 3"] {
          #expect(bytes.firstRange(of: Data(text.utf8)) == nil, "\(name) shows \(text)")
        }
      }
    }
    let wal = try contents(vault.path + "-wal")
    #expect(wal.count > 10_000)
    try expectNothing(in: try FileManager.default.contentsOfDirectory(atPath: vault.folder.path))
    #expect(try database.withWriter { try $0.checkpoint() })
    #expect(try contents(vault.path).count > 10_000)
    try expectNothing(in: try FileManager.default.contentsOfDirectory(atPath: vault.folder.path))
    #expect(try database.read { try $0.fetchOne("SELECT count(*) FROM OfflineLog", as: Int.self) } == 204)
  }

  // MARK: Constraints

  private func violation(_ sql: SQL) throws -> ConstraintViolation? {
    let database = try Database.house()
    let error = try #require(#expect(throws: SQLError.self) { try database.write { try $0.execute(sql) } })
    #expect(error.code == .constraint)
    return error.constraint
  }

  @Test("A constraint violation names its table and column") func aConstraintNamesTableAndColumn() throws {
    #expect(
      try violation("UPDATE OfflineRoom SET uuid = (SELECT uuid FROM OfflineRoom WHERE roomId = 1)")
        == .unique(["OfflineRoom.uuid"]))
    #expect(
      try violation("INSERT INTO OfflineProject (projectId, uuid, title) VALUES (1, 'a', 'b')")
        == .unique(["OfflineProject.projectId"]))
    #expect(try violation("UPDATE OfflineRoom SET title = NULL") == .notNull("OfflineRoom.title"))
    #expect(try violation("UPDATE OfflineRoom SET title = ''") == .check("title <> ''"))
    #expect(
      try violation("UPDATE OfflineRoom SET status = 'late'") == .check("status IN ('none', 'active', 'done')"))
    #expect(try violation("UPDATE OfflineRoom SET projectId = 77") == .foreignKey)
    #expect(try violation("DELETE FROM OfflineProject WHERE projectId = 2") == .foreignKey)
    #expect(try violation("UPDATE OfflineRoom SET squareFootage = 'big'") == .type("OfflineRoom.squareFootage"))
  }

  @Test("A violated UNIQUE constraint over two columns names both") func aConstraintOverTwoColumnsNamesBoth() throws {
    let database = try Database.empty()
    try database.write { db in
      try db.execute("CREATE TABLE Pair (a INTEGER, b INTEGER, UNIQUE (a, b)) STRICT")
      try db.execute("INSERT INTO Pair VALUES (1, 2)")
    }
    let error = #expect(throws: SQLError.self) {
      try database.write { try $0.execute("INSERT INTO Pair VALUES (1, 2)") }
    }
    #expect(error?.constraint == .unique(["Pair.a", "Pair.b"]))
  }

  @Test("An error does not contain bound values") func anErrorShowsNoValue() throws {
    let database = try Database.house()
    let secret = "0181 4321"
    let error = try #require(
      #expect(throws: SQLError.self) {
        try database.write { try $0.execute("INSERT INTO OfflineProject (uuid, title) VALUES (NULL, \(secret))") }
      })
    #expect(error.constraint == .notNull("OfflineProject.uuid"))
    #expect(!"\(error) \(error.sql ?? "")".contains(secret))
  }
}
