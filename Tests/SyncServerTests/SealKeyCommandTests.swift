import Foundation
import ServerSupport
import SyncModel
import TestSupport
import Testing

/// The commands about the keys of sealed values, as an operator types them.
@Suite(.serialized) struct SealKeyCommandTests {
  private let folder: TemporaryFolder
  private let server: PostgresServer
  private let database: String

  init() throws {
    folder = try TemporaryFolder()
    server = try PostgresServer()
    database = try server.makeDatabase()
    try writeObjectStoreCredentials(to: folder.file("s3.key"))
  }

  private var keys: String { folder.file("seal.key") }
  private var ofDatabase: [String] { ["--database", server.url(database)] }

  /// Replaces the content of the file by one line.
  private func keep(_ line: Substring) throws {
    try "\(line)\n".write(toFile: keys, atomically: true, encoding: .utf8)
    chmod(keys, 0o600)
  }

  private func run(_ words: String...) async throws -> (status: Int32, output: String, errors: String) {
    try await RunningServer.run(words, in: folder)
  }

  private func serving(_ options: [String]) -> [String] {
    ["serve", "--listen", "127.0.0.1:0", "--schema", "restoration", "--quiet"] + ofDatabase + [
      "--s3-endpoint", "https://127.0.0.1:9", "--s3-bucket", "photos", "--s3-credentials", folder.file("s3.key"),
    ] + options
  }

  @Test("an operator seals the values of a server, rotates the keys while it runs, and removes the former key")
  func rotation() async throws {
    let former = try await run("seal-key", "new", keys)
    #expect(former.status == 0 && former.output.count == 17, "\(former)")
    let added = try await RunningServer.run(["user", "add", "ada", "--quiet"] + ofDatabase, in: folder)
    let token = added.output.trimmingCharacters(in: .whitespacesAndNewlines)
    let node = try RunningServer(serving(["--seal-key", keys]), in: folder)
    defer { node.signal(SIGKILL) }
    let client = TestClient(url: try await node.url(), token: token)
    #expect(try await client.results([Operation.create("Project", newUuid(), ["title": "Secret-Elm"])]) == ["accepted"])
    let stored = try server.sql("SELECT record::text FROM fieldvault.record AS record", database: database)
    #expect(stored.contains("Project") && !stored.contains("Secret"))

    let unsealed = try await RunningServer.run(serving([]), in: folder)
    #expect(unsealed.status == 3 && unsealed.errors.contains("add --seal-key FILE"), "\(unsealed)")

    let new = try await run("seal-key", "new", keys, "--json")
    #expect(new.output.hasPrefix(#"{"key":"#), "\(new)")
    let rotated = try await RunningServer.run(["seal-key", "rotate", "--seal-key", keys] + ofDatabase, in: folder)
    #expect(rotated.status == 0 && rotated.errors.contains("the keys of 1 account under"), "\(rotated)")
    let lines = try String(contentsOfFile: keys, encoding: .utf8).split(separator: "\n")
    try keep(lines[0])
    let renewed = try await RunningServer.run(
      ["seal-key", "rotate", "--account-keys", "--json", "--seal-key", keys] + ofDatabase, in: folder)
    #expect(renewed.status == 0 && renewed.output.contains(#"{"accounts":1}"#), "\(renewed)")
    let titles = try await client.pull().changes.map { $0["fields"]?["title"] }
    #expect(titles.contains(.text("Secret-Elm")), "the node reads the file again")

    try keep(lines[1])
    let wrong = try await RunningServer.run(serving(["--seal-key", keys]), in: folder)
    #expect(wrong.status == 3 && wrong.errors.contains("lacks the key"), "\(wrong)")
  }

  @Test("a check of a database creates nothing, shows no password, and refuses tables of a newer program")
  func checking() async throws {
    let options = serving(["--check", "--json"])
    let empty = try await RunningServer.run(options, in: folder)
    #expect(empty.status == 0 && empty.output.contains(#"{"ok":true,"#), "\(empty)")
    let hasSchema = "SELECT to_regnamespace('fieldvault') IS NOT NULL"
    #expect(try server.sql(hasSchema, database: database) == "f")
    let secret = try await RunningServer.run(
      options.map { $0 == server.url(database) ? $0 + " password=hunter2" : $0 }, in: folder)
    #expect(secret.status == 0 && !secret.output.contains("hunter2"), "\(secret)")
    #expect(secret.output.contains("not shown"))

    let file = folder.file("server.conf")
    try "database = \(server.url(database)) password=hunter2\n".write(toFile: file, atomically: true, encoding: .utf8)
    let written = try await run("user", "list", "--config", file)
    #expect(written.status == 2 && written.errors.hasPrefix("error: \(file):1: database contains a password"))
    #expect(!written.errors.contains("hunter2"))

    #expect(try await RunningServer.run(["user", "add", "ada"] + ofDatabase, in: folder).status == 0)
    let known = try await RunningServer.run(options, in: folder)
    #expect(known.status == 0, "\(known)")
    try server.sql("INSERT INTO fieldvault.migration VALUES (99, 'later', 0)", database: database)
    let newer = try await RunningServer.run(options, in: folder)
    #expect(newer.status == 1 && newer.errors.contains("the tables of the database are at version 99"), "\(newer)")
  }
}
