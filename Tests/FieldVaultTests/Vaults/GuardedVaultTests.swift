import Foundation
import TestSupport
import Testing

/// Statements that would change the encryption, the settings or the schema of a vault are refused through every entrance that a user
/// types SQL into, and leave the vault as it was.
@Suite(.enabled(if: tool("sqlcipher") != nil, "sqlcipher is not installed"))
struct GuardedVaultTests {
  /// A way of typing a statement.
  enum Entrance: String, CaseIterable {
    case query, write, command, pipe

    var isShell: Bool { self == .command || self == .pipe }

    func run(_ sql: String, _ shop: Workshop) throws -> Ran {
      switch self {
      case .query: try shop.run("query", sql)
      case .write: try shop.run("query", sql, "--write")
      case .command: try shop.run("shell", "--command", sql + ";")
      case .pipe: try shop.run("shell", input: sql + ";\nSELECT 'after' AS it;\n")
      }
    }
  }

  private static func check(_ shop: Workshop, _ content: [String], _ sql: String) throws {
    #expect(try shop.content() == content, "\(sql)")
    let doctor = try shop.run("doctor", "--json")
    #expect(doctor.status == 0, "\(sql): \(doctor.output)")
    #expect(try shop.run("migrate", "verify").status == 0, "\(sql)")
  }

  private static let harmful = [
    ("PRAGMA rekey = 'x'", "PRAGMA rekey is not allowed"), ("PRAGMA key = 'x'", "PRAGMA key is not allowed"),
    ("PRAGMA cipher_page_size = 8192", "PRAGMA cipher_page_size is not allowed"),
    ("PRAGMA journal_mode = DELETE", "PRAGMA journal_mode must not be given a value"),
    ("PRAGMA user_version = 77", "PRAGMA user_version must not be given a value"),
    ("ATTACH 'plain.db' AS plain KEY ''", "ATTACH and VACUUM are not allowed"),
    ("VACUUM INTO 'copy.db'", "ATTACH and VACUUM are not allowed"), ("VACUUM", "ATTACH and VACUUM are not allowed"),
    ("SELECT sqlcipher_export('main')", "the function sqlcipher_export is not allowed"),
    ("SELECT load_extension('x')", "the function load_extension is not allowed"),
    ("DROP TABLE OfflineRoom", "the table OfflineRoom belongs to a schema"),
    ("DROP TABLE SyncBase", "the table SyncBase belongs to a schema"),
    ("DROP TABLE SchemaMigration", "the table SchemaMigration belongs to a schema"),
    ("DROP TABLE NoteSearch", "the table NoteSearch belongs to a schema"),
    ("DROP TABLE NoteSearch_data", "table NoteSearch_data may not be dropped"),
    ("DROP VIEW outbox", "the view outbox belongs to a schema"),
    ("DROP INDEX OfflineRoom_project", "the index OfflineRoom_project belongs to a schema"),
    ("DROP INDEX fieldvault_deleted_OfflineRoom", "the index fieldvault_deleted_OfflineRoom is reserved"),
    ("DROP TRIGGER fieldvault_delete_OfflineRoom", "the trigger fieldvault_delete_OfflineRoom is reserved"),
    ("ALTER TABLE OfflineRoom RENAME TO Chambers", "the table OfflineRoom belongs to a schema"),
    ("ALTER TABLE OfflineRoom DROP COLUMN squareFootage", "the table OfflineRoom belongs to a schema"),
    ("ALTER TABLE OfflineRoom RENAME COLUMN title TO name", "the table OfflineRoom belongs to a schema"),
    ("ALTER TABLE OfflineRoom ADD COLUMN colour TEXT", "the table OfflineRoom belongs to a schema"),
    ("DELETE FROM SyncedEntity", "must not write to the table SyncedEntity"),
    ("UPDATE SyncedColumn SET isLocalOnly = 1", "must not write to the table SyncedColumn"),
    ("DELETE FROM SchemaMigration", "must not write to the table SchemaMigration"),
    ("DELETE FROM SyncTakenValue", "must not write to the table SyncTakenValue"),
    ("UPDATE sqlite_schema SET sql = 'x'", "table sqlite_master may not be modified"),
  ]

  @Test("A statement that would harm the vault is refused through every entrance, and no byte of the database changes")
  func harmIsRefused() throws {
    let shop = try Workshop()
    let content = try shop.content()
    let before = try #require(try shop.database())
    for (sql, message) in Self.harmful {
      for entrance in Entrance.allCases {
        let ran = try entrance.run(sql, shop)
        #expect(ran.status == (entrance.isShell ? 1 : 10), "\(entrance): \(sql)")
        #expect(ran.errors.contains(message), "\(entrance): \(sql): \(ran.errors)")
        // The shell goes on with the next line, as it does after any error.
        if entrance == .pipe { #expect(ran.output.contains("after"), "\(sql)") }
        #expect(try shop.database() == before, "\(entrance): \(sql)")
      }
    }
    try Self.check(shop, content, "at the end")
    for name in ["plain.db", "copy.db"] { #expect(!FileManager.default.fileExists(atPath: name)) }
  }

  @Test("The error for a table of a schema names the valid way, in query and in the shell")
  func wayIsNamed() throws {
    let shop = try Workshop()
    for entrance in Entrance.allCases {
      let ran = try entrance.run("DROP TABLE OfflineRoom", shop)
      #expect(ran.errors.contains("add a file NNNN_name.sql to the schema's folder and apply it"))
    }
  }

  /// The pragmas that SQLite lists, and those of SQLCipher, which it does not.
  private func pragmas(_ shop: Workshop) throws -> [String] {
    let listed = try shop.done("query", "SELECT name FROM pragma_pragma_list", "--json").rows()
    return listed.compactMap { $0["name"] as? String } + [
      "activate_extensions", "cipher_add_random", "cipher_compatibility", "cipher_default_kdf_iter",
      "cipher_default_page_size", "cipher_default_plaintext_header_size", "cipher_default_use_hmac",
      "cipher_hmac_algorithm", "cipher_kdf_algorithm", "cipher_log", "cipher_memory_security", "cipher_migrate",
      "cipher_page_size", "cipher_plaintext_header_size", "cipher_profile", "cipher_salt", "cipher_store_pass",
      "cipher_use_hmac", "fast_kdf_iter", "hexkey", "hexrekey", "kdf_iter", "key", "rekey", "rekey_cipher",
      "rekey_kdf_iter", "textkey", "textrekey", "unknown_pragma",
    ]
  }

  @Test("No pragma typed into the shell changes the vault")
  func pragmasInTheShell() throws {
    let shop = try Workshop()
    let content = try shop.content()
    let file = shop.path("written")
    var lines = ""
    for name in try pragmas(shop) {
      for argument in ["", " = 1", " = 'abc'", "('\(file)')", " = \"x'\(String(repeating: "ab", count: 32))'\""] {
        lines += "PRAGMA \(name)\(argument);\nPRAGMA main.\(name)\(argument);\n"
      }
      lines += "EXPLAIN PRAGMA \(name) = 'abc';\nSELECT * FROM pragma_\(name)('abc');\n"
    }
    let ran = try shop.run("shell", input: lines + "SELECT 'after' AS it;\n")
    #expect(ran.output.contains("after"))
    #expect(ran.errors.contains("fieldvault: PRAGMA rekey is not allowed: a key rotation changes the key"))
    #expect(!FileManager.default.fileExists(atPath: file))
    try Self.check(shop, content, "pragmas")
    let kept = try shop.done("query", "PRAGMA journal_mode", "--json").rows()
    #expect(kept.map { $0["journal_mode"] as? String } == ["wal"])
  }

  @Test("Other shell commands behave as in the plain sqlcipher shell")
  func conveniences() throws {
    let shop = try Workshop()
    try shop.write("a,b\n1,2\n3,4\n", to: "own.csv")
    try shop.write(
      "BEGIN;\nINSERT INTO own VALUES ('5', '6');\nSAVEPOINT s;\nDELETE FROM own;\nROLLBACK TO s;\nCOMMIT;\n",
      to: "own.sql")
    let file = { (name: String) in "'\(shop.path(name))'" }
    let typed = """
      .mode list
      .import --csv \(file("own.csv")) own
      .read \(file("own.sql"))
      BEGIN;
      DELETE FROM own;
      ROLLBACK;
      SELECT 'rows ' || count(*) FROM own;
      CREATE INDEX own_a ON own (a);
      CREATE TEMP TABLE passing (a);
      CREATE TRIGGER own_t AFTER UPDATE ON OfflineRoom BEGIN INSERT INTO own VALUES (NEW.title, 't'); END;
      UPDATE OfflineRoom SET title = 'Loft';
      SELECT 'traced ' || a FROM own WHERE b = 't';
      .indexes own
      .tables own
      .schema own
      .dump own
      .databases
      .parameter set :a 7
      SELECT 'parameter ' || :a;
      PRAGMA journal_mode;
      PRAGMA table_info(own);
      .output \(file("out.txt"))
      SELECT 'to a file';
      .output
      DROP TRIGGER own_t;
      DROP INDEX own_a;
      ALTER TABLE own RENAME TO mine;
      DROP TABLE mine;

      """
    let ran = try shop.run("shell", input: typed)
    #expect(ran.errors.isEmpty, "\(ran.errors)")
    for part in [
      "rows 3", "traced Loft", "own_a", "CREATE TABLE IF NOT EXISTS \"own\"", "INSERT INTO own VALUES('5','6')",
      "parameter 7", "wal", "v.vault/db/0001/vault.db",
    ] { #expect(ran.output.contains(part), "\(part) in \(ran.output)") }
    #expect(try String(contentsOfFile: shop.path("out.txt"), encoding: .utf8).contains("to a file"))
    #expect(try shop.done("list", "Room", "--json").rows()[0]["title"] as? String == "Loft")
    #expect(try shop.run("doctor").status == 0)
  }

  @Test("The shell loads no further extension and makes no copy by .backup")
  func loadIsRefused() throws {
    let shop = try Workshop()
    let ran = try shop.run("shell", input: ".load x\n.backup \(shop.path("b.db"))\n")
    #expect(ran.errors.contains("not authorized"))
    #expect(ran.errors.contains("backup is not supported with encrypted databases"))
  }

  @Test("An own name that a schema does not have is dropped, and the schema's file still changes its tables")
  func migrations() throws {
    let shop = try Workshop()
    try shop.done("query", "CREATE TABLE own (a)", "--write")
    try shop.done("query", "ALTER TABLE own ADD COLUMN b", "--write")
    try shop.done("shell", "--command", "DROP TABLE own")
    try shop.write(
      """
      CREATE TABLE OfflineTool (
        toolId INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE DEFAULT (lower(hex(randomblob(16)))), name TEXT
      ) STRICT;
      """, to: "tools/0001_tools.sql")
    try shop.done("migrate", "apply", "--schema", shop.path("tools"))
    #expect(try shop.run("query", "DROP TABLE OfflineTool", "--write").status == 10)
    #expect(try shop.run("shell", "--command", "DROP TABLE OfflineTool").status == 1)
    try shop.write("ALTER TABLE OfflineTool RENAME COLUMN name TO title;\n", to: "tools/0002_title.sql")
    try shop.write("DROP TABLE OfflineTool;\n", to: "tools/0003_gone.sql")
    try shop.done("migrate", "apply")
    try shop.done("query", "CREATE TABLE OfflineTool (a)", "--write")
    try shop.done("shell", "--command", "DROP TABLE OfflineTool")
    #expect(try shop.run("doctor").status == 0)
  }

  // MARK: The extension

  /// A copy of the program in a folder, with the extension where the test wants it.
  private func install(_ shop: Workshop, _ folder: String, library: String?) throws -> String {
    let program = try builtProgram("fieldvault")
    let name = "libFieldVaultShellGuard.so"
    let place = shop.path(folder)
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: program, toPath: place + "/fieldvault")
    if let library {
      let target = URL(filePath: place + "/" + library).standardized.path
      try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
      let source = URL(filePath: program).deletingLastPathComponent().path + "/" + name
      try FileManager.default.copyItem(atPath: source, toPath: target + "/" + name)
    }
    return place + "/fieldvault"
  }

  #if os(Linux)
    @Test(
      "The extension is found beside the program and in ../lib, under any name of the folder",
      arguments: [("bin", "."), ("bin", "../lib"), ("it's a \"bin\" \\ 写", ".")])
    func places(_ folder: String, _ library: String) throws {
      let shop = try Workshop()
      let program = try install(shop, folder, library: library)
      let ran = try run(program, ["shell", "--command", "PRAGMA rekey = 'x'"], environment: shop.environment())
      #expect(ran.status == 1 && ran.errors.contains("PRAGMA rekey is not allowed"), "\(ran.errors)")
      // Through a link, as in a folder of the PATH.
      try FileManager.default.createSymbolicLink(atPath: shop.path("link"), withDestinationPath: program)
      let linked = try run(
        shop.path("link"), ["shell", "--command", "SELECT 1 AS one"], environment: shop.environment())
      #expect(linked.status == 0 && linked.output.contains("one"), "\(linked.errors)")
    }

    @Test("Without its extension the shell does not start, whatever the environment and the current folder hold")
    func missing() throws {
      let shop = try Workshop()
      let program = try install(shop, "bin", library: nil)
      _ = try install(shop, "elsewhere", library: ".")
      let more = [
        "LD_LIBRARY_PATH": shop.path("elsewhere"), "PWD": shop.path("elsewhere"),
        "FIELDVAULT_SHELL_GUARD": shop.path("elsewhere"),
      ]
      let ran = try run(
        program, ["shell", "--command", "SELECT 1"], environment: shop.environment().merging(more) { $1 })
      #expect(ran.status == 1 && ran.output.isEmpty)
      #expect(ran.errors.contains(shop.path("bin") + "/libFieldVaultShellGuard.so"), "\(ran.errors)")
      #expect(ran.errors.contains(shop.path("lib") + "/libFieldVaultShellGuard.so"), "\(ran.errors)")
      #expect(ran.errors.contains("swift build -c release --product FieldVaultShellGuard"), "\(ran.errors)")
    }

    @Test("With an extension that cannot be loaded no statement runs")
    func broken() throws {
      let shop = try Workshop()
      let program = try install(shop, "bin", library: nil)
      try shop.write("no library", to: "bin/libFieldVaultShellGuard.so")
      for arguments in [["shell", "--command", "DELETE FROM OfflineProject"], ["shell"]] {
        let ran = try run(program, arguments, environment: shop.environment(), input: "DELETE FROM OfflineProject;\n")
        #expect(ran.status == 1 && ran.errors.contains("libFieldVaultShellGuard.so"), "\(ran.errors)")
      }
      #expect(try shop.count("OfflineProject WHERE isDeleted = 1") == 0)
    }

    @Test("The first line at a terminal shows the statement for views with its quotes")
    func banner() throws {
      let shop = try Workshop()
      let ran = try shop.run(["shell"], typing: ".quit\n").ran
      #expect(ran.output.contains("WHERE type = 'view';"), "\(ran.output)")
    }
  #endif
}
