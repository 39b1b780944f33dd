import CipherSQL
import Foundation
import RestorationModel
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SQLCipherStorage
@testable import ServerStorage
@testable import SyncServer

@Suite struct BackupTests {
  private let content = "01930000-0000-7000-8000-0000000000aa"

  private func backUp(_ server: TestServer, to file: String) async throws -> BackupSummary {
    let folder = try ServerFolder(server.folder.path + "/data", isCreating: false)
    return try await Task.detached { try blocking { try folder.backUp(to: file) } }.value
  }

  private func restore(_ file: String, to data: String) async throws -> BackupSummary {
    try await ServerFolder.restore(file, to: data, shipped: [RestorationSchema.schema])
  }

  @Test("A backup of a running server holds every account at one moment, and its restored folder serves in a new epoch")
  func roundTrip() async throws {
    let server = try TestServer()
    let (ada, bob) = (try server.client("ada", account: "water"), try server.client("bob", account: "land"))
    try await FileClient(ada).upload([1, 2, 3, 4], as: content)
    let begun = try await FileClient(ada).begin(8)
    _ = try await FileClient(ada).patch(begun.location, at: 0, [1, 2])
    // Each push makes a project and its room, so that no state has one of them alone.
    // Ended by a flag: cancelling a request of URLSession while its response arrives can block both threads for ever.
    let isOver = Locked(false)
    let writing = Task { [ada] in
      while !isOver.withLock({ $0 }) {
        let project = newUuid()
        _ = try await ada.push([
          Operation.create("Project", project, ["title": "Dam"]),
          Operation.create(
            "Room", newUuid(), ["projectId": .text(project), "title": "Hall", "roomType": "other"]),
        ])
      }
    }
    _ = try await bob.results([Operation.create("Project", newUuid(), ["title": "Field"])])
    let file = server.folder.path + "/backup"
    let made = try await backUp(server, to: file)
    isOver.withLock { $0 = true }
    try await writing.value
    #expect(made.accounts == 2 && made.files == 1 && made.missing == 0)
    let noted = try server.withDirectory { try $0.auditLog(since: nil, atMost: 1) }
    #expect(
      noted.map(\.action) == ["backed up"] && noted.map(\.details) == ["accounts: 2, files: 1, bytes: \(made.bytes)"])
    let cursor = try await ada.pull().cursor
    let folder = try TemporaryFolder()
    let summary = try await restore(file, to: folder.path + "/data")
    #expect(summary.accounts == 2 && summary.files == 1 && summary.missing == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["data"])
    let again = try TestServer(in: folder)
    let actions = try again.withDirectory { try $0.auditLog(since: nil, atMost: 2) }.map(\.action)
    #expect(actions == ["epoch started", "restored"])
    let restored = TestClient(url: again.server.url, token: ada.token)
    let changes = try await restored.pull().changes
    let projects = changes.count { $0["entityType"] == "Project" }
    #expect(changes.count == projects * 2)
    #expect(try await restored.get("/v1/changes?cursor=\(cursor)").status == 410)
    let epoch = try await restored.get("/v1/account").text("epoch")
    #expect(try await ada.get("/v1/account").text("epoch") != epoch && !epoch.isEmpty)
    #expect(try await FileClient(restored).fetch(content).body == [1, 2, 3, 4])
    #expect(try await FileClient(restored).request("HEAD", begun.location).status == 404)
    let other = newUuid()
    try await FileClient(restored).upload([5, 6], as: other)
    #expect(try await FileClient(restored).fetch(other).body == [5, 6])
    #expect(try await TestClient(url: again.server.url, token: bob.token).pull().changes.count == 1)
    await again.server.stop()
    await server.server.stop()
  }

  @Test("A backup that is cut short or changed at any byte is refused, and leaves no folder")
  func damaged() async throws {
    let temporary = try TemporaryFolder()
    let directory = try ServerDirectory(in: try ServerFolder(temporary.path + "/data", isCreating: true))
    _ = try directory.addUser("ada", account: "water")
    directory.close()
    let folder = try ServerFolder(temporary.path + "/data", isCreating: false)
    let file = temporary.path + "/backup"
    _ = try await Task.detached { try blocking { try folder.backUp(to: file) } }.value
    let whole = try Data(contentsOf: URL(filePath: file))
    var generator = SystemRandomNumberGenerator()
    var samples: [Data] = [Data(), whole + Data([0])]
    for length in [1, 26, 27, 28, whole.count / 2, whole.count - 1] { samples.append(whole.prefix(length)) }
    for _ in 0..<40 {
      let place = Int.random(in: 0..<whole.count, using: &generator)
      var changed = whole
      changed[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
      samples.append(changed)
    }
    for place in [0, 26, 27, 28, 30, whole.count - 1, whole.count - 33] {
      var changed = whole
      changed[place] ^= 1
      samples.append(changed)
    }
    for (index, sample) in samples.enumerated() {
      try sample.write(to: URL(filePath: temporary.path + "/sample"))
      let error = await #expect(throws: ServerError.self, "sample \(index)") {
        try await restore(temporary.path + "/sample", to: temporary.path + "/new")
      }
      #expect(error?.code == .damaged)
      #expect(!FileManager.default.fileExists(atPath: temporary.path + "/new"))
      #expect(!FileManager.default.fileExists(atPath: temporary.path + "/new.part"))
    }
    // The remains of an interrupted restore are no obstacle, and files of other programs are not removed.
    let draft = temporary.path + "/new.part"
    try FileManager.default.createDirectory(atPath: draft + "/accounts", withIntermediateDirectories: true)
    await #expect(throws: ServerError.self) { try await restore(file, to: temporary.path + "/new") }
    #expect(FileManager.default.createFile(atPath: draft + "/restoring", contents: nil))
    #expect(try await restore(file, to: temporary.path + "/new").accounts == 1)
    let exists = await #expect(throws: ServerError.self) { try await restore(file, to: temporary.path + "/new") }
    #expect(exists?.code == .exists)
  }

  @Test("A backup replaces nothing, and one that fails leaves nothing")
  func allOrNothing() async throws {
    let folder = try TemporaryFolder()
    let data = try serverFolder(folder.path + "/data", accounts: ["1"])
    let file = folder.path + "/backup"
    #expect(FileManager.default.createFile(atPath: file, contents: Data([1])))
    let error = await #expect(throws: ServerError.self) {
      try await Task.detached { try blocking { try data.backUp(to: file) } }.value
    }
    #expect(error?.code == .exists)
    #expect(try Data(contentsOf: URL(filePath: file)) == Data([1]))
    // The remains of a killed backup are no obstacle to the next one.
    #expect(FileManager.default.createFile(atPath: folder.path + "/next.part", contents: Data([1])))
    _ = try await Task.detached { try blocking { try data.backUp(to: folder.path + "/next") } }.value
    try FileManager.default.removeItem(atPath: folder.path + "/next")
    let directory = try ServerDirectory(in: data)
    _ = try directory.addUser("ada", account: "water")
    let account = try #require(try directory.accounts().first).folder
    directory.close()
    try FileManager.default.removeItem(atPath: "\(folder.path)/data/accounts/\(account)/files.db")
    await #expect(throws: ServerError.self) {
      try await Task.detached { try blocking { try data.backUp(to: folder.path + "/other") } }.value
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["backup", "data"])
  }

  @Test("A folder is verified file by file")
  func verification() async throws {
    let server = try TestServer()
    let ada = try server.client("ada")
    try await FileClient(ada).upload([1, 2, 3, 4], as: content)
    _ = try await ada.results([Operation.create("Project", newUuid(), ["title": "Dam"])])
    let data = try ServerFolder(server.folder.path + "/data", isCreating: false)
    #expect(try data.verify().findings == [])
    await server.server.stop()
    let account = try #require(try server.withDirectory { try $0.accounts() }.first).folder
    let files = try FileManager.default.subpathsOfDirectory(atPath: "\(data.path)/accounts/\(account)/files")
    let name = try #require(files.first { $0.contains("/") })
    #expect(truncate("\(data.path)/accounts/\(account)/files/\(name)", 3) == 0)
    let path = "\(data.path)/accounts/\(account)/records.db"
    var bytes = try Data(contentsOf: URL(filePath: path))
    bytes[bytes.count / 2] ^= 1
    try bytes.write(to: URL(filePath: path))
    let found = try data.verify().findings
    #expect(found.contains { $0.file.hasSuffix(name) && $0.isMissingContent })
    #expect(found.contains { $0.file.hasSuffix("records.db") && !$0.isMissingContent })
  }

  @Test("Only names of files of a server are taken from a backup")
  func names() {
    for name in [
      "server.key", "directory.db", "accounts/0a/records.db", "accounts/0a/files.db", "accounts/0a/files/bc/abc",
    ] {
      #expect(BackupFormat.isName(name), "\(name)")
    }
    for name in [
      "", "/server.key", "../server.key", "accounts/../directory.db", "accounts//records.db", "accounts/0a/other.db",
      "accounts/0a/files/bc/abd", "accounts/0a/files/../..", "accounts/0a/files/bc/x/bc", "lock",
      "accounts/0A/records.db",
    ] {
      #expect(!BackupFormat.isName(name), "\(name)")
    }
  }
}

/// Calls that wait for the disk, from a task of their own.
private func blocking<Result>(_ body: () throws -> Result) throws -> Result { try body() }
