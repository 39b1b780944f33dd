import struct CipherSQL.MigrationFile
import struct CipherSQL.Schema
import Foundation
import Platform
import RestorationModel
import SchemaModel
import ServerStorage
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import PostgresStorage

@Suite struct PostgresDirectoryTests {
  private let database: PostgresDatabase

  init() throws {
    let server = try SharedPostgres.server
    database = try PostgresDatabase(PostgresSettings(url: server.url(try server.makeDatabase())))
  }

  private var directory: PostgresDirectory { PostgresDirectory(database) }

  @Test("a token finds its holder until it is revoked, at every node")
  func revocation() async throws {
    let nodes = [directory, PostgresDirectory(try PostgresDatabase(database.settings))]
    let (account, token) = try nodes[0].addUser("ann", account: nil, role: .device, expires: nil)
    #expect(account == "default")
    let members = try nodes.map { try #require(try $0.member(token: token)) }
    #expect(members[0] == members[1] && members[0].account.name == "default")
    #expect(try nodes[1].isValid(members[1]))
    #expect(try nodes[0].revokeToken(members[0].tokenId))
    #expect(try nodes[0].member(token: token) == nil, "at once at the node that revoked it")
    // The other node has no listener here, so its entry is valid for a second.
    for _ in 0..<40 where try nodes[1].member(token: token) != nil { try await Task.sleep(for: .milliseconds(50)) }
    #expect(try nodes[1].member(token: token) == nil && !nodes[1].isValid(members[1]))
    #expect(try !nodes[0].revokeToken(members[0].tokenId))
  }

  @Test("a node that listens learns of a revocation at once")
  func notifiedRevocation() async throws {
    let node = try PostgresDatabase(database.settings)
    let storage = try PostgresStorage(node, schemas: [RestorationSchema.schema])
    defer { storage.close() }
    let (_, token) = try directory.addUser("ann", account: "one", role: .service, expires: nil)
    let listening = PostgresDirectory(node)
    for _ in 0..<100 where !node.tokens.isListening { try await Task.sleep(for: .milliseconds(20)) }
    #expect(try listening.member(token: token)?.role == .service)
    _ = try directory.revokeUser("ann")
    let start = ContinuousClock.now
    while try listening.member(token: token) != nil, ContinuousClock.now - start < .seconds(30) {
      try await Task.sleep(for: .milliseconds(10))
    }
    #expect(ContinuousClock.now - start < .seconds(20), "entries of a listening node are valid for a minute")
  }

  @Test("names, accounts and tokens follow the rules of the directory in a folder")
  func rules() throws {
    let directory = directory
    func code(_ body: () throws -> Void) -> ServerError.Code? {
      do {
        try body()
        return nil
      } catch { return (error as? ServerError)?.code }
    }
    _ = try directory.addUser("ann", account: "house", role: .device, expires: nil)
    #expect(code { _ = try directory.addUser("ann", account: nil, role: .device, expires: nil) } == .userExists)
    #expect(code { _ = try directory.addUser(" ann", account: nil, role: .device, expires: nil) } == .badName)
    #expect(code { _ = try directory.addToken(to: "bob", role: .device, label: nil, expires: nil) } == .noSuchUser)
    #expect(code { _ = try directory.tokens(of: "bob") } == .noSuchUser)
    #expect(code { _ = try directory.revokeToken(99) } == .noSuchToken)
    let past = Date(timeIntervalSinceNow: -5)
    #expect(code { _ = try directory.addUser("eve", account: nil, role: .device, expires: past) } == .badExpiry)
    #expect(try directory.revokeUser("ann") == 1)
    #expect(code { _ = try directory.addUser("ann", account: "other", role: .device, expires: nil) } == .userExists)
    let (account, token) = try directory.addUser("ann", account: nil, role: .admin, expires: nil)
    #expect(try account == "house" && directory.member(token: token)?.role == .admin)
    let label = "tablet \"7\""
    let second = try directory.addToken(
      to: "ann", role: .device, label: label, expires: Date(timeIntervalSinceNow: 60))
    let listed = try directory.tokens(of: "ann")
    #expect(listed.map(\.id) == listed.map(\.id).sorted() && listed.count == 3)
    #expect(listed.last?.id == second.id && listed.last?.label == label && listed.last?.expiresAt != nil)
    #expect(listed.first?.revokedAt != nil)
    #expect(try directory.users().map(\.name) == ["ann"] && directory.users().first?.revokedAt == nil)
    #expect(try directory.accounts().map(\.name) == ["house"])
  }

  @Test("users have records, and accounts limit devices to memberships")
  func memberships() throws { try checkMembershipSettings(of: directory) }

  @Test("a user of an identity provider is added at its first token, and stays out after a revocation")
  func signIn() throws {
    let time = TestClock(1_767_225_600_000, isRunning: false)
    try checkSignIn(
      of: PostgresDirectory(
        try PostgresDatabase(database.settings, environment: Environment(clock: time.clock, random: .system))), time)
  }

  @Test("the audit log has each change with the acting user, and nothing else")
  func auditLog() throws {
    let time = TestClock(1_767_225_600_000, isRunning: false)
    var settings = database.settings
    settings.actor = "olga as root"
    let directory = PostgresDirectory(
      try PostgresDatabase(settings, environment: Environment(clock: time.clock, random: .system)))
    try checkAuditLog(of: directory, time, actor: "olga as root")
    #expect(try directory.startIncarnation() == 1)
    #expect(try directory.auditLog(since: nil, atMost: 1).map(\.action) == ["epoch started"])
  }

  @Test("A link opens one session for an operator, and rows come in pages by their key")
  func operators() throws {
    let time = TestClock(1_767_225_600_000, isRunning: false)
    try checkOperators(
      of: PostgresDirectory(
        try PostgresDatabase(database.settings, environment: Environment(clock: time.clock, random: .system))), time)
  }

  @Test("A page for operators reads only its rows among 100,000 users, tokens, devices and entries")
  func plansOfPages() throws {
    let directory = directory
    _ = try fill(directory, devices: 100_000, revoked: 3)
    let account = try #require(try directory.account("water")).account
    let user = try #require(try directory.user("ann"))
    try directory.run { connection in
      for sql in [
        "INSERT INTO fieldvault.account (account_id, name, created_at, epochs, epoch_started_at, incarnation) "
          + "SELECT gen_random_uuid(), 'a' || n, n, '{}', n, 1 FROM generate_series(1, 100000) AS n",
        "INSERT INTO fieldvault.member (account_id, name, created_at) SELECT account_id, 'u' || n, n "
          + "FROM fieldvault.account, generate_series(1, 100000) AS n WHERE name = 'water'",
        "INSERT INTO fieldvault.token (hash, account_id, user_id, role, created_at, revoked_at) "
          + "SELECT sha256(n::text::bytea), account_id, user_id, 'device', n, 5 "
          + "FROM fieldvault.member, generate_series(1, 100000) AS n WHERE name = 'ann'",
        "INSERT INTO fieldvault.audit_entry (time, actor, action, details) "
          + "SELECT n, 'o', 'a', 'd' FROM generate_series(1, 100000) AS n",
        "ANALYZE fieldvault.account, fieldvault.member, fieldvault.token, fieldvault.audit_entry",
      ] { _ = try connection.run(Statement(sql)()) }
      let key = try AccountRow.key(account)
      let middle = Int64(50_000)
      for (name, command) in [
        ("accounts", PostgresDirectory.accountPage(.text("a5"), .integer(51))),
        ("users", PostgresDirectory.userPage(key, .integer(middle), .integer(51))),
        ("user", PostgresDirectory.oneUser(.text("u77"))),
        ("tokens", PostgresDirectory.tokenPage(key, .integer(user.id), .integer(middle), .integer(51))),
        ("devices", PostgresDirectory.devicePage(key, .text("d5"), .integer(51))),
        ("audit log", PostgresDirectory.auditPage(.integer(middle), .integer(51))),
      ] {
        let plan = try explain(command, connection)
        #expect(!plan.contains("Seq Scan"), "\(name): \(plan)")
        // A page has 51 rows, and each may need some pages of the tables that it is joined with.
        let read = plan.matches(of: /(?:hit|read)=(\d+)/).prefix(2).compactMap { Int($0.output.1) }
        let pages = read.reduce(0, +)
        #expect(pages < 1_200, "\(name): \(plan)")
      }
    }
    // The one valid token of a user is found among those that were revoked.
    #expect(try directory.user("ann")?.isRevoked == false)
  }

  @Test("Devices are known by their last requests, and can be revoked")
  func devices() throws {
    let time = TestClock(1_767_225_600_000, isRunning: false)
    try checkDevices(
      of: PostgresDirectory(
        try PostgresDatabase(database.settings, environment: Environment(clock: time.clock, random: .system))), time)
  }

  /// Adds a user, and devices of the account.
  /// - Parameter revoked: the number of the devices that are revoked.
  /// - Returns: the token of the user.
  private func fill(_ directory: PostgresDirectory, devices: Int, revoked: Int) throws -> String {
    let token = try directory.addUser("ann", account: "water", role: .device, expires: nil).token
    try directory.run { connection in
      _ = try connection.run(
        Statement(
          """
          INSERT INTO fieldvault.device_contact
            (account_id, device_id, token_id, first_seen_at, last_seen_at, revoked_at)
          SELECT account_id, 'd' || n, 1, n, n, CASE WHEN n <= $2::bigint THEN 5 END
          FROM fieldvault.account, generate_series(1, $1::bigint) AS n
          """)(.integer(Int64(devices)), .integer(Int64(revoked))))
      _ = try connection.run(Statement("ANALYZE fieldvault.device_contact")())
    }
    return token
  }

  /// Returns the plan of a statement with the rows and pages that it has read.
  private func explain(_ command: Statement.Command, _ connection: PostgresConnection) throws -> String {
    let explained = Statement("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) " + command.statement.sql)
    return try connection.run(explained.with(command.values)).map { $0.text(0) }.joined(separator: "\n")
  }

  @Test("The revoked devices of an account are found by an index among 100,000 devices")
  func planOfRevokedDevices() throws {
    let directory = directory
    let token = try fill(directory, devices: 100_000, revoked: 3)
    #expect(try directory.member(token: token)?.revokedDevices == ["d1", "d2", "d3"])
    let plan = try directory.run {
      try explain(PostgresDirectory.memberByHash(.bytes(AccessToken.hash(of: token)), .integer(0)), $0)
    }
    #expect(plan.contains("device_contact_revoked") && !plan.contains("device_contact_pkey"), "\(plan)")
    let pages = plan.firstMatch(of: /shared hit=(\d+)/).flatMap { Int($0.1) }
    #expect(try #require(pages) < 50, "\(plan)")
  }

  @Test("A store of contacts reads the devices that it stores, and more of an account only if one is new")
  func costOfContacts() throws {
    let directory = directory
    let token = try fill(directory, devices: DeviceContact.most, revoked: 0)
    let ann = try #require(try directory.member(token: token))
    /// Stores a contact, and returns the number of index entries that this reads.
    func note(_ device: String) throws -> Int64 {
      func entries() throws -> Int64 {
        try directory.run { connection in
          _ = try connection.run(Statement("SELECT pg_stat_force_next_flush()")())
          return try connection.run(
            Statement(
              "SELECT sum(idx_tup_read)::bigint FROM pg_stat_user_indexes WHERE relname = 'device_contact'")()
          ).first { $0.integer(0) } ?? 0
        }
      }
      let before = try entries()
      try directory.note([
        DeviceContact.Key(ann.account, device): DeviceContact(tokenId: ann.tokenId, time: 1_000_000)
      ])
      return try entries() - before
    }
    #expect(try note("d1") < 10)
    #expect(try note("new") > DeviceContact.most)
    let devices = try directory.devices(of: "water").map(\.id)
    #expect(devices.count == DeviceContact.most && Set(devices).isSuperset(of: ["d1", "new", "d3"]))
    #expect(!devices.contains("d2"), "the device that was not seen for the longest time")

    // At the limit nothing is ordered.
    let plan = try directory.run { connection in
      try explain(
        PostgresDirectory.forgetDevices(.text(ann.account.folder), .integer(Int64(DeviceContact.most))), connection)
    }
    #expect(plan.contains("One-Time Filter") && plan.contains("never executed"), "\(plan)")
  }

  @Test("the figures of a database are its size and the use of its connections")
  func figures() async throws {
    let storage = try PostgresStorage(database, schemas: [RestorationSchema.schema])
    defer { storage.close() }
    #expect(try await database.size() > 1 << 20)
    let usage = storage.usage
    #expect(usage.resource == .connections && usage.limit == database.settings.connections && usage.waiting == 0)
    #expect((1...usage.limit).contains(usage.open) && (0...usage.open).contains(usage.used))
  }

  @Test("an expired token has no holder")
  func expiry() throws {
    let passed = Locked<Int64>(0)
    let system = Clock.system
    let clock = Clock(
      now: { system.now() + passed.withLock { $0 } }, instant: system.instant, sleepUntil: system.sleepUntil)
    let directory = PostgresDirectory(
      try PostgresDatabase(database.settings, environment: Environment(clock: clock, random: .system)))
    let (_, token) = try directory.addUser(
      "ann", account: nil, role: .device, expires: Date(timeIntervalSinceNow: 600))
    #expect(try directory.member(token: token) != nil)
    passed.withLock { $0 = 601_000 }
    #expect(try directory.member(token: token) == nil)
  }

  @Test("the directory serves the schemas that were named, and those of the program without a name")
  func schemas() throws {
    let shipped = [RestorationSchema.schema]
    #expect(try directory.schemas(adding: [], shipped: shipped) == shipped)
    let folder = try TemporaryFolder()
    let files = [MigrationFile(version: 1, name: "things", sql: "CREATE TABLE Thing (id INTEGER PRIMARY KEY) STRICT;")]
    let own = Schema(name: "things", migrations: files)
    let named = (source: SchemaSource(name: "things", folder: folder.path + "/gone"), schema: own)
    #expect(try directory.schemas(adding: [named], shipped: shipped) == shipped + [own])
    #expect(try directory.schemas(adding: [], shipped: shipped) == shipped + [own], "without its folder")
    #expect(throws: ServerError.self) { try directory.schemas(adding: [], shipped: []) }
  }

  @Test("the time of retention never steps back")
  func retentionTime() throws {
    #expect(try directory.retentionTime() == nil)
    for time in [5, 9, 7] as [Int64] { try directory.storeRetentionTime(time) }
    #expect(try directory.retentionTime() == 9)
  }
}
