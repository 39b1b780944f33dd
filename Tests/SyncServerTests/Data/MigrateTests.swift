import CipherSQL
import Foundation
import Platform
import SchemaModel
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SQLCipherStorage
@testable import ServerStorage
@testable import SyncServer

/// `fieldvault-server migrate`, with and without `--dry-run`.
@Suite struct MigrateTests {
  private let temporary: TemporaryFolder
  private var data: String { temporary.path + "/data" }
  private var company: String { temporary.path + "/Company" }

  init() throws {
    temporary = try TemporaryFolder()
    try Files.makeFolder(company)
    try write(
      "0001_things.sql",
      """
      CREATE TABLE Thing (
        thingId INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
        createdAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z',
        updatedAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z', lastSyncedAt TEXT,
        syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
        isDirty INTEGER NOT NULL DEFAULT 1, isDeleted INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('Thing', 'Thing', 'Company');
      """)
  }

  private func write(_ name: String, _ sql: String) throws {
    try sql.write(toFile: company + "/" + name, atomically: true, encoding: .utf8)
  }

  private func run(_ arguments: String...) async throws -> (status: Int32, output: String, errors: String) {
    try await RunningServer.run(arguments + ["--data", data], in: temporary)
  }

  private func serve() throws -> RunningServer {
    try RunningServer(["serve", "--data", data, "--listen", "127.0.0.1:0"], in: temporary)
  }

  /// Fills two accounts; that of ada has two things of one title.
  private func fill() async throws {
    let added = try await run("user", "add", "ada", "--account", "water")
    let other = try await run("user", "add", "bob", "--account", "land")
    let server = try RunningServer(
      ["serve", "--data", data, "--listen", "127.0.0.1:0", "--schema", company], in: temporary)
    let url = try await server.url()
    let ada = TestClient(url: url, token: added.output.trimmingCharacters(in: .newlines))
    let bob = TestClient(url: url, token: other.output.trimmingCharacters(in: .newlines))
    for (client, titles) in [(ada, ["same", "same"]), (bob, ["one", "two"])] {
      let operations = titles.map { Operation.create("Thing", newUuid(), ["title": .text($0)]) }
      #expect(try await client.results(operations) == ["accepted", "accepted"])
    }
    server.signal(SIGTERM)
    #expect(try await server.end() == 0)
  }

  /// The digest of each database of the folder, and the names of all its files.
  private func content() throws -> [String: String] {
    var found: [String: String] = [:]
    let files = try #require(FileManager.default.enumerator(atPath: data))
    for case let name as String in files
    where !name.hasSuffix("-wal") && !name.hasSuffix("-shm") && name != "trial.lock" {
      var digest = SHA256()
      if !Files.isFolder(data + "/" + name) {
        digest.add(Array(try Data(contentsOf: URL(fileURLWithPath: data + "/" + name))))
      }
      found[name] = digest.hexDigest
    }
    return found
  }

  @Test("A trial names the files and the accounts that they do not fit, and changes nothing")
  func trial() async throws {
    try await fill()
    try write("0002_titles.sql", "CREATE UNIQUE INDEX Thing_title ON Thing (title);")
    let before = try content()
    let trial = try await run("migrate", "--dry-run", "--schema", company, "--json")
    #expect(trial.status == 10, "\(trial.errors)")
    let problems = try migrationProblems(trial.output)
    #expect(problems.keys.sorted() == ["", "land", "water"])
    #expect(problems["land"] == .some(nil) && problems[""] == .some(nil))
    #expect((problems["water"] ?? nil)?.contains("title") == true, "\(trial.output)")
    #expect(trial.output.contains("\"name\":\"titles\""))
    #expect(try content() == before)

    // Without the duplicate title the same files fit, also for people.
    try write("0002_titles.sql", "CREATE INDEX Thing_title ON Thing (title);")
    let people = try await run("migrate", "--dry-run", "--schema", company)
    #expect(people.status == 0)
    #expect(
      people.output.contains("account water: Company 2 titles\n") && people.errors.contains("nothing was changed"))
    #expect(try content() == before)
  }

  @Test(
    "A migration gives each account the files, and a failing account keeps its records and does not stop the others")
  func migration() async throws {
    try await fill()
    try write("0002_titles.sql", "CREATE UNIQUE INDEX Thing_title ON Thing (title);")
    let failing = try await run("migrate", "--schema", company, "--json")
    #expect(failing.status == 10)
    #expect(try migrationProblems(failing.output)["land"] == .some(nil))
    func versions() throws -> [String: Int] {
      let folder = try ServerFolder(data, isCreating: false)
      let directory = try ServerDirectory(in: folder)
      defer { directory.close() }
      return try directory.accounts().reduce(into: [:]) { versions, account in
        let database = try AccountDatabase.records.open(account.folder, in: folder)
        defer { database.close() }
        versions[account.name] = try database.read {
          try $0.fetchOne("SELECT max(version) FROM SchemaMigration WHERE schema = 'Company'", as: Int.self)
        }
      }
    }
    #expect(try versions() == ["land": 2, "water": 1])
    let again = try await run("migrate", "--json")
    #expect(again.status == 10 && again.output.contains("\"files\":[]"))
  }

  @Test("A server excludes a migration and not a trial")
  func runningServer() async throws {
    try await fill()
    try write("0002_titles.sql", "CREATE INDEX Thing_title ON Thing (title);")
    let server = try serve()
    _ = try await server.url()
    let refused = try await run("migrate", "--schema", company)
    #expect(refused.status == 6 && refused.errors.contains("another server"), "\(refused.errors)")
    #expect(try await run("migrate", "--dry-run", "--schema", company).status == 0)
    #expect(try await run("migrate", "--dry-run").errors.contains("nothing was changed"))
    server.signal(SIGTERM)
    #expect(try await server.end() == 0)
    #expect(try await run("migrate", "--schema", company).status == 0)
    #expect(try await run("migrate").errors.contains("no pending files"))
  }

  @Test("A trial removes the copies of one that was killed, and a damaged account concerns only itself")
  func leftovers() async throws {
    try await fill()
    try Files.makeFolder(data + "/migration-trial")
    try Files.makeFile(data + "/migration-trial/directory.db")
    let folder = try ServerFolder(data, isCreating: false)
    let directory = try ServerDirectory(in: folder)
    let water = try #require(try directory.accounts().first { $0.name == "water" })
    directory.close()
    try Data(repeating: 7, count: 8_192).write(
      to: URL(fileURLWithPath: "\(data)/\(AccountDatabase.records.path(water.folder))"))
    let trial = try await run("migrate", "--dry-run", "--json")
    #expect(trial.status == 10, "\(trial.errors)")
    let problems = try migrationProblems(trial.output)
    #expect(problems["land"] == .some(nil) && (problems["water"] ?? nil)?.contains("cannot be read") == true)
    #expect(!Files.exists(data + "/migration-trial"))
  }
}

/// Returns the problem of each account in the JSON of a migration; that of the tables for all accounts has the name "".
func migrationProblems(_ output: String) throws -> [String: String?] {
  guard case .array(let rows) = try SyncValue(parsing: output) else { throw Unexpected("no list: \(output)") }
  return Dictionary(
    uniqueKeysWithValues: rows.map { row in
      func text(_ name: String) -> String? { if case .text(let text)? = row[name] { text } else { nil } }
      return (text("account") ?? "", text("problem"))
    })
}
