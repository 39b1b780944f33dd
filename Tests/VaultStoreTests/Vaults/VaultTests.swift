import CipherSQL
import Foundation
import RestorationModel
import TestSupport
import Testing
import VaultKeys

@testable import VaultStore

/// A vault as a folder: created completely or not at all, accessible to its owner only, and opened only if it is a
/// vault.
@Suite struct VaultTests {
  private let folder: TemporaryFolder
  private var path: String { folder.path + "/job.vault" }

  init() throws { folder = try TemporaryFolder() }

  private func make() throws -> Vault {
    try Vault.create(
      at: path, schemas: [(SchemaSource(name: "restoration", folder: nil), RestorationSchema.schema)],
      secret: passphraseSecret())
  }

  private func code(_ body: () throws -> Void) -> VaultError.Code? {
    do { try body() } catch let error as VaultError { return error.code } catch {}
    return nil
  }

  @Test("Files have mode 600 and folders mode 700") func filesAndFoldersAreForTheirOwnerAlone() throws {
    let mask = umask(0)
    defer { umask(mask) }
    let vault = try make()
    _ = try vault.put(try vault.entities.entity("Project"), [("title", .text("x"))])
    let names = try #require(FileManager.default.enumerator(atPath: path)).compactMap { $0 as? String }
    #expect(names.contains("db/0001/vault.db"))
    for name in names {
      let attributes = try FileManager.default.attributesOfItem(atPath: path + "/" + name)
      let isFolder = attributes[.type] as? FileAttributeType == .typeDirectory
      #expect(attributes[.posixPermissions] as? Int == (isFolder ? 0o700 : 0o600), "\(name)")
    }
  }

  @Test("Creating a vault does not overwrite") func nothingIsOverwritten() throws {
    try make().close()
    #expect(code { _ = try make() } == .alreadyExists)
  }

  @Test("The token is read for its own address only, and a failed read is an error") func tokenOfAddress() throws {
    let vault = try make()
    try vault.setRemote(url: "https://one.example", token: "token")
    #expect(try vault.remoteToken(for: "https://one.example") == "token")
    #expect(try vault.remoteToken(for: "https://other.example") == nil)
    vault.close()
    #expect(throws: (any Error).self) { try vault.remoteToken(for: "https://one.example") }
  }

  @Test("Opening a path without a vault creates one, and opening it again keeps its records")
  func openOrCreate() throws {
    for count in 1...2 {
      let vault = try Vault.open(at: path, with: passphraseSecret(), creating: [RestorationSchema.schema])
      _ = try vault.put(try vault.entities.entity("Project"), [("title", .text("House \(count)"))])
      #expect(try vault.database.read { try $0.fetchOne("SELECT count(*) FROM OfflineProject", as: Int.self) } == count)
      vault.close()
    }
  }

  @Test("Opening a vault adds the schemas that it lacks")
  func openAddsSchemas() throws {
    try make().close()
    let sql = "CREATE TABLE reading (readingId INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE) STRICT;"
    let own = Schema(name: "own", migrations: [MigrationFile(version: 1, name: "x", sql: sql)])
    let vault = try Vault.open(at: path, with: passphraseSecret(), creating: [RestorationSchema.schema, own])
    #expect(vault.schemaSources.map(\.name) == ["restoration", "own"])
    #expect(try vault.entities.entity("reading").table.name == "reading")
  }

  @Test("Opening a path with another secret, a file or an empty folder creates no vault and changes nothing")
  func openRefuses() throws {
    try make().close()
    #expect(throws: KeyError.self) {
      try Vault.open(at: path, with: keyFileSecret(9), creating: [RestorationSchema.schema])
    }
    for name in ["file", "folder"] {
      let other = folder.path + "/" + name
      if name == "file" {
        try Data("text".utf8).write(to: URL(filePath: other))
      } else {
        try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
      }
      #expect(
        code { _ = try Vault.open(at: other, with: passphraseSecret(), creating: [RestorationSchema.schema]) }
          == .notAVault)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/folder").isEmpty)
    #expect(try Data(contentsOf: URL(filePath: folder.path + "/file")) == Data("text".utf8))
  }

  @Test("Tasks that open the same missing vault at once create one vault, and each opens it or finds it in use")
  func openAtOnce() async throws {
    let path = path
    let results = await withTaskGroup(of: String.self) { group in
      for _ in 0..<4 { group.addTask { openOrCreateVault(at: path) } }
      return await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(results.contains("open") && results.isSubset(of: ["open", "busy"]), "\(results)")
    #expect(openOrCreateVault(at: path) == "open")
  }

  @Test("A failing schema leaves no partial vault") func aSchemaThatFailsLeavesNothingBehind() throws {
    let broken = Schema(name: "broken", migrations: [MigrationFile(version: 1, name: "x", sql: "CREATE TABEL x")])
    #expect(throws: SQLError.self) {
      try Vault.create(
        at: path, schemas: [(SchemaSource(name: "broken", folder: nil), broken)], secret: passphraseSecret())
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  @Test("A computed column that SQLite cannot parse is reported")
  func aComputedColumnThatSQLDoesNotUnderstandIsNamed() throws {
    let sql = """
      INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('Reading', 'OfflineReading', 'own');
      INSERT INTO SyncedColumn (entityType, columnName, computedAs) VALUES ('Reading', 'total', 'pressur * 2 -- twice');
      CREATE TABLE OfflineReading (
        readingId INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, pressure REAL, total REAL) STRICT;
      """
    let schema = Schema(name: "own", migrations: [MigrationFile(version: 1, name: "x", sql: sql)])
    #expect {
      try Vault.create(
        at: path, schemas: [(SchemaSource(name: "own", folder: nil), schema)], secret: passphraseSecret())
    } throws: { error in
      guard let error = error as? SQLError else { return false }
      return error.code == .migration
        && error.message.hasPrefix("own/0001_x.sql:4: Reading.total cannot be computed: no such column: pressur")
    }
  }

  @Test("A wrong passphrase is reported as wrong, not as damage") func aWrongPassphraseIsNotDamage() throws {
    try make().close()
    #expect {
      _ = try Vault.open(at: path, with: passphraseSecret("another"))
    } throws: { error in
      (error as? KeyError)?.code == .wrongSecret
    }
  }

  @Test("A folder without a vault and a damaged vault have different codes")
  func whatIsNoVaultAndWhatIsDamagedAreToldApart() throws {
    #expect(code { _ = try Vault.open(at: path, with: passphraseSecret()) } == .notAVault)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    #expect(code { _ = try Vault.open(at: path, with: passphraseSecret()) } == .notAVault)
    try FileManager.default.removeItem(atPath: path)
    try make().close()
    try FileManager.default.removeItem(atPath: path + "/db/0001/vault.db")
    #expect(code { _ = try Vault.open(at: path, with: passphraseSecret()) } == .damaged)
    try Data(repeating: 7, count: 8192).write(to: URL(filePath: path + "/db/0001/vault.db"))
    #expect(code { _ = try Vault.open(at: path, with: passphraseSecret()) } == .damaged)
  }

  @Test("The keyring of another vault is reported as damage") func theDatabaseOfAnotherVaultIsDamageToo() throws {
    try make().close()
    let other = folder.path + "/other.vault"
    try Vault.create(at: other, schemas: [], secret: passphraseSecret()).close()
    try FileManager.default.removeItem(atPath: path + "/keyring.json")
    try FileManager.default.copyItem(atPath: other + "/keyring.json", toPath: path + "/keyring.json")
    #expect(code { _ = try Vault.open(at: path, with: passphraseSecret()) } == .damaged)
  }

  @Test("Opening migrates an outdated vault or refuses it, as requested")
  func aNewerProgramMigratesAndTheCommandLineRefuses() throws {
    let first = Schema(
      name: "own", migrations: [MigrationFile(version: 1, name: "a", sql: "CREATE TABLE a (uuid TEXT) STRICT;")])
    let second = Schema(
      name: "own",
      migrations: first.migrations + [MigrationFile(version: 2, name: "b", sql: "ALTER TABLE a ADD COLUMN x TEXT;")])
    try Vault.create(at: path, schemas: [(SchemaSource(name: "own", folder: nil), first)], secret: passphraseSecret())
      .close()
    #expect(
      code { _ = try Vault.open(at: path, with: passphraseSecret(), schemas: [second], outdated: .refuse) }
        == .migrationNeeded)
    let vault = try Vault.open(at: path, with: passphraseSecret(), schemas: [second])
    #expect(vault.entities.catalog.table("a")?.columns.map(\.name) == ["uuid", "x"])
    #expect(try vault.migrator(known: [second]).verify(vault.database).isEmpty)
  }

  @Test("Opening can add a schema, and a failing one changes nothing") func aVaultGetsASchemaThatItDidNotHave() throws {
    try make().close()
    func adding(_ sql: String) -> [(source: SchemaSource, schema: Schema)] {
      let schema = Schema(name: "more", migrations: [MigrationFile(version: 1, name: "a", sql: sql)])
      return [(SchemaSource(name: "more", folder: nil), schema)]
    }
    #expect(throws: SQLError.self) {
      try Vault.open(
        at: path, with: passphraseSecret(), adding: adding("CREATE TABLE a (uuid TEXT) STRICT; CREATE TABEL b;"))
    }
    #expect(try Vault.open(at: path, with: passphraseSecret()).schemaSources.map(\.name) == ["restoration"])
    let vault = try Vault.open(
      at: path, with: passphraseSecret(),
      adding: adding("CREATE TABLE a (uuid TEXT, roomId INTEGER REFERENCES OfflineRoom) STRICT;"))
    #expect(vault.entities.catalog.table("a") != nil)
    vault.close()
    // From then on it is one of the vault's own.
    let again = try Vault.open(at: path, with: passphraseSecret())
    #expect(again.schemaSources.map(\.name) == ["restoration", "more"])
    #expect(try again.migrator(known: [RestorationSchema.schema]).verify(again.database).isEmpty)
  }

  @Test("Schema changes made by hand are found") func aTableThatWasChangedByHandIsFound() throws {
    let vault = try make()
    try vault.database.write { db in
      try db.asMigration { _ = try db.execute("DROP INDEX OfflineRoom_project") }
      try db.execute("CREATE TABLE extra (a)")
    }
    let differences = try vault.migrator(known: [RestorationSchema.schema]).verify(vault.database)
    #expect(differences.map { "\($0.kind) \($0.name)" } == ["missing OfflineRoom_project", "unexpected extra"])
  }

  @Test("No file of a vault contains plaintext") func nothingThatWasRecordedIsReadableOnTheDisk() throws {
    let vault = try make()
    let marker = "Zwiebelkuchen behind the wallpaper"
    _ = try vault.put(try vault.entities.entity("Project"), [("title", .text(marker))])
    try vault.database.write { db in
      try db.execute("CREATE INDEX temporary_index ON OfflineProject (title)")
      _ = try db.fetch("SELECT title FROM OfflineProject ORDER BY lower(title)", as: String.self)
    }
    let needles = [Data(marker.utf8), try #require(marker.data(using: .utf16LittleEndian)), Data("CREATE TABLE".utf8)]
    for name in try #require(FileManager.default.enumerator(atPath: path)).compactMap({ $0 as? String }) {
      guard let content = FileManager.default.contents(atPath: path + "/" + name) else { continue }
      for needle in needles { #expect(content.range(of: needle) == nil, "\(name)") }
    }
    vault.close()
  }
}

/// Opens the vault and closes it again. The synchronous functions of a vault cannot be called from asynchronous code.
private func openOrCreateVault(at path: String) -> String {
  do {
    try Vault.open(at: path, with: passphraseSecret(), creating: [RestorationSchema.schema]).close()
    return "open"
  } catch let error as VaultError where error.code == .busy {
    return "busy"
  } catch {
    return "\(error)"
  }
}
