import CipherSQL
import CommandLineKit
import Foundation
import ServerSupport
import ShippedSchemas
import SyncModel
import TestSupport
import Testing

@testable import FieldVaultServerCommand
@testable import SQLCipherStorage
@testable import SyncServer

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Configuration files, environment variables and checks, as an operator uses them.
@Suite struct ConfigurationTests {
  private let folder: TemporaryFolder
  private var file: String { folder.path + "/server.conf" }
  private var data: String { folder.path + "/data" }

  init() throws { folder = try TemporaryFolder() }

  private func write(_ text: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: file))
  }

  private func run(
    _ arguments: String..., variables: [String: String] = [:]
  ) async throws -> (status: Int32, output: String, errors: String) {
    try await RunningServer.run(arguments, in: folder, variables: variables)
  }

  private func check(
    _ more: String..., variables: [String: String] = [:]
  ) async throws -> (status: Int32, output: String, errors: String) {
    try await RunningServer.run(
      ["serve", "--config", file, "--check", "--listen", "127.0.0.1:0"] + more, in: folder, variables: variables)
  }

  @Test("A server and its commands use the folder of a configuration file, relative to the file")
  func serving() async throws {
    try write("# the water works\ndata = data\nlisten = 127.0.0.1:0\nschema = restoration\nquiet = true\n")
    let added = try await run("user", "add", "ada", "--config", file)
    #expect(added.status == 0, "\(added)")
    let token = added.output.trimmingCharacters(in: .newlines)
    let server = try RunningServer(["serve"], in: folder, variables: ["FIELDVAULT_SERVER_CONFIG": file])
    let client = TestClient(url: try await server.url(), token: token)
    #expect(try await client.results([Operation.create("Project", newUuid(), ["title": "Elm"])]) == ["accepted"])
    #expect(FileManager.default.fileExists(atPath: data + "/directory.db"))
    let users = try await run("user", "list", "--json", variables: ["FIELDVAULT_SERVER_CONFIG": file])
    #expect(users.output.contains("\"ada\""), "\(users)")
    #expect(try await check().status == 0, "a check does not disturb a running server")
    server.signal(SIGTERM)
    #expect(try await server.end() == 0)
    #expect(server.errors.isEmpty, "\(server.errors)")
  }

  @Test("A check prints each setting with its origin, and creates nothing")
  func checking() async throws {
    try write("data = data\nrate = 7\nschema = restoration\nkey-file = file.key\n")
    try Data("0123456789abcdef0123456789abcdef".utf8).write(to: URL(fileURLWithPath: folder.path + "/own.key"))
    chmod(folder.path + "/own.key", 0o600)
    let variables = ["FIELDVAULT_SERVER_KEY_FILE": folder.path + "/own.key"]
    let table = try await check("--upload-days", "3", variables: variables)
    #expect(table.status == 0, "\(table)")
    let rows = table.output.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
    for row in [
      "data \(data) \(file):1", "rate 7 \(file):2", "schema restoration \(file):3",
      "key-file \(folder.path)/own.key environment FIELDVAULT_SERVER_KEY_FILE", "upload-days 3 command line",
      "max-body 8388608 default",
    ] { #expect(rows.contains(row), "\(row) in \(table.output)") }

    let json = try await check("--json", "--upload-days", "3", variables: variables)
    let document = try SyncValue(parsing: json.output)
    guard case .array(let settings) = document["settings"] else { throw Unexpected(json.output) }
    func setting(_ name: String) -> SyncValue? { settings.first { $0["name"] == .text(name) } }
    #expect(document["ok"] == true)
    #expect(setting("rate") == ["name": "rate", "value": "7", "source": "file", "file": .text(file), "line": 2])
    #expect(setting("key-file")?["variable"] == "FIELDVAULT_SERVER_KEY_FILE")
    #expect(setting("upload-days")?["source"] == "command line" && setting("quota")?["source"] == "default")
    #expect(!FileManager.default.fileExists(atPath: data))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).allSatisfy { !$0.contains("server.key") })
  }

  @Test("A command line wins over a file also if its option excludes the one in the file")
  func precedence() async throws {
    try write("data = data\nkey-file = own.key\n")
    let database = try await run("user", "list", "--config", file, "--database", "host=\(folder.path) dbname=x")
    #expect(database.status == 1 && database.errors.contains("the database cannot be used"), "\(database)")
    let other = try await run("user", "list", "--config", file, "--data", folder.path + "/other")
    #expect(other.status == 4 && other.errors.contains(folder.path + "/other"), "\(other)")
    try write("database = host=x\nkey-file = own.key\n")
    let both = try await run("user", "list", "--config", file)
    #expect(both.status == 2 && both.errors.hasPrefix("error: \(file):2: database and key-file exclude"), "\(both)")
  }

  @Test(
    "A mistake in a configuration file is refused with its line, and nothing is created",
    arguments: [
      ("retenton-days = 3", 2, "2: unknown setting 'retenton-days'\nhint:  did you mean 'retention-days'?"),
      ("rate = 0", 2, "2: rate is a whole number from 1 to 1000000, not '0'"),
      ("data = other", 2, "2: data is set twice, first in line 1"),
      ("tls-cert = cert.pem", 2, "2: tls-cert and --tls-key must be given together"),
      ("database-pooled = true", 2, "2: database-pooled requires --database"),
      ("s3-region = r", 2, "2: s3-region requires an object store"),
      ("public-url = ftp://x", 2, "2: public-url must begin with https:// or http://"),
      ("database = host=x", 2, "1: data and database exclude each other"),
      ("schema = nothing", 4, "2: '@/nothing' is neither a shipped schema"),
      ("schema = restoration\nschema = nothing", 4, "3: '@/nothing' is neither a shipped schema"),
      ("notify-url = https://x\nnotify-key = no.key", 1, "3: cannot read @/no.key"),
      ("tls-cert = no.pem\ntls-key = no.pem", 1, "2: cannot read @/no.pem"),
      ("open-accounts = 999999", 2, "2: open-accounts is at most"),
      ("jwt-issuer = i", 2, "2: jwt-issuer, --jwt-audience and --jwt-keys must be given together"),
      ("jwt-keys-url = https://i", 2, "2: --jwt-issuer, --jwt-audience and jwt-keys-url must be given together"),
      ("jwt-keys = no.json", 1, "2: cannot read @/no.json"),
      ("jwt-keys = server.conf", 1, "2: @/server.conf: not JSON"),
      ("jwt-keys-url = http://i.example.org/keys", 1, "2: the address of the keys: "),
      ("jwt-keys-url = https://i\njwt-keys = a.json", 2, "3: jwt-keys and jwt-keys-url exclude each other"),
      ("jwt-role-claim = role", 2, "2: jwt-role-claim requires --jwt-issuer"),
      ("jwt-create-accounts = true", 2, "2: jwt-create-accounts requires --jwt-issuer"),
      (
        "jwt-role-claim = r\njwt-account-claim = r\njwt-issuer = i\njwt-audience = a\njwt-keys-url = https://i", 2,
        "2: jwt-role-claim is also the claim of the user or the account"
      ),
      (
        "jwt-default-account = \" x\"\njwt-issuer = i\njwt-audience = a\njwt-keys-url = https://i", 2,
        "2: the name of a account must have"
      ),
    ])
  func mistakes(line: String, status: Int32, message: String) async throws {
    try write("data = data\n\(line)\n")
    for more in [["--check"], []] {
      let result = try await RunningServer.run(
        ["serve", "--config", file, "--listen", "127.0.0.1:0"] + more, in: folder)
      #expect(result.status == status, "\(result)")
      let expected = "error: \(file):" + message.replacingOccurrences(of: "@", with: folder.path)
      #expect(result.errors.hasPrefix(expected), "\(result.errors)")
    }
    #expect(!FileManager.default.fileExists(atPath: data))
  }

  @Test("A file that cannot be read, is no text, is too large, or that all users may write is refused")
  func files() async throws {
    let missing = try await check()
    #expect(missing.status == 1 && missing.errors.contains("cannot read \(file)"), "\(missing)")
    let isFolder = try await run("serve", "--config", folder.path)
    #expect(isFolder.status == 1 && isFolder.errors.contains("cannot read \(folder.path): not a file"), "\(isFolder)")
    try Data([0x64, 0xFF]).write(to: URL(fileURLWithPath: file))
    let binary = try await check()
    #expect(binary.status == 2 && binary.errors.contains("\(file):1: the line is not UTF-8"), "\(binary)")
    try write("data = data\n" + String(repeating: "#\n", count: 1 << 19))
    let large = try await check()
    #expect(large.status == 2 && large.errors.contains("\(file): the file has more than 1 MiB"), "\(large)")
    try write("data = data\n")
    chmod(file, 0o666)
    let writable = try await check()
    #expect(writable.status == 2 && writable.errors.contains("hint:  chmod o-w \(file)"), "\(writable)")
    chmod(file, 0o664)
    #expect(try await check().status == 0)
    try write("data = data\nrat = 1\n")
    #expect(try await run("user", "list", "--config", file).status == 2, "settings are checked for each command")
  }

  @Test("A check refuses a folder that cannot be created, an address that cannot be used and damaged data")
  func unusable() async throws {
    try write("data = no/data\n")
    let parent = try await check()
    #expect(parent.status == 4 && parent.errors.contains("\(file):1: \(folder.path)/no is not a folder"), "\(parent)")
    try write("data = data\n")
    let address = try await run("serve", "--config", file, "--check", "--listen", "nowhere")
    #expect(address.status == 1 && address.errors.contains("'nowhere' is not an address"), "\(address)")
    #expect(try await run("user", "add", "ada", "--config", file).status == 0)
    try FileManager.default.removeItem(atPath: data + "/server.key")
    let key = try await check()
    #expect(key.status == 3 && key.errors.contains("server.key, the only key to the data, is missing"), "\(key)")
  }

  @Test("A check accepts data of an earlier version without migrating them, and refuses data of a newer program")
  func versions() async throws {
    try write("data = data\n")
    let folder = try ServerFolder(data, isCreating: true)
    let earlier = Schema(name: "directory", migrations: Array(DirectorySchema.schema.migrations.prefix(3)))
    try folder.makeDatabase(ServerFolder.directoryFile, keyName: ServerDirectory.keyName) { database in
      try Migrator(schemas: [earlier]).apply(to: database)
      try database.write { connection in
        _ = try connection.execute("INSERT INTO ServedSchema (name, folder) VALUES ('restoration', NULL)")
      }
    }
    func version(after sql: SQL? = nil) throws -> Int? {
      let database = try folder.openDatabase(ServerFolder.directoryFile, keyName: ServerDirectory.keyName, readers: 1)
      defer { database.close() }
      if let sql { try database.writeAsMigration { connection in _ = try connection.execute(sql) } }
      return try database.read {
        try $0.fetchOne("SELECT max(version) FROM SchemaMigration WHERE schema = 'directory'", as: Int.self)
      }
    }
    let accepted = try await check()
    #expect(accepted.status == 0, "\(accepted)")
    #expect(try version() == 3)
    let later: SQL = """
      INSERT INTO SchemaMigration (schema, version, name, checksum, sql, appliedAt, durationMilliseconds)
      VALUES ('directory', 99, 'later', '', '', '2026-01-01T00:00:00.000Z', 0)
      """
    #expect(try version(after: later) == 99)
    let newer = try await check()
    #expect(newer.status == 10 && newer.errors.contains("hint:  use a newer program"), "\(newer)")
  }

  @Test("The printed example passes the check once its data are set")
  func example() async throws {
    let printed = try await run("config", "example")
    #expect(printed.status == 0)
    let lines = printed.output.split(separator: "\n").filter { $0.hasPrefix("#") && !$0.hasPrefix("# ") }
    let names = lines.compactMap { $0.dropFirst().split(separator: " ").first.map(String.init) }
    let help = try await run("help", "serve").output
    for option in try ArgumentParser(ServerProgram.program).parse(["serve"]).settingNames {
      #expect(names.contains(option) && (option == "quiet" || help.contains("--\(option) ")), "\(option)")
    }
    try write(printed.output.replacingOccurrences(of: "#data = DIR", with: "data = data"))
    let result = try await check()
    #expect(result.status == 0, "\(result)")
    // Each default is a valid value.
    let defaults = lines.filter { $0.contains(" = ") && !$0.contains { $0.isUppercase } }.map { $0.dropFirst() }
    #expect(defaults.count > 10)
    let unusable = ["database-", "s3-", "listen "]
    try write(
      (["data = data"] + defaults.filter { line in !unusable.contains { line.hasPrefix($0) } }.map(String.init))
        .joined(separator: "\n"))
    let all = try await check()
    #expect(all.status == 0, "\(all)")
  }

  @Test("Default limits are lowered to fit the limit of open files, and a check shows them")
  func loweredDefaults() async throws {
    let child = try ChildProcess(
      "/bin/sh",
      [
        "-c", "ulimit -n 1000 && exec \"$@\"", "sh", try builtProgram("fieldvault-server"), "serve", "--data", data,
        "--check", "--json", "--listen", "127.0.0.1:0",
      ], output: .file(folder.file("out")), errors: .file(folder.file("err")))
    #expect(child.wait(within: .seconds(60))?.status == 0)
    let document = try SyncValue(parsing: String(contentsOfFile: folder.file("out"), encoding: .utf8))
    guard case .array(let settings) = document["settings"] else { throw Unexpected("\(document)") }
    for name in ["max-connections", "max-connections-per-address", "max-waiting"] {
      #expect(settings.first { $0["name"] == .text(name) }?["value"] == "296", "\(name)")
    }
  }

  @Test("SIGHUP takes over another rate, reports a setting that needs a restart, and keeps all after a mistake")
  func reloading() async throws {
    try write("data = data\nlisten = 127.0.0.1:0\nrate = 200\nretention-days = 90\n")
    let token = try await run("user", "add", "ada", "--config", file).output.trimmingCharacters(in: .newlines)
    let server = try RunningServer(["serve", "--config", file], in: folder)
    let client = TestClient(url: try await server.url(), token: token)
    func refusals(of count: Int) async throws -> Int {
      var refusals = 0
      for _ in 0..<count where try await client.get("/v1/account").status == 429 { refusals += 1 }
      return refusals
    }
    func reload(_ text: String, _ message: String) async throws {
      try write(text)
      server.signal(SIGHUP)
      try await eventually(message, every: .milliseconds(20)) { server.errors.contains(message) }
    }
    #expect(try await refusals(of: 20) == 0)
    try await reload(
      "data = data\nlisten = 127.0.0.1:0\nrate = 1\nretention-days = 30\nmax-waiting = 5\n",
      "needs a restart: retention-days\n")
    #expect(server.errors.contains("reloaded: max-waiting, rate\n"), "\(server.errors)")
    #expect(try await refusals(of: 30) > 5)
    try await reload("data = data\nrate = 900\nmax-wating = 5\n", "did you mean 'max-waiting'?")
    #expect(server.errors.contains("cannot reload the settings; nothing was changed\nerror: \(file):3: "))
    #expect(try await refusals(of: 30) > 5)
    try await reload(
      "data = data\nlisten = 127.0.0.1:0\nrate = 900\nretention-days = 90\nmax-waiting = 5\n", "reloaded: rate\n")
    #expect(try await refusals(of: 30) == 0)
    server.signal(SIGTERM)
    #expect(try await server.end() == 0)
  }
}

extension ParsedArguments {
  /// The names of all settings, also of those without a value.
  fileprivate var settingNames: [String] {
    ServerProgram.program.commands.first { $0.name == command }.map { $0.options.filter(\.isSetting).map(\.long) } ?? []
  }
}

/// The comparison of settings that were read again with those of a running server.
@Suite struct RunningSettingsTests {
  private func arguments(_ text: String) throws -> ParsedArguments {
    try ArgumentParser(ServerProgram.program).parse(["serve"]).adding(
      ConfigurationFile(Array(text.utf8), path: "f", of: ServerProgram.program, command: ["serve"]))
  }

  private func running(_ text: String, isEncrypted: Bool = false) throws -> RunningSettings {
    RunningSettings(try arguments(text), isEncrypted: isEncrypted)
  }

  @Test("Only values count, not lines and spellings")
  func equal() throws {
    let change = try running("rate = 5\nquota = 9").change(
      to: arguments("\nquota=9\n rate = \"5\"\nmax-body = 8388608"), isEncrypted: false)
    #expect(change.reloaded.isEmpty && change.waiting.isEmpty)
    #expect(try change.running == running("rate = 5\nquota = 9"))
  }

  @Test("A setting that waits for a restart is reported until it has its former value")
  func waiting() throws {
    var change = try running("rate = 5\nschema = a").change(
      to: arguments("rate = 6\nschema = a\nschema = b"), isEncrypted: false)
    #expect(change.reloaded == ["rate"] && change.waiting == ["schema"])
    change = try change.running.change(to: arguments("rate = 6\nschema = a\nschema = b"), isEncrypted: false)
    #expect(change.reloaded.isEmpty && change.waiting == ["schema"])
    change = try change.running.change(to: arguments("schema = a"), isEncrypted: false)
    #expect(change.reloaded == ["rate"] && change.waiting.isEmpty)
    #expect(change.running.values["rate"] == ["200"])
  }

  @Test("Other keys of the identity provider are taken over, but sign-in is not switched on or off")
  func providerKeys() throws {
    let other = try running("jwt-keys = /a\njwt-issuer = i").change(
      to: arguments("jwt-keys = /b\njwt-issuer = j"), isEncrypted: false)
    #expect(other.reloaded == ["jwt-keys"] && other.waiting == ["jwt-issuer"])
    let on = try running("").change(to: arguments("jwt-keys = /a"), isEncrypted: false)
    #expect(on.reloaded.isEmpty && on.waiting == ["jwt-keys"])
    let address = try running("jwt-keys = /a").change(to: arguments("jwt-keys-url = https://i"), isEncrypted: false)
    #expect(address.reloaded.isEmpty && address.waiting == ["jwt-keys", "jwt-keys-url"])
  }

  @Test("Another certificate is taken over, but TLS is not switched on or off")
  func certificates() throws {
    let files = "tls-cert = /a\ntls-key = /b"
    let other = try running(files, isEncrypted: true).change(
      to: arguments("tls-cert = /c\ntls-key = /b"), isEncrypted: true)
    #expect(other.reloaded == ["tls-cert"] && other.waiting.isEmpty)
    let on = try running("").change(to: arguments(files), isEncrypted: true)
    #expect(on.reloaded.isEmpty && on.waiting == ["tls-cert", "tls-key"])
    let off = try running(files, isEncrypted: true).change(to: arguments(""), isEncrypted: false)
    #expect(off.reloaded.isEmpty && off.waiting == ["tls-cert", "tls-key"])
  }
}
