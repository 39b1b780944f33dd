import Foundation
import Platform
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import HTTPServer
@testable import SyncServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct MetricsRouteTests {
  private func get(_ address: String) async throws -> (status: Int, type: String, text: String) {
    let (data, response) = try await URLSession.shared.data(from: try #require(URL(string: address)))
    let http = try #require(response as? HTTPURLResponse)
    return (
      http.statusCode, http.value(forHTTPHeaderField: "Content-Type") ?? "", String(decoding: data, as: UTF8.self)
    )
  }

  private func metrics(_ server: FieldVaultServer) async throws -> String {
    let found = try await get(try #require(server.adminURL) + "/metrics")
    #expect(found.status == 200 && found.type == "text/plain; version=0.0.4; charset=utf-8")
    return found.text
  }

  private func value(_ series: String, in text: String) -> Double? {
    text.split(separator: "\n").first { $0.hasPrefix(series + " ") }.flatMap { Double($0.dropFirst(series.count + 1)) }
  }

  @Test("The figures count requests, operations, changes and writes, and show limits and use")
  func figures() async throws {
    let server = try TestServer(adminListen: "127.0.0.1:0")
    // Retention writes too. Its first round chooses its accounts before there is one.
    var before = ""
    try await eventually("the first round of retention began") {
      before = try await metrics(server.server)
      return value("fieldvault_retention_round_seconds", in: before) != nil
    }
    let client = try server.client("ada")
    #expect(value("fieldvault_build_info{version=\"1.2.3\"}", in: before) == 1)
    #expect(value("fieldvault_changes_total", in: before) == 0)
    let projects = (0..<3).map { _ in newUuid() }
    let operations = projects.map { Operation.create("Project", $0, ["title": "Dam"]) }
    #expect(try await client.results(operations + [Operation.create("Nothing", newUuid(), [:])]).count == 4)
    #expect(try await client.get("/v1/changes").status == 200)
    #expect(try await TestClient(url: server.server.url, token: "none").get("/v1/changes").status == 401)
    let cursor = try await client.pull().cursor
    let waiting = Task { try await client.get("/v1/watch?cursor=\(cursor)&timeout=55") }
    try await eventually("a request waits") {
      value("fieldvault_waiting_requests", in: try await metrics(server.server)) == 1
    }
    // A request is counted after its response was sent.
    var text = ""
    try await eventually("all requests are counted") {
      text = try await metrics(server.server)
      return value("fieldvault_requests_total{method=\"GET\",route=\"/v1/changes\",status=\"200\"}", in: text) == 2
        && value("fieldvault_requests_total{method=\"GET\",route=\"/v1/changes\",status=\"401\"}", in: text) == 1
    }
    for (series, expected) in [
      ("fieldvault_requests_total{method=\"POST\",route=\"/v1/push\",status=\"200\"}", 1.0),
      ("fieldvault_requests_total{method=\"GET\",route=\"/v1/changes\",status=\"200\"}", 2),
      ("fieldvault_requests_total{method=\"GET\",route=\"/v1/changes\",status=\"401\"}", 1),
      ("fieldvault_request_duration_seconds_count{route=\"/v1/push\"}", 1),
      ("fieldvault_operations_total{result=\"accepted\"}", 3), ("fieldvault_operations_total{result=\"rejected\"}", 1),
      ("fieldvault_changes_total", 3), ("fieldvault_failures_total", 0), ("fieldvault_write_wait_seconds_count", 1),
      ("fieldvault_write_hold_seconds_count", 1), ("fieldvault_waiting_requests_limit", 1_000),
      ("fieldvault_open_accounts", 1), ("fieldvault_open_accounts_limit", 64), ("fieldvault_connections_limit", 1_024),
      ("fieldvault_body_memory_bytes", 0),
    ] {
      #expect(value(series, in: text) == expected, "\(series)")
    }
    #expect(try #require(value("fieldvault_disk_free_bytes", in: text)) > 0)
    #expect(try #require(value("fieldvault_connections", in: text)) >= 1)
    #expect(try #require(value("fieldvault_requests_in_flight", in: text)) >= 1)
    #expect(try #require(value("fieldvault_write_hold_seconds_sum", in: text)) > 0)
    for series in ["fieldvault_retention_time_seconds", "fieldvault_retention_round_seconds"] {
      #expect(abs(try #require(value(series, in: text)) - Date().timeIntervalSince1970) < 3_600, "\(series)")
    }
    #expect(!text.contains("/v1/watch"), "a request that waits has not ended")
    await server.server.stop()
    #expect(try await waiting.value.status == 200)
  }

  @Test("The operator's address has no records, and the devices' address has no figures")
  func separateAddresses() async throws {
    let server = try TestServer(adminListen: "127.0.0.1:0")
    let client = try server.client("ada")
    let admin = TestClient(url: try #require(server.server.adminURL), token: client.token)
    #expect(try await admin.get("/v1/health").status == 200)
    #expect(try await admin.get("/v1/ready").status == 200)
    #expect(try await admin.get("/v1/changes").status == 404)
    #expect(try await admin.get("/v1/account").status == 404)
    #expect(try await admin.request("POST", "/metrics", [:]).status == 405)
    #expect(try await client.get("/metrics").status == 404)
    await server.server.stop()
  }

  @Test("A server whose second address cannot be used does not start, and leaves the first one free")
  func secondAddress() async throws {
    let server = try TestServer(adminListen: "127.0.0.1:0")
    let taken = String(try #require(server.server.adminURL).dropFirst("http://".count))
    let folder = try TemporaryFolder()
    #expect(throws: HTTPServerError.self) { try TestServer(in: folder, adminListen: taken) }
    // If the first address cannot be used, the second one is free again.
    let first = String(server.server.url.dropFirst("http://".count))
    let spare = try TestServer(adminListen: "127.0.0.1:0")
    let free = String(try #require(spare.server.adminURL).dropFirst("http://".count))
    await spare.server.stop()
    #expect(throws: HTTPServerError.self) {
      try TestServer(in: folder, adminListen: free, listen: first)
    }
    let third = try TestServer(in: folder, adminListen: free)
    await third.server.stop()
    // The folder is free again.
    let second = try TestServer(in: folder, adminListen: "127.0.0.1:0")
    await second.server.stop()
    await server.server.stop()
  }

  @Test("A response names its request, and the log in JSON has the request, the account and the device")
  func requestIds() async throws {
    let server = try TestServer(logFormat: .json)
    let client = try server.client("ada", account: "water")
    let response = try await client.request("GET", "/v1/account", headers: ["X-Request-Id": "proxy-1"])
    #expect(response.headers["x-request-id"] == "proxy-1")
    let other = try await client.request("GET", "/v1/account", headers: ["X-Request-Id": "two words"])
    #expect(try #require(other.headers["x-request-id"]).wholeMatch(of: /[0-9a-f]{16}/) != nil)
    #expect(try await client.results([Operation.create("Project", newUuid(), ["title": "Dam"])]) == ["accepted"])
    #expect(try await TestClient(url: server.server.url, token: nil).get("/v1/nothing").headers["x-request-id"] != nil)
    try await eventually("four requests are logged") { server.lines.withLock { $0.count } == 4 }
    let lines = try server.lines.withLock { $0 }.map { try SyncValue(parsing: $0) }
    let first = try #require(lines.first { $0["requestId"] == "proxy-1" })
    #expect(first["account"] == "water" && first["status"] == 200 && first["route"] == "/v1/account")
    let push = try #require(lines.first { $0["route"] == "/v1/push" })
    #expect(push["account"] == "water" && push["device"] != nil)
    let unknown = try #require(lines.first { $0["status"] == 404 })
    #expect(unknown["account"] == nil && unknown["route"] == nil)
    #expect(!server.lines.withLock { $0 }.joined().contains("Dam"))
    await server.server.stop()
  }

  @Test("A slow request is logged and counted, and a request that waits for a change is not slow")
  func slowRequests() async throws {
    let server = try TestServer(adminListen: "127.0.0.1:0", slowRequest: .nanoseconds(1))
    let client = try server.client("ada")
    let cursor = try await client.pull().cursor
    #expect(try await client.get("/v1/watch?cursor=\(cursor)&timeout=1").status == 200)
    try await eventually("both are logged") { server.lines.withLock { $0.count } == 2 }
    let lines = server.lines.withLock { $0 }
    #expect(lines.contains { $0.contains(" slow: GET /v1/changes 200 ") })
    #expect(lines.contains { $0.contains("Z GET /v1/watch 200 ") })
    let text = try await metrics(server.server)
    #expect(value("fieldvault_slow_requests_total{route=\"/v1/changes\"}", in: text) == 1)
    #expect(!text.contains("fieldvault_request_duration_seconds_count{route=\"/v1/watch\"}"))
    await server.server.stop()
  }

  @Test("Prometheus accepts the figures of a folder and the alerts, and each alert fires")
  func prometheus() async throws {
    guard let promtool = tool("promtool") else {
      Issue.record("promtool is not installed; scripts/setup --tests installs it")
      return
    }
    let server = try TestServer(adminListen: "127.0.0.1:0", slowRequest: .nanoseconds(1))
    let client = try server.client("ada")
    #expect(try await client.results([Operation.create("Project", newUuid(), ["title": "Dam"])]) == ["accepted"])
    try server.withDirectory { try $0.note(.backedUp(accounts: 1, files: 0, bytes: 9)) }
    let text = try await metrics(server.server)
    let backup = try #require(value("fieldvault_last_backup_seconds", in: text))
    #expect(abs(backup - Date().timeIntervalSince1970) < 60)
    await server.server.stop()
    let folder = try TemporaryFolder()
    func run(_ arguments: [String], input: ChildProcess.Stream = .null) throws -> (code: Ending?, output: String) {
      let output = folder.path + "/output"
      let child = try ChildProcess(
        promtool, arguments, input: input, output: .file(output), errors: .appendedFile(output))
      let ending = child.wait(within: .seconds(60))
      return (ending, try String(contentsOfFile: output, encoding: .utf8))
    }
    try text.write(toFile: folder.path + "/metrics", atomically: true, encoding: .utf8)
    let check = try run(["check", "metrics"], input: .file(folder.path + "/metrics"))
    #expect(check.code == .exit(0), "\(check.output)")
    let alerts = packagePath("Sources/SyncServer/alerts.yml")
    let rules = try run(["check", "rules", alerts])
    #expect(rules.code == .exit(0), "\(rules.output)")
    let fired = try run(["test", "rules", packagePath("Tests/SyncServerTests/Data/alert-tests.yml")])
    #expect(fired.code == .exit(0), "\(fired.output)")

    // The rules and their test use only figures that a server has, and each alert has a test.
    let rule = try String(contentsOfFile: alerts, encoding: .utf8)
    let test = try String(
      contentsOfFile: packagePath("Tests/SyncServerTests/Data/alert-tests.yml"), encoding: .utf8)
    let ofDatabase: Set = ["fieldvault_database_waiting_transactions"]
    for name in Set(rule.matches(of: /fieldvault_[a-z_]+/).map { String($0.output) }) {
      #expect(text.contains(name) || ofDatabase.contains(name), "no figure \(name)")
    }
    let names = rule.matches(of: /alert: (\w+)/).map { String($0.output.1) }
    #expect(names.count >= 8 && Set(names).count == names.count)
    for name in names { #expect(test.contains("alertname: \(name)"), "no test of \(name)") }
  }
}
