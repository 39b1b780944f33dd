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
    try await run(words)
  }

  private func run(
    _ words: [String], on database: String? = nil
  ) async throws -> (status: Int32, output: String, errors: String) {
    try await RunningServer.run(words + ["--database", server.url(database ?? self.database)], in: folder)
  }

  private func node(schema: String, on database: String? = nil, _ options: [String] = []) throws -> RunningServer {
    try RunningServer(
      [
        "serve", "--listen", "127.0.0.1:0", "--schema", schema, "--quiet", "--database",
        server.url(database ?? self.database),
        "--s3-endpoint", "https://127.0.0.1:9", "--s3-bucket", "photos", "--s3-credentials", folder.file("s3.key"),
      ] + options, in: folder)
  }

  private func client(
    _ user: String, _ account: String, of node: RunningServer, on database: String? = nil
  ) async throws -> TestClient {
    let added = try await run(["user", "add", user, "--account", account, "--quiet"], on: database)
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

  // MARK: Beside pushes

  private static let accounts = ["water", "land", "wood"]

  /// The things of an account by UUID.
  private typealias Things = [String: SyncObject]

  private static func operations(_ things: [(uuid: String, title: String)]) -> [SyncValue] {
    things.map { Operation.create("Thing", $0.uuid, ["title": .text($0.title)]) }
  }

  private func push(_ things: [(uuid: String, title: String)], to client: TestClient) async throws {
    for start in stride(from: 0, to: things.count, by: 25) {
      let part = Array(things[start..<min(start + 25, things.count)])
      let accepted = [String](repeating: "accepted", count: part.count)
      #expect(try await client.results(Self.operations(part)) == accepted)
    }
  }

  private func things(of client: TestClient) async throws -> Things {
    let changes = try await client.pull().changes
    var things: Things = [:]
    for change in changes where change["entityType"] == "Thing" {
      guard case .text(let uuid)? = change["entityUuid"], case .object(let fields)? = change["fields"] else { continue }
      things[uuid] = fields
    }
    #expect(things.count == changes.count { $0["entityType"] == "Thing" })
    return things
  }

  /// A device that pushes to a node without the new file, until the node refuses the account, and then to a node with it.
  private actor Pusher {
    private(set) var acknowledged: [String: String] = [:]
    private(set) var refusals = 0
    private(set) var pushesToNew = 0
    private let old: TestClient
    private let new: TestClient
    private let device = newUuid()

    init(_ old: TestClient, _ new: TestClient) { (self.old, self.new) = (old, new) }

    func run(until isDone: Locked<Bool>) async throws {
      var client = old
      var counter: Int64 = 0
      while !isDone.withLock({ $0 }) {
        counter += 1
        let things = (0..<3).map { (uuid: newUuid(), title: "\(device) \(counter) \($0)") }
        let body: SyncObject = [
          "deviceId": .text(device), "deviceCounter": .integer(counter),
          "operations": .array(DatabaseMigrationTests.operations(things)),
        ]
        var response = try await client.request("POST", "/v1/push", .object(body))
        while response.status == 503 {
          refusals += 1
          client = new
          response = try await client.request("POST", "/v1/push", .object(body))
        }
        guard response.status == 200, response.list("results").map(\.word) == ["accepted", "accepted", "accepted"]
        else {
          throw Unexpected("a push got \(response)")
        }
        for thing in things { acknowledged[thing.uuid] = thing.title }
        if client.url == new.url { pushesToNew += 1 }
        try await Task.sleep(for: .milliseconds(20))
      }
    }
  }

  @Test(
    "A migration beside pushes, with and without sealing the values, loses none, and has the result of one without pushes",
    arguments: [false, true])
  func besidePushes(isSealing: Bool) async throws {
    let keys = folder.file("seal.key")
    if isSealing { #expect(try await RunningServer.run(["seal-key", "new", keys], in: folder).status == 0) }
    let sealing = isSealing ? ["--seal-key", keys] : []
    let former = folder.path + "/former/Company"
    try Files.makeFolder(folder.path + "/former")
    try FileManager.default.copyItem(atPath: company, toPath: former)

    let old = try node(schema: former)
    defer { old.signal(SIGKILL) }
    var clients: [TestClient] = []
    for account in Self.accounts { clients.append(try await client("of \(account)", account, of: old)) }
    var pushed: [[String: String]] = []
    for client in clients {
      let first = (0..<150).map { (uuid: newUuid(), title: "first \($0)") }
      try await push(first, to: client)
      pushed.append(Dictionary(uniqueKeysWithValues: first.map { ($0.uuid, $0.title) }))
    }

    try add("ALTER TABLE Thing ADD COLUMN note TEXT NOT NULL DEFAULT 'none';")
    let new = try node(schema: company, sealing)
    defer { new.signal(SIGKILL) }
    let newUrl = try await new.url()
    let moved = clients.map { TestClient(url: newUrl, token: $0.token) }
    let isDone = Locked(false)
    let pushers = zip(clients, moved).flatMap { old, new in (0..<2).map { _ in Pusher(old, new) } }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for pusher in pushers { group.addTask { try await pusher.run(until: isDone) } }
      group.addTask {
        defer { isDone.withLock { $0 = true } }
        func all(_ holds: (Pusher) async -> Bool) async -> Bool {
          for pusher in pushers where await !holds(pusher) { return false }
          return true
        }
        try await eventually("every device pushes") { await all { await $0.acknowledged.count >= 6 } }
        let migrated = try await self.run(["migrate", "--schema", self.company] + sealing)
        #expect(migrated.status == 0, "\(migrated)")
        let migratedAccounts = migrated.output.split(separator: "\n").filter { $0.hasSuffix("Company 2 titles") }
        #expect(migratedAccounts.count == Self.accounts.count, "the command migrates, not the node: \(migrated)")
        try await eventually("every device pushes to the new node") { await all { await $0.pushesToNew >= 2 } }
      }
      try await group.waitForAll()
    }
    for (number, pusher) in pushers.enumerated() {
      #expect(await pusher.refusals > 0)
      pushed[number / 2].merge(await pusher.acknowledged) { $1 }
    }
    var result: [Things] = []
    for client in moved { result.append(try await things(of: client)) }
    #expect(result.map(\.count) == pushed.map(\.count))
    let (expected, other) = (
      pushed.map { $0.mapValues { title in ["note": "none", "title": .text(title)] as SyncObject } },
      try await migratedWithoutPushes(pushed, former, sealing)
    )
    // Thousands of records would fill the message of a failure.
    let (isExpected, isSame) = (result == expected, result == other)
    #expect(isExpected && isSame)
    let stored = try server.sql(
      "SELECT string_agg(record::text, ' ') FROM fieldvault.record AS record", database: database)
    #expect(stored.contains("first 7") == !isSealing)
  }

  /// Returns the things of a database that got all pushes before its migration.
  private func migratedWithoutPushes(
    _ pushed: [[String: String]], _ former: String, _ sealing: [String]
  ) async throws -> [Things] {
    let other = try server.makeDatabase()
    let old = try node(schema: former, on: other)
    var clients: [TestClient] = []
    for (account, things) in zip(Self.accounts, pushed) {
      let client = try await client("of \(account)", account, of: old, on: other)
      clients.append(client)
      try await push(things.map { (uuid: $0.key, title: $0.value) }, to: client)
    }
    old.signal(SIGTERM)
    #expect(try await old.end() == 0)
    let migrated = try await run(["migrate", "--schema", company] + sealing, on: other)
    #expect(migrated.status == 0, "\(migrated)")
    let new = try node(schema: company, on: other, sealing)
    defer { new.signal(SIGKILL) }
    let url = try await new.url()
    var result: [Things] = []
    for client in clients { result.append(try await things(of: TestClient(url: url, token: client.token))) }
    return result
  }
}
