import Foundation
import Platform
import ServerSupport
import SyncModel
import TestSupport
import Testing

/// `fieldvault-server migrate --database`, with and without `--dry-run`.
@Suite(.serialized) struct DatabaseMigrationTests {
  private let folder: TemporaryFolder
  private let server: PostgresServer
  private let database: String
  private var company: String { folder.path + "/Company" }
  private var newer: String { folder.path + "/Newer" }

  init() throws {
    folder = try TemporaryFolder()
    server = try PostgresServer()
    database = try server.makeDatabase()
    try writeObjectStoreCredentials(to: folder.file("s3.key"))
    try Files.makeFolder(company)
    try SyncedTable.sql("Thing", "title TEXT NOT NULL", schema: "Company").write(
      toFile: company + "/0001_things.sql", atomically: true, encoding: .utf8)
  }

  private func run(_ words: String...) async throws -> (status: Int32, output: String, errors: String) {
    try await RunningServer.run(words + ["--database", server.url(database)], in: folder)
  }

  private func node(schema: String) throws -> RunningServer {
    try RunningServer(
      [
        "serve", "--listen", "127.0.0.1:0", "--schema", schema, "--quiet", "--database", server.url(database),
        "--s3-endpoint", "https://127.0.0.1:9", "--s3-bucket", "photos", "--s3-credentials", folder.file("s3.key"),
      ], in: folder)
  }

  private func client(_ user: String, _ account: String, of node: RunningServer) async throws -> TestClient {
    let added = try await run("user", "add", user, "--account", account, "--quiet")
    return TestClient(url: try await node.url(), token: added.output.trimmingCharacters(in: .newlines))
  }

  /// Adds a file to the schema in its folder.
  private func add(_ sql: String) throws {
    try sql.write(toFile: company + "/0002_titles.sql", atomically: true, encoding: .utf8)
  }

  /// The rows of all tables that a migration changes.
  private func content() throws -> [String] {
    try ["account", "record", "unique_key", "schema_set", "served_schema", "migration", "server"].map { table in
      try server.sql(
        "SELECT md5(string_agg(t::text, ',' ORDER BY t::text)) FROM fieldvault.\(table) AS t", database: database)
    }
  }

  @Test(
    "A migration of a database gives each account the files while a node runs, names those that do not fit, and its trial changes nothing"
  )
  func migration() async throws {
    let node = try node(schema: company)
    defer { node.signal(SIGKILL) }
    let ada = try await client("ada", "water", of: node)
    let bob = try await client("bob", "land", of: node)
    for (client, titles) in [(ada, ["same", "same"]), (bob, ["one", "two"])] {
      let operations = titles.map { Operation.create("Thing", newUuid(), ["title": .text($0)]) }
      #expect(try await client.results(operations) == ["accepted", "accepted"])
    }
    try add("CREATE UNIQUE INDEX Thing_title ON Thing (title);")
    let before = try content()
    let trial = try await run("migrate", "--dry-run", "--schema", company, "--json")
    #expect(trial.status == 10, "\(trial.errors)")
    let found = try migrationProblems(trial.output)
    #expect(found.keys.sorted() == ["", "land", "water"] && found["land"] == .some(nil) && found[""] == .some(nil))
    #expect((found["water"] ?? nil)?.contains("title") == true && trial.output.contains("\"name\":\"titles\""))
    #expect(try content() == before)
    #expect(try await ada.pull().changes.count == 2, "the node still serves the account")

    let failing = try await run("migrate", "--schema", company)
    #expect(failing.status == 10 && failing.output.contains("account land: Company 2 titles\n"), "\(failing)")
    #expect(failing.output.contains("account water: "))
    #expect(try await ada.pull().changes.count == 2)
    #expect(try await bob.get("/v1/changes").status == 503, "a node without the file refuses the account")

    let new = try self.node(schema: company)
    defer { new.signal(SIGKILL) }
    let moved = TestClient(url: try await new.url(), token: bob.token)
    #expect(try await moved.pull().changes.count == 2)
    #expect(try await moved.results([Operation.create("Thing", newUuid(), ["title": "one"])]) != ["accepted"])
    let again = try await run("migrate", "--json")
    #expect(again.status == 10 && again.output.contains("\"files\":[]"))
  }

  @Test("A migration creates the tables of an empty database, which its trial only lists")
  func emptyDatabase() async throws {
    let trial = try await run("migrate", "--dry-run")
    #expect(trial.status == 0 && trial.output.contains("database: fieldvault 1 generic_layout\n"), "\(trial)")
    #expect(try server.sql("SELECT to_regnamespace('fieldvault') IS NULL", database: database) == "t")
    let migrated = try await run("migrate")
    #expect(migrated.status == 0 && migrated.output == trial.output, "\(migrated)")
    let nothing = try await run("migrate")
    #expect(nothing.status == 0 && nothing.output == "" && nothing.errors.contains("no pending files"), "\(nothing)")
    let both = try await run("migrate", "--data", folder.path)
    #expect(both.status == 2, "\(both)")
  }

  @Test("A trial of newer tables of the database leaves the tables and the accounts as they are")
  func olderTables() async throws {
    let node = try node(schema: company)
    let ada = try await client("ada", "water", of: node)
    #expect(try await ada.results([Operation.create("Thing", newUuid(), ["title": "Chair"])]) == ["accepted"])
    node.signal(SIGTERM)
    _ = try await node.end()
    // The last file is forgotten, so that it is pending and fails on the tables that it has created.
    try server.sql(
      "DELETE FROM fieldvault.migration WHERE version = (SELECT max(version) FROM fieldvault.migration)",
      database: database)
    let before = try content()
    let trial = try await run("migrate", "--dry-run")
    #expect(trial.status != 0, "\(trial)")
    #expect(try content() == before)
  }
}
