import CipherSQL
import Foundation
import Platform
import SchemaModel
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SQLCipherStorage
@testable import ServerStorage
@testable import SyncServer

/// `fieldvault-server key rotate`.
@Suite struct KeyRotationTests {
  private let operated: OperatedFolder
  private var temporary: TemporaryFolder { operated.temporary }
  private var data: String { operated.data }
  private var keyFile: String { data + "/server.key" }

  init() throws { operated = try OperatedFolder() }

  private func run(_ arguments: String...) async throws -> (status: Int32, output: String, errors: String) {
    try await operated.run(arguments)
  }

  private func rotate(_ options: String...) async throws -> (status: Int32, output: String, errors: String) {
    try await operated.run(["key", "rotate"] + options)
  }

  /// Adds two accounts with a project each, and a file in the account water. Returns the tokens.
  private func fill(_ options: String...) async throws -> [String] {
    var tokens: [String] = []
    for (name, account) in [("ada", "water"), ("bob", "land")] {
      tokens.append(try await operated.addUser(name, account: account, options))
    }
    try await operated.serving(options) { url in
      for token in tokens {
        let client = TestClient(url: url, token: token)
        #expect(
          try await client.results([Operation.create("Project", newUuid(), ["title": .text(token)])]) == ["accepted"])
      }
      try await FileClient(TestClient(url: url, token: tokens[0])).upload([1, 2, 3, 4], as: Self.content)
    }
    return tokens
  }

  private static let content = "01930000-0000-7000-8000-0000000000aa"

  /// Checks that a server of the folder has the records and the file.
  private func expectContent(_ tokens: [String], _ options: [String] = []) async throws {
    try await operated.serving(options) { url in
      for token in tokens {
        let titles = try await TestClient(url: url, token: token).pull().changes.map { $0["fields"]?["title"] }
        #expect(titles == [.text(token)])
      }
      #expect(
        try await FileClient(TestClient(url: url, token: tokens[0])).fetch(Self.content).body == [1, 2, 3, 4])
    }
  }

  /// The databases of the folder that a key opens.
  private func databases(openedBy key: String) throws -> [String] {
    let key = try ServerKey(at: key)
    return try operated.files().filter { $0.hasSuffix(".db") }.filter { file in
      let account = file.split(separator: "/").dropFirst().first.map(String.init) ?? ""
      let name =
        switch file.split(separator: "/").last {
        case "records.db": AccountDatabase.records.keyName(account)
        case "files.db": AccountDatabase.files.keyName(account)
        default: ServerDirectory.keyName
        }
      return (try? Database(path: "\(data)/\(file)", key: try key.databaseKey(name)))?.close() != nil
    }
  }

  @Test("A rotation encrypts every database under a new key, keeps records and files, and notes itself once")
  func rotation() async throws {
    let tokens = try await fill()
    let backup = temporary.path + "/before.backup"
    #expect(try await run("backup", backup).status == 0)
    try Files.makeFolder(data + "/migration-trial")
    try Files.makeFile(data + "/migration-trial/directory.db")
    let before = temporary.path + "/before.key"
    try FileManager.default.copyItem(atPath: keyFile, toPath: before)
    let names = try operated.files().filter { !$0.hasPrefix("migration-trial") }
    #expect(try databases(openedBy: before).count == 6)

    let rotated = try await rotate("--json")
    #expect(rotated.status == 0, "\(rotated.errors)")
    let result = try JSON.object(rotated.output)
    #expect(result["databases"] as? Int == 5 && result["accounts"] as? Int == 2)
    #expect(result["keyFile"] as? String == keyFile && result["wasInterrupted"] as? Bool == false)
    #expect(try databases(openedBy: before) == [] && databases(openedBy: keyFile).count == 5)
    #expect(try operated.files() == names, "no log, draft or journal stays")
    let mode = try FileManager.default.attributesOfItem(atPath: keyFile)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    try await expectContent(tokens)
    let audit = try await run("audit", "list", "--json")
    #expect(audit.output.components(separatedBy: #""action":"key rotated""#).count == 2)
    #expect(audit.output.contains(#""details":"databases: 5""#))
    #expect(try await run("verify").status == 0)

    let restored = temporary.path + "/restored"
    let restoring = try await RunningServer.run(["restore", backup, "--data", restored], in: temporary)
    #expect(restoring.status == 0, "a backup contains the key of its time: \(restoring.errors)")
    #expect(try await run("backup", temporary.path + "/after.backup").status == 0)
    let again = try await RunningServer.run(
      ["restore", temporary.path + "/after.backup", "--data", temporary.path + "/second"], in: temporary)
    #expect(again.status == 0, "\(again.errors)")
  }

  @Test("A key in another file is replaced in place, and its former content opens nothing but earlier backups")
  func externalKey() async throws {
    let external = temporary.path + "/own.key"
    try String(repeating: "any content of 32 bytes or more ", count: 3).write(
      toFile: external, atomically: false, encoding: .utf8)
    chmod(external, 0o640)
    let tokens = try await fill("--key-file", external)
    let backup = temporary.path + "/before.backup"
    #expect(try await run("backup", backup, "--key-file", external).status == 0)
    let before = temporary.path + "/before.key"
    try FileManager.default.copyItem(atPath: external, toPath: before)
    let rotated = try await rotate("--key-file", external)
    #expect(rotated.status == 0 && rotated.output == external + "\n", "\(rotated)")
    #expect(rotated.errors.contains("earlier backups do not contain the former key"))
    #expect(try FileManager.default.attributesOfItem(atPath: external)[.posixPermissions] as? Int == 0o600)
    #expect(!Files.exists(keyFile))
    try await expectContent(tokens, ["--key-file", external])
    let former = try await run("verify", "--key-file", before)
    #expect(former.status == 3 && former.errors.contains("the key does not open"), "\(former)")
    for (key, status) in [(external, Int32(3)), (before, 0)] {
      let restored = try await RunningServer.run(
        ["restore", backup, "--data", temporary.path + "/restored", "--key-file", key], in: temporary)
      #expect(restored.status == status, "\(restored)")
    }
    let link = temporary.path + "/link.key"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: external)
    let linked = try await rotate("--key-file", link)
    #expect(linked.status == 1 && linked.errors.contains("is a link or no file"), "\(linked)")
  }

  @Test("A rotation is refused while a server or a command uses the folder, and commands are refused meanwhile")
  func busy() async throws {
    let tokens = try await fill()
    try await operated.serving { _ in
      let refused = try await rotate()
      #expect(refused.status == 6 && refused.errors.contains("stop it"), "\(refused)")
    }
    do {
      let folder = try ServerFolder(data, isCreating: false)
      let refused = try await rotate()
      #expect(refused.status == 6 && refused.errors.contains("another process is using \(data)"), "\(refused)")
      #expect(folder.use.makeExclusive())
      let locked = try await run("user", "list")
      #expect(locked.status == 6 && locked.errors.contains("replaces the databases of \(data)"), "\(locked)")
    }
    #expect(try await rotate().status == 0)
    try await expectContent(tokens)
  }

  @Test("A full disk, a damaged database or a wrong key change nothing")
  func refusals() async throws {
    let tokens = try await fill()
    func content() throws -> [String: Data] {
      Dictionary(
        uniqueKeysWithValues: try operated.files().map { ($0, try Data(contentsOf: URL(filePath: "\(data)/\($0)"))) })
    }
    let before = try content()
    do {
      var folder = try ServerFolder(data, isCreating: false)
      let needed = before.filter { $0.key.hasSuffix(".db") }.values.reduce(0) { $0 + $1.count }
      let full = #expect(throws: VaultError.self) { try folder.rotateKey(freeBytes: { _ in needed }) }
      #expect(full?.code == .noSpace && full?.message.contains("\(needed) are free in \(data)") == true)
    }
    #expect(try content() == before)
    let other = temporary.path + "/other.key"
    try Data((0..<64).map { UInt8($0) }).write(to: URL(filePath: other))
    let wrong = try await rotate("--key-file", other)
    #expect(wrong.status == 3 && wrong.errors.contains("the key does not open \(data)/directory.db"), "\(wrong)")
    #expect(try content() == before)
    let victim = try #require(before.keys.first { $0.hasSuffix("records.db") })
    var bytes = try #require(before[victim])
    bytes[bytes.count / 2] ^= 1
    try bytes.write(to: URL(filePath: "\(data)/\(victim)"))
    let damaged = try await rotate()
    #expect(damaged.status == 5 && damaged.errors.contains("\(data)/\(victim) cannot be read"), "\(damaged)")
    #expect(try content() == before.merging([victim: bytes]) { $1 })
    try before[victim]?.write(to: URL(filePath: "\(data)/\(victim)"))
    #expect(try await rotate().status == 0)
    try await expectContent(tokens)
  }

  @Test("A rotation that is killed at any moment leaves a folder that opens, and the repeated command completes it")
  func kills() async throws {
    let tokens = try await fill()
    let began = ContinuousClock.now
    #expect(try await rotate().status == 0)
    let took = ContinuousClock.now - began
    var random = Seeded(freshSeed())
    var moments = ["none": 0, "before": 0, "after": 0]
    for _ in 0..<30 {
      let key = try String(contentsOfFile: keyFile, encoding: .utf8)
      let rotation = try operated.start(["key", "rotate"])
      if random.chance(0.5) {
        try await Task.sleep(for: took * (Double(random.number(0..<1000)) / 1000))
      } else {
        // The moments after the commit, which take a few milliseconds.
        while rotation.isRunning, try String(contentsOfFile: keyFile, encoding: .utf8) == key { usleep(100) }
        usleep(UInt32(random.number(0..<3_000)))
      }
      rotation.signal(SIGKILL)
      _ = try await rotation.end()
      let isChanged = try String(contentsOfFile: keyFile, encoding: .utf8) != key
      let journal = try RotationJournal(in: data)
      moments[journal == nil ? "none" : isChanged ? "after" : "before", default: 0] += 1
      if random.chance(0.5) {
        let repeated = try await rotate("--json")
        #expect(repeated.status == 0, "\(repeated.errors)")
        let wasInterrupted = try JSON.object(repeated.output)["wasInterrupted"] as? Bool
        #expect(wasInterrupted == (journal != nil && isChanged))
      }
      #expect(try await run("verify").status == 0)
      #expect(try RotationJournal(in: data) == nil && databases(openedBy: keyFile).count == 5)
      #expect(try operated.files().filter { $0.contains("rotated") } == [])
    }
    print("kills of rotations: \(moments)")
    try await expectContent(tokens)
  }
}

/// The objects of the program's output.
private enum JSON {
  static func object(_ text: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
  }
}
