import Foundation
import ServerSupport
import SyncModel
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The program as a person and a service manager see it.
@Suite struct ServeCommandTests {
  private let folder: TemporaryFolder
  private var data: String { folder.path + "/data" }

  init() throws { folder = try TemporaryFolder() }

  private func run(_ arguments: String...) async throws -> (status: Int32, output: String, errors: String) {
    try await RunningServer.run(arguments, in: folder)
  }

  private func serve(_ more: String...) throws -> RunningServer {
    try RunningServer(["serve", "--data", data, "--listen", "127.0.0.1:0"] + more, in: folder)
  }

  @Test("Users are linked with records, and an account limits devices to memberships") func memberships() async throws {
    let record = newUuid()
    #expect(
      try await run("user", "add", "ada", "--record", record.uppercased(), "--account", "water", "--data", data).status
        == 0)
    let wrong = try await run("user", "add", "eve", "--record", "seven", "--data", data)
    #expect(wrong.status == 2 && wrong.errors.contains("record must be a UUID"))
    #expect(try await run("user", "add", "ben", "--account", "water", "--data", data).status == 0)
    let on = try await run("account", "membership", "on", "water", "--data", data)
    #expect(on.status == 0 && on.errors.contains("users without a record, whom no membership can name: ben"))
    #expect(try await run("user", "link", "ben", record, "--data", data).status == 0)
    #expect(try await run("user", "link", "ben", "seven", "--data", data).status == 2)
    #expect(try await run("user", "link", "eve", record, "--data", data).status == 4)
    let json = try await run("account", "membership", "on", "water", "--data", data, "--json")
    #expect(try SyncValue(parsing: json.output) == ["membership": true, "usersWithoutRecord": []])
    #expect(try await run("user", "list", "--data", data).output.components(separatedBy: record).count == 3)
    #expect(try await run("user", "unlink", "ada", "--data", data).status == 0)
    let list = try await run("user", "list", "--data", data, "--json")
    guard case .array(let users) = try SyncValue(parsing: list.output) else { throw Unexpected(list.output) }
    #expect(users.map { $0["record"] } == [.null, .text(record)])
    let accounts = try await run("account", "list", "--data", data, "--json")
    guard case .array(let rows) = try SyncValue(parsing: accounts.output) else { throw Unexpected(accounts.output) }
    #expect(rows.map { $0["membership"] } == [true])
    #expect(try await run("account", "membership", "off", "water", "--data", data).status == 0)
    let missing = try await run("account", "membership", "on", "fire", "--data", data)
    #expect(missing.status == 4 && missing.errors.contains("account list"))
    #expect(try await run("account", "membership", "--data", data).status == 2)
  }

  @Test("'inspect' prints a link to the pages of a running server, and names what is missing")
  func inspect() async throws {
    #expect(try await run("user", "add", "ada", "--account", "water", "--data", data).status == 0)
    let server = try serve("--admin-listen", "127.0.0.1:0")
    _ = try await server.url()
    let line = try #require(server.output.split(separator: "\n").first { $0.hasPrefix("metrics on http://") })
    let address = String(line.dropFirst("metrics on http://".count).dropLast("/metrics".count))
    let printed = try await run("inspect", "--data", data, "--admin-listen", address)
    #expect(printed.status == 0 && printed.output.hasPrefix("http://\(address)/open?key="))
    let link = printed.output.trimmingCharacters(in: .newlines)
    let browser = try Browser(link)
    #expect(try browser.get("/").text.contains("Run &#39;fieldvault-server inspect&#39;"))
    #expect(try browser.get(String(link.dropFirst("http://\(address)".count))).status == 303)
    #expect(try browser.get("/account?name=water").text.contains("<bdi>ada</bdi>"))
    let json = try await run("inspect", "--data", data, "--admin-listen", "0.0.0.0:9464", "--json")
    guard case .text(let url)? = try SyncValue(parsing: json.output)["url"] else { throw Unexpected(json.output) }
    #expect(url.hasPrefix("http://127.0.0.1:9464/open?key="))
    let unnamed = try await run("inspect", "--data", data)
    #expect(unnamed.status == 2 && unnamed.errors.contains("the operator's address of the server is not named"))
    for wrong in ["127.0.0.1:0", "127.0.0.1", "9464"] {
      #expect(try await run("inspect", "--data", data, "--admin-listen", wrong).status == 2, "\(wrong)")
    }
    #expect(try await run("inspect", "--data", data + "/none", "--admin-listen", address).status == 4)
    server.signal(SIGTERM)
    #expect(try await server.end() == 0)
    #expect(!server.errors.contains("key="))
  }

  @Test("User commands return their exit codes and store no token in plaintext") func usersAndExitCodes() async throws {
    let added = try await run("user", "add", "ada", "--account", "water", "--data", data)
    #expect(added.status == 0 && added.output.hasPrefix("fv_") && added.output.count == 47)
    #expect(try await run("user", "add", "ada", "--data", data).status == 10)
    let json = try await run("user", "add", "bob", "--data", data, "--json")
    #expect(try SyncValue(parsing: json.output)["account"] == "default")
    let accounts = try SyncValue(parsing: try await run("account", "list", "--data", data, "--json").output)
    guard case .array(let listed) = accounts else { throw Unexpected("no list of accounts") }
    #expect(listed.map { $0["name"] } == ["default", "water"] && listed.map { $0["users"] } == [1, 1])
    #expect(try await run("account", "list", "--data", data).output.contains("water"))
    let audit = try await run("audit", "list", "--data", data, "--json")
    let entries = try SyncValue(parsing: audit.output)
    guard case .array(let rows) = entries else { throw Unexpected("the audit log is not a list: \(audit.output)") }
    #expect(rows.map { $0["action"] } == ["user added", "user added"] && rows[0]["user"] == "ada")
    #expect(rows[1]["details"] == "account default, role device" && rows[1]["actor"] != nil && rows[1]["time"] != nil)
    #expect(try await run("audit", "list", "--data", data, "--limit", "1").output.contains("user added"))
    let late = try await run("audit", "list", "--data", data, "--since", "2999-01-01")
    #expect(late.status == 0 && late.output.isEmpty && late.errors.contains("no entries"))
    #expect(try await run("audit", "list", "--data", data, "--since", "yesterday").status == 2)
    let list = try await run("user", "list", "--data", data, "--json")
    guard case .array(let users) = try SyncValue(parsing: list.output) else { throw Unexpected(list.output) }
    #expect(users.map { $0["name"] } == ["ada", "bob"])
    #expect(!list.output.contains("fv_"))
    #expect(try await run("user", "revoke", "bob", "--data", data).status == 0)
    #expect(try await run("user", "revoke", "eve", "--data", data).status == 4)
    #expect(try await run("user", "list", "--data", folder.path + "/nothing").status == 4)
    #expect(try await run("user", "list").status == 2)
    #expect(try await run("serve", "--data", data, "--tls-cert", "x").status == 2)
    #expect(try await run("serve", "--data", data, "--schema", "nothing").status == 4)
    #expect(try await run("serve", "--data", data, "--listen", "nowhere").status == 1)
    #expect(try await run("--help").output.contains("user"))
    let modes = try [data, data + "/server.key", data + "/directory.db"].map {
      try FileManager.default.attributesOfItem(atPath: $0)[.posixPermissions] as? Int
    }
    #expect(modes == [0o700, 0o600, 0o600])
    // The token itself stands nowhere.
    let token = added.output.trimmingCharacters(in: .newlines)
    for file in ["directory.db", "directory.db-wal", "server.key"] {
      guard let content = FileManager.default.contents(atPath: data + "/" + file) else { continue }
      #expect(content.range(of: Data(token.utf8)) == nil)
    }
  }

  @Test("A signal ends the server in order, and a restart keeps its data")
  func restartKeepsEverythingAndSignalsEndInOrder() async throws {
    let token = try await run("user", "add", "ada", "--data", data, "--quiet").output.trimmingCharacters(in: .newlines)
    let first = try serve("--schema", "restoration")
    let client = TestClient(url: try await first.url(), token: token)
    let uuid = newUuid()
    let operation = Operation.create("Project", uuid, ["title": "Elm"])
    let result = try await client.push([operation]).list("results")
    let (_, cursor) = try await client.pull()
    let identity = try await client.get("/v1/account").text("serverUuid")
    #expect(try await RunningServer.run(["serve", "--data", data, "--listen", "127.0.0.1:0"], in: folder).status == 6)
    // A user that is added while the server runs is let in at once.
    let other = try await run("user", "add", "bob", "--data", data).output.trimmingCharacters(in: .newlines)
    #expect(try await TestClient(url: client.url, token: other).get("/v1/account").status == 200)

    async let watch = client.get("/v1/watch?cursor=\(cursor)&timeout=50")
    try await Task.sleep(for: .milliseconds(300))
    first.signal(SIGTERM)
    #expect(try await watch["changed"] == false)
    #expect(try await first.end() == 0)
    #expect(first.errors.contains("GET /v1/watch 200") && !first.errors.contains(uuid))

    let second = try serve()
    let later = TestClient(url: try await second.url(), token: token)
    #expect(try await later.get("/v1/account").text("serverUuid") == identity)
    #expect(try await later.pull(after: cursor).changes.isEmpty)
    #expect(try await later.push([operation]).list("results") == result)
    #expect(try await later.pull().changes.map { $0["entityUuid"] } == [.text(uuid)])
    second.signal(SIGINT)
    #expect(try await second.end() == 0)
  }

  @Test("A stopping server finishes requests in flight and accepts no others") func whatIsInFlightIsFinished()
    async throws
  {
    let token = try await run("user", "add", "ada", "--data", data).output.trimmingCharacters(in: .newlines)
    let server = try serve("--quiet")
    let url = try await server.url()
    let body = "{\"deviceId\": \"d\", \"deviceCounter\": 1, \"operations\": []}"
    let raw = try RawConnection(to: url)
    #expect(
      raw.send(
        "POST /v1/push HTTP/1.1\r\nHost: x\r\nFieldVault-Protocol: 2\r\nAuthorization: Bearer \(token)\r\nContent-Type: application/json\r\n"
          + "Content-Length: \(body.utf8.count)\r\n\r\n{"))
    try await Task.sleep(for: .milliseconds(500))
    server.signal(SIGTERM)
    try await Task.sleep(for: .milliseconds(500))
    #expect(throws: Unexpected.self) { try RawConnection(to: url) }
    #expect(raw.send(String(body.dropFirst())))
    #expect(await raw.receive().hasPrefix("HTTP/1.1 200"))
    #expect(try await server.end() == 0)
    #expect(server.errors.isEmpty)
  }

  @Test("SIGHUP does not end a server without a certificate")
  func hangUpWithoutCertificate() async throws {
    let server = try serve()
    let url = try await server.url()
    server.signal(SIGHUP)
    try await Task.sleep(for: .seconds(1))
    #expect(server.isRunning)
    #expect(try await TestClient(url: url, token: nil).get("/v1/health").status == 200)
    server.signal(SIGTERM)
    #expect(try await server.end() == 0)
  }

  @Test("A service manager learns that the server listens, reloads and stops")
  func notifications() async throws {
    let socket = try NotificationSocket(at: folder.path + "/notify")
    let server = try RunningServer(
      ["serve", "--data", data, "--listen", "127.0.0.1:0", "--quiet"], in: folder,
      variables: ["NOTIFY_SOCKET": folder.path + "/notify"])
    try await eventually { socket.received().count == 1 }
    // The server was ready when it sent the message.
    let status = socket.messages[0].split(separator: "\n")
    let url = status.last.map { $0.dropFirst("STATUS=listening on ".count) } ?? ""
    #expect(status.first == "READY=1")
    #expect(try await TestClient(url: String(url), token: nil).get("/v1/ready").status == 200)
    server.signal(SIGHUP)
    try await eventually { socket.received().count == 3 }
    #expect(socket.messages[1].hasPrefix("RELOADING=1\n") && socket.messages[2] == socket.messages[0])
    server.signal(SIGTERM)
    #expect(try await server.end() == 0)
    #expect(socket.received().dropFirst(3) == ["STOPPING=1\n"])
  }

  @Test("A service manager that cannot be reached does not stop the server")
  func unreachableServiceManager() async throws {
    let server = try RunningServer(
      ["serve", "--data", data, "--listen", "127.0.0.1:0", "--quiet"], in: folder,
      variables: ["NOTIFY_SOCKET": folder.path + "/nothing"])
    #expect(try await TestClient(url: try await server.url(), token: nil).get("/v1/ready").status == 200)
    server.signal(SIGTERM)
    #expect(try await server.end() == 0)
    #expect(server.errors.contains("cannot notify the service manager at \(folder.path)/nothing: "), "\(server.errors)")
  }

  /// Starts the server with limits of open files, as a service manager does.
  private func serve(softLimit: Int, hardLimit: Int, _ more: String...) throws -> ChildProcess {
    let words = [try builtProgram("fieldvault-server"), "serve", "--data", data, "--listen", "127.0.0.1:0"] + more
    return try ChildProcess(
      "/bin/sh", ["-c", "ulimit -Sn \(softLimit) && ulimit -Hn \(hardLimit) && exec \"$@\"", "sh"] + words,
      output: .file(folder.file("out")), errors: .file(folder.file("err")))
  }

  @Test("Connections and open accounts that do not fit the limit of open files are refused with the largest number")
  func descriptorLimit() async throws {
    func errors(connections: Int, accounts: Int) throws -> String {
      let server = try serve(
        softLimit: 256, hardLimit: 1_000, "--max-connections", "\(connections)", "--open-accounts", "\(accounts)")
      #expect(server.wait(within: .seconds(60))?.status == 2)
      return try String(contentsOfFile: folder.file("err"), encoding: .utf8)
    }
    let connections = try errors(connections: 837, accounts: 10)
    #expect(connections.contains("--max-connections is at most 836 with --open-accounts 10"), "\(connections)")
    let accounts = try errors(connections: 1, accounts: 94)
    #expect(accounts.contains("--open-accounts is at most 93"), "\(accounts)")
  }

  @Test("The server raises its limit of open files as far as the system permits, and its connections fit it")
  func raisedLimit() async throws {
    let server = try serve(softLimit: 64, hardLimit: 1_000, "--max-connections", "836", "--open-accounts", "10")
    try await eventually {
      if server.poll() != nil { throw Unexpected(try String(contentsOfFile: folder.file("err"), encoding: .utf8)) }
      return try String(contentsOfFile: folder.file("out"), encoding: .utf8).hasPrefix("listening on ")
    }
    #if os(Linux)
      let limits = try String(contentsOfFile: "/proc/\(server.id)/limits", encoding: .utf8)
      let files = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max open files") })
      #expect(files.split(separator: " ").dropFirst(3).prefix(2) == ["1000", "1000"])
    #endif
    server.signal(SIGTERM)
    #expect(try server.wait().status == 0)
  }
}
