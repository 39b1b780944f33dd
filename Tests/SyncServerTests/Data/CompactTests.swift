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

/// `fieldvault-server compact`.
@Suite struct CompactTests {
  private let operated: OperatedFolder
  private var data: String { operated.data }

  init() throws { operated = try OperatedFolder() }

  private func run(_ arguments: String...) async throws -> (status: Int32, output: String, errors: String) {
    try await operated.run(arguments)
  }

  /// Adds accounts with a project each. Returns their tokens.
  private func fill(_ accounts: [String]) async throws -> [String] {
    var tokens: [String] = []
    for account in accounts { tokens.append(try await operated.addUser("of \(account)", account: account)) }
    try await operated.serving { url in
      for token in tokens {
        let results = try await TestClient(url: url, token: token).results([
          Operation.create("Project", newUuid(), ["title": .text(token)])
        ])
        #expect(results == ["accepted"])
      }
    }
    return tokens
  }

  private func size(of account: String) throws -> Int {
    Files.size(of: try operated.path(.records, of: account)) ?? 0
  }

  private struct Result: Decodable {
    struct Databases: Decodable {
      let account: String?
      let bytesBefore: Int
      let bytesAfter: Int
      let problem: String?
    }
    let bytesBefore: Int
    let bytesAfter: Int
    let removedBytes: Int
    let databases: [Databases]
  }

  private func compact() async throws -> (status: Int32, result: Result) {
    let compacted = try await run("compact", "--json")
    return (compacted.status, try JSONDecoder().decode(Result.self, from: Data(compacted.output.utf8)))
  }

  @Test("Compacting returns the free pages of all accounts and the files of killed commands, and keeps the records")
  func compacting() async throws {
    let tokens = try await fill(["water", "land"])
    try operated.waste(4 << 20, in: "water")
    let before = try size(of: "water")
    #expect(before > 4 << 20)
    try Files.makeFolder(data + "/migration-trial")
    let land = Files.parent(of: try operated.path(.records, of: "land"))
    try Data(repeating: 1, count: 1_000).write(to: URL(filePath: land + "/compared-1"))
    for file in [
      "migration-trial/directory.db", "directory.db.new", "directory.db.rotated-wal", "directory.db.compact",
    ] {
      try Data(repeating: 1, count: 1_000).write(to: URL(filePath: "\(data)/\(file)"))
    }
    let (status, result) = try await compact()
    #expect(status == 0 && result.removedBytes == 5_000)
    #expect(result.databases.map(\.account) == [nil, "water", "land"])
    let water = try #require(result.databases.first { $0.account == "water" })
    #expect(water.bytesBefore - water.bytesAfter > 4 << 20 && water.problem == nil)
    #expect(try size(of: "water") < before - 4 << 20)
    #expect(result.bytesBefore - result.bytesAfter > 4 << 20)
    #expect(try FileManager.default.subpathsOfDirectory(atPath: data).filter { $0.contains(".db.") } == [])
    #expect(!Files.exists(data + "/migration-trial"))
    #expect(try await run("verify").status == 0)
    try await operated.serving { url in
      for token in tokens {
        #expect(
          try await TestClient(url: url, token: token).pull().changes.map { $0["fields"]?["title"] } == [.text(token)])
      }
      let busy = try await run("compact")
      #expect(busy.status == 6 && busy.errors.contains("another server is using"), "\(busy)")
    }
    let database = try await RunningServer.run(["compact", "--database", "postgresql://h/n"], in: operated.temporary)
    #expect(database.status == 2 && database.errors.contains("--database"), "\(database)")
  }

  @Test("Compacting names a damaged account and compacts the others, and changes nothing on a full disk")
  func problems() async throws {
    _ = try await fill(["water", "land"])
    for account in ["water", "land"] { try operated.waste(1 << 20, in: account) }
    let (water, land) = (try size(of: "water"), try size(of: "land"))
    do {
      let folder = try ServerFolder(data, isCreating: false)
      let full = #expect(throws: VaultError.self) {
        try folder.compact(freeBytes: { _ in max(water, land) }) { _ in }
      }
      #expect(full?.code == .noSpace)
    }
    #expect(try size(of: "water") == water && size(of: "land") == land)
    let path = try operated.path(.records, of: "water")
    var bytes = try Data(contentsOf: URL(filePath: path))
    bytes[20_000] ^= 1
    try bytes.write(to: URL(filePath: path))
    let (status, result) = try await compact()
    #expect(status == 5)
    let problem = try #require(result.databases.first { $0.account == "water" }).problem
    #expect(problem?.contains("\(path) cannot be read") == true, "\(problem ?? "")")
    #expect(try Data(contentsOf: URL(filePath: path)) == bytes)
    #expect(try size(of: "land") < land - 1 << 20)
    #expect(try FileManager.default.subpathsOfDirectory(atPath: data).filter { $0.contains(".compact") } == [])
  }
}
