import Foundation
import ServerSupport
import SyncModel
import TestSupport
import Testing

/// A node that dies or stands still around the commit of a push, which the device sends again to another node.
@Suite(.serialized) struct NodeDeathTests {
  /// What the push is doing when the signal arrives.
  enum Moment: CaseIterable, Sendable {
    /// It waits for the lock of its account.
    case before
    /// Its commit waits for a standby.
    case at
    /// Its response is on its way.
    case after
  }

  private let folder: TemporaryFolder
  private let server: PostgresServer
  private let database: String

  init() throws {
    folder = try TemporaryFolder()
    server = try PostgresServer()
    database = try server.makeDatabase()
    try writeObjectStoreCredentials(to: folder.file("s3.key"))
  }

  private func startNode() async throws -> (process: RunningServer, url: String) {
    let node = try RunningServer(
      [
        "serve", "--database", server.url(database), "--listen", "127.0.0.1:0", "--schema", "restoration", "--quiet",
        "--s3-endpoint", "https://127.0.0.1:9", "--s3-bucket", "photos", "--s3-credentials", folder.file("s3.key"),
      ], in: folder)
    return (node, try await node.url())
  }

  /// Returns when a transaction of a node waits for something.
  private func aTransactionWaits(for kind: String) async throws {
    let query = "SELECT FROM pg_stat_activity WHERE wait_event = '\(kind)' AND application_name <> 'psql'"
    try await eventually("a transaction waits for \(kind)", every: .milliseconds(50)) {
      try server.sql("SELECT EXISTS (\(query))").hasPrefix("t")
    }
  }

  /// Sends a push until a node has executed it.
  private func push(_ body: SyncValue, to client: TestClient) async throws -> JSONResponse {
    var response = try await client.request("POST", "/v1/push", body)
    try await eventually("the push is executed", within: .seconds(90), every: .milliseconds(500)) {
      if response.status == 503 { response = try await client.request("POST", "/v1/push", body) }
      return response.status != 503
    }
    return response
  }

  @Test(
    "a push takes effect once if its node dies or stands still around the commit", arguments: Moment.allCases,
    [SIGKILL, SIGSTOP])
  func death(_ moment: Moment, _ signal: Int32) async throws {
    let added = try await RunningServer.run(
      ["user", "add", "ada", "--account", "water", "--database", server.url(database), "--quiet"], in: folder)
    let token = added.output.trimmingCharacters(in: .whitespacesAndNewlines)
    let (first, second) = (try await startNode(), try await startNode())
    defer { for node in [first, second] { node.process.signal(SIGKILL) } }
    let clients = [first, second].map { TestClient(url: $0.url, token: token) }
    #expect(try await clients[0].get("/v1/account").status == 200)
    let uuid = newUuid()
    let body: SyncValue = [
      "deviceId": .text(newUuid()), "deviceCounter": 1,
      "operations": .array([Operation.create("Project", uuid, ["title": "Elm"])]),
    ]
    let name = "signal \(signal) \(moment)"
    switch moment {
    case .before:
      async let lock = Task.detached { [server, database] in
        try server.sql(
          "BEGIN; SELECT FROM fieldvault.account FOR UPDATE; SELECT pg_sleep(4); ROLLBACK", database: database)
      }.value
      try await eventually("the lock is held") {
        try server.sql("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep')").hasPrefix("t")
      }
      async let lost = clients[0].request("POST", "/v1/push", body)
      try await aTransactionWaits(for: "transactionid")
      first.process.signal(signal)
      _ = try await lock
      try await check(body, uuid, clients[1], name)
      if signal == SIGSTOP { first.process.signal(SIGCONT) }
      _ = try? await lost
    case .at:
      try server.sql("ALTER SYSTEM SET synchronous_standby_names = 'missing'")
      try server.sql("SELECT pg_reload_conf()")
      async let lost = clients[0].request("POST", "/v1/push", body)
      try await aTransactionWaits(for: "SyncRep")
      first.process.signal(signal)
      try server.sql("ALTER SYSTEM SET synchronous_standby_names = ''")
      try server.sql("SELECT pg_reload_conf()")
      try await check(body, uuid, clients[1], name)
      if signal == SIGSTOP { first.process.signal(SIGCONT) }
      _ = try? await lost
    case .after:
      _ = try await push(body, to: clients[0])
      first.process.signal(signal)
      try await check(body, uuid, clients[1], name)
      if signal == SIGSTOP { first.process.signal(SIGCONT) }
    }
    // A node that goes on changes nothing more.
    try await check(body, uuid, clients[1], name)
    if signal == SIGSTOP { try await check(body, uuid, clients[0], name) }
  }

  /// Checks that a push has taken effect once, after it is sent again to a node.
  private func check(_ body: SyncValue, _ uuid: String, _ client: TestClient, _ name: String) async throws {
    let response = try await push(body, to: client)
    #expect(response.list("results").map(\.word) == ["accepted"], "\(name): \(response)")
    let changes = try await client.pull().changes.filter { $0["entityType"] == "Project" }
    #expect(changes.map { $0["entityUuid"] } == [.text(uuid)] && changes.first?["version"] == 1, "\(name): \(changes)")
  }
}
