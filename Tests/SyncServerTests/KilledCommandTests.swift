import Foundation
import Platform
import ServerStorage
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SQLCipherStorage

/// Commands of an operator that are killed with SIGKILL while they change a server folder.
@Suite(.serialized) struct KilledCommandTests {
  private let operated: OperatedFolder
  /// A copy of the folder from before the command.
  private var template: String { operated.temporary.path + "/template" }

  init() throws { operated = try OperatedFolder() }

  /// The content of an account, as a device receives it.
  private struct Content: Equatable {
    var records: [SyncValue] = []
    var files: [String: [UInt8]] = [:]
  }

  /// When a command is killed.
  private enum Moment {
    /// After a part of the time that the whole command takes.
    case part(Double)
    /// As soon as the folder has a state.
    case state(String, () throws -> Bool)

    var name: String {
      switch self {
      case .part(let part): "killed after \(part) of the time"
      case .state(let name, _): "killed when \(name)"
      }
    }
  }

  private func run(_ arguments: String...) async throws -> (status: Int32, output: String, errors: String) {
    try await operated.run(arguments)
  }

  private func content(_ client: TestClient, _ files: [String]) async throws -> Content {
    var content = Content(records: try await client.pull().changes)
    for file in files { content.files[file] = try await FileClient(client).fetch(file).body }
    return content
  }

  private func restoreTemplate() throws {
    try Files.removeTree(operated.data)
    try FileManager.default.copyItem(atPath: template, toPath: operated.data)
  }

  /// Starts a command and kills it.
  private func kill(_ command: [String], at moment: Moment, of whole: Duration) async throws {
    let running = try operated.start(command)
    switch moment {
    case .part(let part): try await Task.sleep(for: whole * part)
    case .state(_, let isReached): while running.isRunning, try !isReached() { usleep(50) }
    }
    running.signal(SIGKILL)
    _ = try await running.end()
  }

  /// Measures a command that ends.
  private func measure(_ command: [String]) async throws -> Duration {
    let began = ContinuousClock.now
    let ran = try await operated.run(command)
    #expect(ran.status == 0, "\(ran.errors)")
    return ContinuousClock.now - began
  }

  // MARK: Deletion

  @Test(
    "A deletion that is killed leaves the account whole, or refuses it until a repeated command or a server completes it"
  )
  func deletion() async throws {
    let tokens = [
      try await operated.addUser("ada", account: "water"), try await operated.addUser("bob", account: "land"),
    ]
    let uploads = [(0..<130).map { _ in newUuid() }, [newUuid()]]
    var before: [Content] = []
    try await operated.serving { url in
      for (token, files) in zip(tokens, uploads) {
        let client = TestClient(url: url, token: token)
        let made = (0..<20).map { Operation.create("Project", newUuid(), ["title": .text("\(token) \($0)")]) }
        #expect(try await client.results(made).allSatisfy { $0 == "accepted" })
        for (number, file) in files.enumerated() {
          try await FileClient(client).upload(bytes(500, seed: UInt64(number)), as: file)
        }
        before.append(try await content(client, files))
      }
    }
    #expect(before.map(\.records.count) == [20, 20] && before.map(\.files.count) == [130, 1])
    let folders = try operated.withDirectory { try $0.accounts().map(\.folder) }
    let (water, land) = (try #require(folders.first), try #require(folders.last))
    try FileManager.default.copyItem(atPath: operated.data, toPath: template)
    let command = ["account", "delete", "water"]
    let whole = try await measure(command)

    let place = "\(operated.data)/accounts/\(water)"
    func count() -> Int { (try? FileManager.default.subpathsOfDirectory(atPath: place).count) ?? 0 }
    try restoreTemplate()
    let all = count()
    let log = operated.data + "/directory.db-wal"
    var moments: [Moment] = [0.3, 0.6, 0.75, 0.9].map { .part($0) }
    moments.append(.state("it has begun") { Files.size(of: log) ?? 0 > 0 })
    for part in [0.98, 0.7, 0.4, 0.1, 0.02] {
      moments.append(.state("\(part) of the files are left") { count() <= Int(Double(all) * part) })
    }
    moments.append(.state("the records are removed") { !Files.exists(place + "/records.db") })
    moments.append(.state("the folder is removed") { !Files.exists(place) })
    var states = ["whole": 0, "begun": 0, "gone": 0]
    for (number, moment) in moments.enumerated() {
      let name = moment.name
      try restoreTemplate()
      try await kill(command, at: moment, of: whole)
      let verified = try await run("verify")
      #expect(verified.status == 0, "\(name): \(verified)")
      let (accounts, deletions) = try operated.withDirectory {
        (try $0.accounts().map(\.folder), try $0.deletions().map(\.folder))
      }
      #expect(accounts == (accounts.contains(water) ? [water, land] : [land]), "\(name)")
      if accounts.contains(water) {
        states["whole", default: 0] += 1
        #expect(deletions == [], "\(name)")
        try await operated.serving { url in
          let found = try await content(TestClient(url: url, token: tokens[0]), uploads[0])
          #expect(found == before[0], "\(name)")
        }
        #expect(try await operated.run(command).status == 0, "\(name)")
      } else if deletions == [water] {
        states["begun", default: 0] += 1
        if number % 2 == 0 {
          let repeated = try await operated.run(command)
          #expect(repeated.status == 0, "\(name): \(repeated)")
        } else {
          try await operated.serving { url in
            let refused = try await TestClient(url: url, token: tokens[0]).get("/v1/account")
            #expect(refused.status == 401, "\(name)")
            try await eventually("the server completes the deletion", every: .milliseconds(50)) {
              try operated.withDirectory { try $0.deletions().isEmpty }
            }
          }
        }
      } else {
        states["gone", default: 0] += 1
        #expect(deletions == [], "\(name)")
      }
      try await expectGone(water, but: land, name)
      try await operated.serving { url in
        let refused = try await TestClient(url: url, token: tokens[0]).get("/v1/account")
        #expect(refused.status == 401, "\(name)")
        let found = try await content(TestClient(url: url, token: tokens[1]), uploads[1])
        #expect(found == before[1], "\(name)")
      }
    }
    print("kills of deletions: \(states)")
    #expect(states["begun", default: 0] > 2, "the kills hit the deletion")
  }

  /// Checks that nothing of a deleted account is left.
  private func expectGone(_ account: String, but other: String, _ name: String) async throws {
    #expect(try await operated.run(["account", "delete", "water"]).status == 4, "\(name)")
    #expect(try operated.withDirectory { try $0.deletions() } == [], "\(name)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: operated.data + "/accounts") == [other], "\(name)")
    let entries = try operated.withDirectory { try $0.auditLog(since: nil, atMost: 100) }
    let actions = entries.filter { $0.details.contains(account) }.map(\.action)
    #expect(actions.count { $0 == "account deleted" } == 1, "\(name): \(actions)")
    #expect(actions.count { $0 == "account removed" } == 1, "\(name): \(actions)")
    #expect(try await run("verify").status == 0, "\(name)")
  }

  // MARK: Compaction

  @Test("A compaction that is killed loses nothing, and a repeated command finishes and leaves no draft")
  func compaction() async throws {
    let tokens = [
      try await operated.addUser("ada", account: "water"), try await operated.addUser("bob", account: "land"),
    ]
    let files = [newUuid(), newUuid()]
    func contents() async throws -> [Content] {
      var contents: [Content] = []
      try await operated.serving { url in
        for (token, file) in zip(tokens, files) {
          contents.append(try await content(TestClient(url: url, token: token), [file]))
        }
      }
      return contents
    }
    try await operated.serving { url in
      for (token, file) in zip(tokens, files) {
        let client = TestClient(url: url, token: token)
        let project = newUuid()
        #expect(try await client.results([Operation.create("Project", project, ["title": "Dam"])]) == ["accepted"])
        for _ in 0..<10 {
          let notes = (0..<20).map { number in
            let text = String(repeating: "\(number) wet ", count: 1_000)
            return Operation.create("Note", newUuid(), ["projectId": .text(project), "body": .text(text)])
          }
          #expect(try await client.results(notes).allSatisfy { $0 == "accepted" })
        }
        try await FileClient(client).upload(bytes(5_000), as: file)
      }
    }
    for account in ["water", "land"] { try operated.waste(4 << 20, in: account) }
    let before = try await contents()
    #expect(before.map(\.records.count) == [201, 201] && before.allSatisfy { $0.files.values.first?.count == 5_000 })
    let (water, land) = (try operated.path(.records, of: "water"), try operated.path(.records, of: "land"))
    try FileManager.default.copyItem(atPath: operated.data, toPath: template)
    let wasted = Files.size(of: water) ?? 0
    let whole = try await measure(["compact"])
    let compacted = Files.size(of: water) ?? 0
    #expect(compacted < wasted - 4 << 20)

    var moments: [Moment] = [0.4, 0.7, 0.9].map { .part($0) }
    for part in [0.01, 0.5, 1] {
      moments.append(
        .state("\(part) of a database is copied") {
          Files.size(of: water + ".compact") ?? 0 >= Int(Double(compacted) * part)
        })
    }
    moments.append(.state("the directory is copied") { Files.exists(operated.data + "/directory.db.compact") })
    moments.append(.state("a database is replaced") { Files.size(of: water) ?? 0 < wasted - 4 << 20 })
    moments.append(.state("the last account is copied") { Files.exists(land + ".compact") })
    var states = ["untouched": 0, "replaced": 0, "draft": 0]
    for moment in moments {
      let name = moment.name
      try restoreTemplate()
      try await kill(["compact"], at: moment, of: whole)
      let hasDraft = try operated.files().contains { $0.contains(".compact") }
      states[hasDraft ? "draft" : Files.size(of: water) ?? 0 == wasted ? "untouched" : "replaced", default: 0] += 1
      let verified = try await run("verify")
      #expect(verified.status == 0, "\(name): \(verified)")
      #expect(try await contents() == before, "\(name)")
      let repeated = try await run("compact")
      #expect(repeated.status == 0, "\(name): \(repeated)")
      #expect(try operated.files().filter { $0.contains(".compact") } == [], "\(name)")
      for records in [water, land] { #expect(Files.size(of: records) ?? 0 < wasted - 4 << 20, "\(name)") }
      #expect(try await run("verify").status == 0, "\(name)")
      #expect(try await contents() == before, "\(name)")
    }
    print("kills of compactions: \(states)")
    #expect(states["draft", default: 0] > 2, "the kills hit the copies")
  }
}
