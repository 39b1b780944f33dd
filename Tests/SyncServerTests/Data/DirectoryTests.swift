import CipherSQL
import Foundation
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SQLCipherStorage
@testable import ServerStorage
@testable import SyncServer

@Suite struct DirectoryTests {
  @Test("A user has several tokens, each with a role, a label and an end, and each ends by itself")
  func severalTokens() throws {
    let temporary = try TemporaryFolder()
    var folder = try ServerFolder(temporary.path + "/data", isCreating: true)
    let time = TestClock()
    folder.environment = Environment(clock: time.clock, random: .system)
    let directory = try ServerDirectory(in: folder)
    defer { directory.close() }
    let first = try directory.addUser("ada", account: "water").token
    let soon = Date(timeIntervalSinceNow: 3_600)
    let second = try directory.addToken(to: "ada", role: .service, label: "reader", expires: soon)
    #expect(try directory.member(token: first)?.role == .device)
    let member = try #require(try directory.member(token: second.token))
    #expect(member.role == .service && member.tokenId == second.id && member.name == "ada")
    #expect(try directory.isValid(member))
    // At its end it is not valid any more, to a new request and to one that runs.
    time.advance(by: .seconds(3_601))
    #expect(try directory.member(token: second.token) == nil)
    #expect(try !directory.isValid(member))
    let listed = try directory.tokens(of: "ada")
    #expect(listed.map(\.label) == [nil, "reader"] && listed.map(\.role) == [.device, .service])
    #expect(try directory.revokeToken(second.id))
    #expect(try !directory.revokeToken(second.id))
    #expect(try !directory.isValid(member))
    #expect(try directory.member(token: first) != nil)
    let third = try directory.addToken(to: "ada", role: .admin)
    #expect(try directory.revokeUser("ada") == 2)
    for token in [first, third.token] { #expect(try directory.member(token: token) == nil) }
    #expect(throws: ServerError.self) { try directory.revokeToken(99) }
    #expect(throws: ServerError.self) { try directory.addToken(to: "eve") }
    let error = #expect(throws: ServerError.self) {
      try directory.addToken(to: "ada", expires: Date(timeIntervalSinceNow: -1))
    }
    #expect(error?.code == .badExpiry)
  }

  private static let actor = "olga as root"

  /// Runs a closure with the directory of a new folder, and with its clock, which stands still.
  private func withNewDirectory(_ body: (ServerDirectory, TestClock) throws -> Void) throws {
    let temporary = try TemporaryFolder()
    var folder = try ServerFolder(temporary.path + "/data", isCreating: true)
    let time = TestClock(1_767_225_600_000, isRunning: false)
    folder.environment = Environment(clock: time.clock, random: .system)
    folder.actor = Self.actor
    let directory = try ServerDirectory(in: folder)
    defer { directory.close() }
    try body(directory, time)
  }

  @Test("The audit log has each change with the acting user, and nothing else")
  func auditLog() throws {
    try withNewDirectory { try checkAuditLog(of: $0, $1, actor: Self.actor) }
  }

  @Test("A link opens one session for an operator, and rows come in pages by their key")
  func operators() throws { try withNewDirectory { try checkOperators(of: $0, $1) } }

  @Test("The pages for operators are read by indexes, in the order of the rows")
  func plansOfPages() throws {
    try withNewDirectory { directory, _ in
      _ = try directory.addUser("ada", account: "water")
      let user = try #require(try directory.user("ada"))
      let plans = try directory.database.read { connection in
        try [
          ServerDirectory.accountPage(after: "a", atMost: 51),
          ServerDirectory.userPage(of: user.account, after: 5, atMost: 51),
          ServerDirectory.tokenPage(of: user, before: 5, atMost: 51),
          ServerDirectory.devicePage(of: user.account, after: "d", atMost: 51),
          "SELECT number FROM AuditEntry WHERE number < 5 ORDER BY number DESC LIMIT 51",
        ].map { sql in
          try connection.fetchRows("EXPLAIN QUERY PLAN \(sql)", as: Int64.self, Int64.self, Int64.self, String.self)
            .map(\.3).joined(separator: "; ")
        }
      }
      let indexes = [
        "Account USING INDEX sqlite_autoindex_Account_1 (name>?)", "Member_account (accountId=? AND rowid>?)",
        "Token_member (userId=? AND rowid<?)", "DeviceContact USING PRIMARY KEY (accountId=? AND deviceId>?)",
        "AuditEntry USING INTEGER PRIMARY KEY (rowid<?)",
      ]
      for (plan, index) in zip(plans, indexes) {
        #expect(plan.contains(index) && !plan.contains("TEMP B-TREE"), "\(plan)")
        #expect(plan.matches(of: /SCAN (?!\d)/).isEmpty || plan.contains("SCAN (subquery"), "\(plan)")
      }
      #expect(plans[0].contains("Member USING COVERING INDEX Member_account (accountId=?)"), "\(plans[0])")
      #expect(plans[1].contains("Token_valid (userId=?)"), "\(plans[1])")
    }
  }

  @Test("Devices are known by their last requests, and can be revoked")
  func devices() throws {
    try withNewDirectory { try checkDevices(of: $0, $1) }
  }

  @Test("Users have records, and accounts limit devices to memberships")
  func memberships() throws {
    let folder = try TemporaryFolder()
    let directory = try ServerDirectory(in: try ServerFolder(folder.path + "/data", isCreating: true))
    defer { directory.close() }
    try checkMembershipSettings(of: directory)
  }

  @Test("A user of an identity provider is added at its first token, and stays out after a revocation")
  func signIn() throws {
    try withNewDirectory { try checkSignIn(of: $0, $1) }
  }

  @Test("The audit log is read by an index")
  func planOfAuditLog() throws {
    let folder = try TemporaryFolder()
    let directory = try ServerDirectory(in: try ServerFolder(folder.path + "/data", isCreating: true))
    defer { directory.close() }
    let plans = try directory.database.read { connection in
      try [
        "SELECT number FROM AuditEntry WHERE time >= 5 ORDER BY time DESC, number DESC LIMIT 100",
        "SELECT time FROM AuditEntry WHERE action = 'backed up' ORDER BY time DESC LIMIT 1",
      ].map { sql in
        try connection.fetchRows(
          "EXPLAIN QUERY PLAN \(SQL(stringLiteral: sql))", as: Int64.self, Int64.self, Int64.self, String.self
        ).map(\.3).joined(separator: "; ")
      }
    }
    #expect(plans[0].contains("INDEX AuditEntry_time (time>?)") && !plans[0].contains("TEMP B-TREE"), "\(plans[0])")
    #expect(plans[1].contains("INDEX AuditEntry_action (action=?)") && !plans[1].contains("TEMP B-TREE"), "\(plans[1])")
  }

  @Test("A server stores once a minute, and when it stops, when tokens were used")
  func lastUse() async throws {
    let time = TestClock(1_767_225_600_000)
    let server = try TestServer(environment: Environment(clock: time.clock, random: .system))
    let (ada, bob) = (try server.client("ada"), try server.client("bob"))
    func used() throws -> [Bool] { try server.withDirectory { try $0.tokens().map { $0.lastUsedAt != nil } } }
    #expect(try await ada.get("/v1/account").status == 200)
    #expect(try await TestClient(url: server.server.url, token: "fv_unknown").get("/v1/account").status == 401)
    #expect(try used() == [false, false])
    time.advance(by: .seconds(61))
    try await eventually("the time is stored") { try used() == [true, false] }
    #expect(try await bob.get("/v1/account").status == 200)
    await server.server.stop()
    #expect(try used() == [true, true])
  }

  @Test("A token of the role admin reads its account, and neither pushes nor pulls")
  func admins() async throws {
    let server = try TestServer()
    _ = try server.client("ada")
    let token = try server.withDirectory { try $0.addToken(to: "ada", role: .admin).token }
    let admin = TestClient(url: server.server.url, token: token)
    let account = try await admin.get("/v1/account")
    #expect(account.status == 200 && account.text("role") == "admin")
    #expect(try await admin.get("/v1/changes").status == 403)
    #expect(try await admin.push([]).status == 403)
    #expect(try await FileClient(admin).begin(4).status == 403)
    await server.server.stop()
  }

  @Test("A directory of version 0.1 keeps its users and tokens, and accounts that were never used are made once")
  func oldDirectory() throws {
    let temporary = try TemporaryFolder()
    let folder = try ServerFolder(temporary.path + "/data", isCreating: true)
    let token = AccessToken.make()
    let old = Schema(name: "directory", migrations: Array(DirectorySchema.schema.migrations.prefix(1)))
    try folder.makeDatabase("directory.db", keyName: "directory") { database in
      try Migrator(schemas: [old]).apply(to: database)
      try database.write { connection in
        try connection.execute("INSERT INTO ServerIdentity (id, serverUuid) VALUES (1, 'server')")
        try connection.execute(
          """
          INSERT INTO Account (name, folder, createdAt) VALUES ('water', 'f1', '2026-01-01T00:00:00.000Z'),
            ('land', 'f2', '2026-01-01T00:00:00.000Z'), ('air', 'f3', '2026-01-01T00:00:00.000Z')
          """)
        try connection.execute(
          "INSERT INTO Member (accountId, name, createdAt) VALUES (1, 'ada', '2026-01-01T00:00:00.000Z')")
        try connection.execute(
          """
          INSERT INTO Token (hash, userId, createdAt)
          VALUES (\(AccessToken.hash(of: token)), 1, '2026-01-01T00:00:00.000Z')
          """)
      }
    }
    // One account was used, one was used and has lost its records, one was never used.
    try folder.makeAccount("f1")
    try folder.makeAccount("f2")
    for file in ["f1/files.db", "f2/records.db"] {
      try FileManager.default.removeItem(atPath: folder.path + "/accounts/" + file)
    }
    for _ in 0..<2 {
      let directory = try ServerDirectory(in: try ServerFolder(folder.path, isCreating: false))
      #expect(directory.serverUuid == "server")
      #expect(try directory.member(token: token)?.role == .device)
      #expect(try directory.tokens().map(\.id) == [1])
      directory.close()
    }
    func isThere(_ file: String) -> Bool { FileManager.default.fileExists(atPath: folder.path + "/accounts/" + file) }
    #expect(isThere("f1/files.db") && isThere("f3/records.db") && isThere("f3/files.db"))
    #expect(!isThere("f2/records.db"))
    try FileManager.default.removeItem(atPath: folder.path + "/accounts/f3")
    try ServerDirectory(in: folder).close()
    #expect(!isThere("f3/records.db"))
  }
}
