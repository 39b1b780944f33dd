import Foundation
import Testing

@testable import CipherSQL

/// No statement of a caller changes the encryption, the settings or the transaction of a connection, or reaches outside of
/// its database.
@Suite struct StatementPolicyTests {
  private let vault: TemporaryVault
  private let database: Database

  init() throws {
    vault = try TemporaryVault()
    database = try vault.openHouse()
  }

  /// The pragmas of SQLCipher 4.6.1, which SQLite does not list.
  private static let cipherPragmas = [
    "activate_extensions", "cipher", "cipher_add_random", "cipher_compatibility", "cipher_default_compatibility",
    "cipher_default_hmac_algorithm", "cipher_default_kdf_algorithm", "cipher_default_kdf_iter",
    "cipher_default_page_size", "cipher_default_plaintext_header_size", "cipher_default_settings",
    "cipher_default_use_hmac", "cipher_fips_status", "cipher_hmac_algorithm", "cipher_hmac_pgno",
    "cipher_hmac_salt_mask", "cipher_integrity_check", "cipher_kdf_algorithm", "cipher_license", "cipher_log",
    "cipher_log_level", "cipher_log_source", "cipher_memory_security", "cipher_migrate", "cipher_page_size",
    "cipher_plaintext_header_size", "cipher_profile", "cipher_provider", "cipher_provider_version", "cipher_salt",
    "cipher_settings", "cipher_status", "cipher_store_pass", "cipher_test", "cipher_test_off", "cipher_test_on",
    "cipher_use_hmac", "cipher_version", "fast_kdf_iter", "hexkey", "hexrekey", "kdf_iter", "key", "rekey",
    "rekey_cipher", "rekey_kdf_iter", "textkey", "textrekey",
  ]

  /// All pragmas that SQLite and SQLCipher know, and one that neither knows.
  private func pragmas() throws -> [String] {
    let listed = try database.read { try $0.fetch("SELECT name FROM pragma_pragma_list", as: String.self) }
    #expect(listed.count > 60)
    return Set(listed + Self.cipherPragmas + ["unknown_pragma"]).sorted()
  }

  /// The names and bytes of the files of the database. The index of the log in shared memory is left out: readers mark
  /// their places in it.
  private func bytes() throws -> [String: Data] {
    var bytes: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: vault.folder.path) where !name.hasSuffix("-shm") {
      bytes[name] = try Data(contentsOf: URL(filePath: vault.folder.path + "/" + name))
    }
    return bytes
  }

  /// Runs a text through each entrance that takes SQL, and ignores the result.
  private func runEverywhere(_ sql: String) throws {
    let statement = SQL(raw: sql)
    _ = try? database.read { try $0.fetch(statement, as: SQLArgument.self) }
    _ = try? database.write { _ = try $0.fetch(statement, as: SQLArgument.self) }
    _ = try? database.withWriter { _ = try $0.execute(statement) }
    let schema = Schema(
      name: "shop", migrations: [MigrationFile(version: 1, name: "step", sql: sql + ";\nSELECT nothing")])
    #expect(throws: SQLError.self) { try Migrator(schemas: [schema]).apply(to: database) }
  }

  @Test("No pragma that SQLite or SQLCipher knows changes a byte, through any entrance")
  func pragmasChangeNothing() throws {
    let before = try bytes()
    let file = vault.folder.path + "/written"
    for name in try pragmas() {
      for argument in ["", " = 1", " = 'abc'", "('\(file)')", " = \"x'\(String(repeating: "ab", count: 32))'\""] {
        try runEverywhere("PRAGMA \(name)\(argument)")
      }
      for sql in [
        "PRAGMA main.\(name) = 'abc'", "EXPLAIN PRAGMA \(name) = 'abc'",
        "/**/ pragma \"\(name.uppercased())\" ('abc') ;",
        "SELECT * FROM pragma_\(name)", "SELECT * FROM pragma_\(name)('abc')",
      ] { try runEverywhere(sql) }
      let after = try bytes()
      #expect(after.keys.sorted() == before.keys.sorted(), "PRAGMA \(name)")
      #expect(after == before, "PRAGMA \(name)")
    }
    // The settings that keep writes safe are as they were, and the key opens the file.
    try database.withWriter { db throws in
      #expect(try db.fetchOne("PRAGMA journal_mode", as: String.self) == "wal")
      #expect(try db.fetchOne("PRAGMA synchronous", as: Int.self) == 2)
      #expect(try db.fetchOne("PRAGMA foreign_keys", as: Int.self) == 1)
      #expect(try db.fetchOne("PRAGMA ignore_check_constraints", as: Int.self) == 0)
      #expect(try db.fetchOne("PRAGMA temp_store", as: Int.self) == 2)
    }
    try database.write { try $0.insert(Project(title: "Quay")) }
    database.close()
    #expect(try vault.open().read { try Project.all.count($0) } == 3)
  }

  @Test(
    "Statements that reach outside of the database change nothing",
    arguments: [
      "ATTACH 'other.db' AS other", "ATTACH '' AS other", "ATTACH ':memory:' AS other", "DETACH main", "VACUUM",
      "VACUUM INTO 'copy.db'", "EXPLAIN VACUUM INTO 'copy.db'", "SELECT load_extension('x')",
      "SELECT sqlcipher_export('main')", "SELECT fts3_tokenizer('simple')",
      "UPDATE sqlite_schema SET sql = 'CREATE TABLE x (y)'", "DELETE FROM sqlite_schema",
      "UPDATE sqlite_dbpage SET data = zeroblob(4096)",
    ])
  func nothingReachesOutside(_ sql: String) throws {
    let before = try bytes()
    try runEverywhere(sql)
    #expect(try bytes() == before)
    #expect(try database.read { try $0.fetch("SELECT name FROM pragma_database_list", as: String.self) } == ["main"])
  }

  @Test(
    "A refusal names the action and the way to reach the same goal",
    arguments: [
      ("PRAGMA rekey = 'x'", "PRAGMA rekey is not allowed", "a key rotation changes the key"),
      ("PRAGMA cipher_log = '/tmp/x'", "PRAGMA cipher_log is not allowed", "settings of the encryption are fixed"),
      ("PRAGMA user_version = 3", "PRAGMA user_version must not be given a value", "the library sets it"),
      ("PRAGMA writable_schema = 1", "PRAGMA writable_schema is not allowed", "table_info"),
      ("ATTACH 'x' AS y", "ATTACH and VACUUM are not allowed", "a backup makes an encrypted copy"),
      ("VACUUM", "ATTACH and VACUUM are not allowed", "a backup makes an encrypted copy"),
      ("DETACH y", "DETACH is not allowed", "one database"),
      ("BEGIN", "BEGIN is not allowed in a statement", "each write is one transaction"),
      ("SAVEPOINT a", "a savepoint is not allowed in a statement", "each write is one transaction"),
      ("SELECT load_extension('x')", "the function load_extension is not allowed", "come with the program"),
    ])
  func refusals(_ sql: String, _ message: String, _ remedy: String) throws {
    let error = #expect(throws: SQLError.self) { try database.write { try $0.execute(SQL(raw: sql)) } }
    #expect(error?.code == .notAllowed)
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    #expect(error?.hint?.contains(remedy) == true, "\(error?.hint ?? "")")
  }

  @Test("A refused COMMIT leaves the transaction open, and its rows are undone with it")
  func commitIsRefused() throws {
    #expect(throws: SQLError.self) {
      try database.write { db throws in
        try db.insert(Project(title: "Quay"))
        try db.execute("COMMIT")
      }
    }
    #expect(try database.read { try Project.all.count($0) } == 2)
  }

  @Test("Pragmas that describe the schema, and settings without a value, are allowed and count as reading")
  func describingIsAllowed() throws {
    let allowed = try pragmas().filter { name in
      let run = try? database.read { db throws in
        try db.withStatement("PRAGMA \(name)") { statement in
          #expect(statement.isReadOnly, "PRAGMA \(name)")
          try statement.run()
        }
      }
      return run != nil
    }
    #expect(allowed.contains("journal_mode") && allowed.contains("synchronous") && allowed.count > 20, "\(allowed)")
    try database.read { db throws in
      #expect(try db.fetch("SELECT name FROM pragma_table_info('OfflineProject')", as: String.self).contains("title"))
      #expect(try db.fetchOne("PRAGMA user_version", as: Int.self) == 0)
      #expect(try db.fetchOne("PRAGMA foreign_key_check(OfflineRoom)", as: String.self) == nil)
      #expect(try db.fetchOne("PRAGMA integrity_check", as: String.self) == "ok")
    }
    // References that are checked at the end of the transaction; the setting ends with it.
    try database.write { db throws in
      try db.execute("PRAGMA defer_foreign_keys = ON")
      try db.execute("INSERT INTO OfflineLog (roomId, text, updatedAt) VALUES (90, 'early', '')")
      try db.execute(
        "INSERT INTO OfflineRoom (roomId, uuid, projectId, title, status, floor, updatedAt) VALUES (90, 'u', 1, 't', 'done', 1, '')"
      )
    }
  }

  @Test("Tables, full-text indexes and columns can be made, changed and dropped")
  func definitionsAreAllowed() throws {
    try database.write { db throws in
      for sql in [
        "CREATE VIRTUAL TABLE words USING fts5(text)", "INSERT INTO words VALUES ('wet baseboard')",
        "INSERT INTO words(words) VALUES ('optimize')", "CREATE VIRTUAL TABLE old USING fts4(text)",
        "CREATE VIRTUAL TABLE area USING rtree(id, x0, x1)", "INSERT INTO area VALUES (1, 2, 3)",
        "CREATE TABLE plain (a UNIQUE, b AS (a || 'x'))", "CREATE INDEX plain_a ON plain (a)", "ANALYZE", "REINDEX",
        "ALTER TABLE plain ADD COLUMN c INTEGER CHECK (c > 0)", "ALTER TABLE plain RENAME COLUMN c TO d",
        "ALTER TABLE plain DROP COLUMN d", "ALTER TABLE plain RENAME TO plainer", "DROP TABLE plainer",
        "CREATE TEMP TABLE scratch (a)", "CREATE TEMP TRIGGER t AFTER INSERT ON OfflineLog BEGIN SELECT 1; END",
        "DROP TRIGGER t",
        "CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT i FROM n",
        "DROP VIEW v", "DROP TABLE words",
      ] { try db.execute(SQL(raw: sql)) }
    }
  }
}
