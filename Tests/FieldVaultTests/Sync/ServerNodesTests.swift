import Foundation
import ServerSupport
import TestSupport
import Testing

/// Several server programs on one PostgreSQL database, used through the command lines only.
@Suite(.serialized) struct ServerNodesTests {
  private let shop: Workshop
  private let program: String
  /// The name and the address of the database.
  private let name: String
  private let database: String
  private let server: PostgresServer

  init() throws {
    shop = try Workshop(vault: false)
    program = try builtProgram("fieldvault-server")
    server = try PostgresServer()
    name = try server.makeDatabase()
    database = server.url(name)
    try shop.write("AKIDEXAMPLE\nwJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY\n", to: "s3.key")
    chmod(shop.path("s3.key"), 0o600)
  }

  private func command(_ words: String...) throws -> Ran {
    try run(program, words + ["--database", database, "-q"])
  }

  /// Starts a node, and returns it with its address.
  private func startNode(on url: String? = nil) throws -> (running: Running, url: String) {
    let node = try Running(
      program,
      [
        "serve", "--database", url ?? database, "--listen", "127.0.0.1:0", "--schema", "restoration", "-q",
        "--s3-endpoint",
        "https://127.0.0.1:9", "--s3-bucket", "photos", "--s3-credentials", shop.path("s3.key"),
      ], environment: shop.environment())
    try blockUntil("the node listens") { try node.outputSoFar().hasSuffix("\n") }
    let line = try node.outputSoFar().split(separator: "\n").first { $0.hasPrefix("listening on ") }
    return (node, String(try #require(line).dropFirst("listening on ".count)))
  }

  private func use(_ url: String, _ vault: String) throws {
    try shop.done("remote", "set", url, "--token-file", shop.path("token-\(vault)"), "-q", vault: vault)
  }

  private func sync(_ vault: String) throws -> Int32 { try shop.run(["sync", "--json"], vault: vault).status }

  @Test("devices sync through whichever node responds, also after a node and the database were killed")
  func nodes() throws {
    for (vault, person) in [("a.vault", "ada"), ("b.vault", "bob")] {
      try shop.done("init", "--schema", "restoration", "--quiet", vault: vault)
      let added = try command("user", "add", person, "--account", "water")
      #expect(added.status == 0, "\(added.errors)")
      try shop.write(added.output, to: "token-\(vault)")
    }
    let (first, second) = (try startNode(), try startNode())
    defer { for node in [second] { kill(node.running.process, SIGTERM) } }
    try use(first.url, "a.vault")
    try use(second.url, "b.vault")
    let made = try shop.run(["put", "Project", "title=Elm"], vault: "a.vault")
    let uuid = String(try #require(made.lines.first, "\(made.errors)"))
    #expect(try sync("a.vault") == 0)
    #expect(try sync("b.vault") == 0)
    #expect(try shop.run(["get", "Project", uuid, "--json"], vault: "b.vault").object()["title"] as? String == "Elm")

    // The node of the first device dies; the other one serves both.
    kill(first.running.process, SIGKILL)
    _ = try first.running.wait()
    try shop.done("put", "Project", "title=Oak", "--uuid", uuid, vault: "a.vault")
    #expect(try sync("a.vault") != 0)
    try use(second.url, "a.vault")
    #expect(try sync("a.vault") == 0)
    #expect(try sync("b.vault") == 0)
    #expect(try shop.run(["get", "Project", uuid, "--json"], vault: "b.vault").object()["title"] as? String == "Oak")

    // The database dies and returns. The node goes on with it.
    server.kill()
    #expect(
      try run("/usr/bin/curl", ["-s", "-o", "/dev/null", "-w", "%{http_code}", second.url + "/v1/ready"]).output
        == "503")
    try server.start()
    try shop.done("put", "Project", "title=Ash", "--uuid", uuid, vault: "b.vault")
    #expect(try sync("b.vault") == 0)
    #expect(try sync("a.vault") == 0)
    #expect(try shop.run(["get", "Project", uuid, "--json"], vault: "a.vault").object()["title"] as? String == "Ash")
    #expect(
      try run("/usr/bin/curl", ["-s", "-o", "/dev/null", "-w", "%{http_code}", second.url + "/v1/ready"]).output
        == "200")
  }

  @Test("devices send again what a promoted standby lacks")
  func lostTail() throws {
    let standby = try PostgresServer(standbyOf: server, name: "b")
    let url = "host=\(server.folder),\(standby.folder) user=fv dbname=\(name)"
    for (vault, person) in [("a.vault", "ada"), ("b.vault", "bob")] {
      try shop.done("init", "--schema", "restoration", "--quiet", vault: vault)
      try shop.write(try command("user", "add", person, "--account", "water").output, to: "token-\(vault)")
    }
    let node = try startNode(on: url)
    defer { kill(node.running.process, SIGTERM) }
    for vault in ["a.vault", "b.vault"] { try use(node.url, vault) }
    try shop.done("put", "Project", "title=Elm", vault: "a.vault")
    #expect(try sync("a.vault") == 0)
    #expect(try sync("b.vault") == 0)
    try blockUntil("the standby has the record") {
      try standby.sql("SELECT count(*) FROM fieldvault.record WHERE entity_type = 'Project'", database: name) == "1"
    }
    // The standby receives nothing more, and the primary acknowledges all the same.
    try standby.sql("ALTER SYSTEM SET primary_conninfo = ''")
    try standby.sql("SELECT pg_reload_conf()")
    try blockUntil("the standby is cut off") { try server.sql("SELECT count(*) FROM pg_stat_replication") == "0" }
    let made = try shop.run(["put", "Project", "title=Oak"], vault: "a.vault")
    let uuid = String(try #require(made.lines.first, "\(made.errors)"))
    #expect(try sync("a.vault") == 0, "acknowledged")
    server.kill()
    try standby.promote()
    #expect(
      try standby.sql("SELECT count(*) FROM fieldvault.record WHERE entity_type = 'Project'", database: name) == "1",
      "the standby lacks the acknowledged record")
    #expect(try sync("a.vault") == 0)
    #expect(try sync("b.vault") == 0)
    #expect(try shop.run(["get", "Project", uuid, "--json"], vault: "b.vault").object()["title"] as? String == "Oak")
  }

  @Test("users and tokens are managed in the database, and mistakes name the option")
  func commands() throws {
    let added = try command("user", "add", "ada", "--account", "water")
    #expect(added.status == 0 && added.output.hasPrefix("fv_"), "\(added.errors)")
    #expect(try command("user", "add", "ada").status == 10)
    let users = try run(program, ["user", "list", "--database", database, "--json"])
    #expect(try users.rows().map { $0["name"] as? String } == ["ada"])
    #expect(try command("token", "add", "ada", "--label", "tablet").status == 0)
    let tokens = try run(program, ["token", "list", "ada", "--database", database, "--json"]).rows()
    #expect(tokens.map { $0["label"] as? String } == [nil, "tablet"])
    #expect(try command("token", "revoke", "2").status == 0 && command("token", "revoke", "9").status == 4)
    #expect(try command("user", "revoke", "ada").status == 0)
    let epoch = try run(program, ["epoch", "new", "--database", database, "--json"]).object()
    #expect(epoch["accounts"] as? Int == 1)
    let nothing = try run(program, ["user", "list"])
    #expect(nothing.status == 2 && nothing.errors.contains("--database URL"))
    let both = try run(program, ["user", "list", "--data", "x", "--database", database])
    #expect(both.status == 2 && both.errors.contains("exclude each other"))
    let noFiles = try run(program, ["serve", "--database", database, "--listen", "127.0.0.1:0"])
    #expect(noFiles.status == 2 && noFiles.errors.contains("--s3-endpoint"))
    let unreachable = try run(program, ["user", "list", "--database", "host=\(shop.path("none")) dbname=x"])
    #expect(unreachable.status == 1 && unreachable.errors.contains("the database cannot be used"))
    let pooled = try run(program, ["serve", "--data", shop.path("d"), "--database-pooled"])
    #expect(pooled.status == 2 && pooled.errors.contains("requires --database"))
  }
}
