import Foundation
import Platform
import TestSupport
import Testing

@testable import SQLCipherStorage
@testable import ServerStorage
@testable import SyncServer

@Suite struct BackupSeriesTests {
  private let temporary: TemporaryFolder
  private let time = TestClock(1_767_225_600_000, isRunning: false)
  private let backups: String
  private let data: ServerFolder

  init() throws {
    temporary = try TemporaryFolder()
    backups = temporary.path + "/backups"
    try Files.makeFolder(backups)
    var data = try ServerFolder(temporary.path + "/data", isCreating: true)
    data.environment = Environment(clock: time.clock, random: .system)
    self.data = data
    let directory = try ServerDirectory(in: data)
    defer { directory.close() }
    _ = try directory.addUser("ada", account: "water")
  }

  private var names: [String] { get throws { try Files.names(in: backups).sorted() } }

  private func makeBackup(keeping count: Int) throws -> String {
    URL(fileURLWithPath: try data.backUp(into: backups, keeping: count).file).lastPathComponent
  }

  @Test("A series keeps the newest backups, and other files of the folder")
  func keepsTheNewest() throws {
    let others = ["fieldvault-20250101T000000Z.backup.txt", "notes", "old.backup"]
    for name in others { try Files.makeFile(backups + "/" + name) }
    var made: [String] = []
    for _ in 0..<4 {
      made.append(try makeBackup(keeping: 2))
      time.advance(by: .seconds(86_400))
    }
    #expect(made.first == "fieldvault-20260101T000000Z.backup")
    #expect(try names == (others + made.suffix(2)).sorted())
    // A clock that was set back must not remove the backup that was just made.
    time.advance(by: .seconds(-400 * 86_400))
    let early = try makeBackup(keeping: 2)
    #expect(try names == (others + [early, made[3]]).sorted())
    #expect(early < made[0])
  }

  @Test("A backup with the name of an earlier one replaces nothing")
  func sameSecond() throws {
    let first = try makeBackup(keeping: 2)
    let error = #expect(throws: ServerError.self) { try makeBackup(keeping: 2) }
    #expect(error?.code == .exists)
    #expect(try names == [first])
  }

  @Test("If the new backup cannot be read, the older ones stay")
  func unreadableBackup() throws {
    let first = try makeBackup(keeping: 1)
    time.advance(by: .seconds(1))
    #expect(throws: ServerError.self) {
      try data.backUp(into: backups, keeping: 1) { file in
        // The disk loses the end of the file.
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
        try handle.truncate(atOffset: 100)
        try handle.close()
        try BackupReader(file).readAll { _ in nil }
      }
    }
    #expect(try names.contains(first))
  }

  @Test("The surplus of a series is what remains without the newest backups")
  func surplus() {
    var random = Seeded()
    for _ in 0..<200 {
      let count = Int.random(in: 1...20, using: &random)
      let times = (0..<count).map { _ in Int64.random(in: 0...4_000_000_000_000, using: &random) / 1_000 * 1_000 }
      let series = Set(times.map(BackupSeries.name))
      let newest = BackupSeries.name(at: times[0])
      let kept = Int.random(in: 1...22, using: &random)
      let surplus = BackupSeries.surplus(of: series.shuffled(using: &random) + ["x"], keeping: kept, newest: newest)
      #expect(surplus.count == max(0, series.count - kept), "seed \(random.seed)")
      let left = series.subtracting(surplus)
      #expect(left.contains(newest) && left.count == series.count - surplus.count, "seed \(random.seed)")
      let newestRemoved = surplus.max() ?? ""
      #expect(left.subtracting([newest]).allSatisfy { $0 > newestRemoved }, "seed \(random.seed)")
    }
  }

  @Test("The command makes and removes backups, and refuses a folder without --keep")
  func command() async throws {
    func run(_ arguments: String...) async throws -> (status: Int32, output: String, errors: String) {
      try await RunningServer.run(arguments + ["--data", data.path], in: temporary)
    }
    let first = try await run("backup", backups, "--keep", "1")
    #expect(first.status == 0 && first.errors.hasPrefix("1 account, 0 files, "), "\(first.errors)")
    let file = first.output.trimmingCharacters(in: .newlines)
    #expect(file.hasPrefix(backups + "/fieldvault-20") && Files.exists(file))
    // The next second has another name.
    try await eventually("a second passes") {
      BackupSeries.name(at: Date.nowInMilliseconds().milliseconds) != URL(fileURLWithPath: file).lastPathComponent
    }
    let second = try await run("backup", backups, "--keep", "1", "--json")
    #expect(
      second.status == 0 && second.output.contains("\"removed\":[\"\(file)\"]"), "\(second.output) \(second.errors)")
    #expect(!Files.exists(file))
    let refused = try await run("backup", backups)
    #expect(refused.status == 2 && refused.errors.contains("--keep"), "\(refused.errors)")
    #expect(try await run("backup", temporary.path + "/nothing", "--keep", "2").status == 2)
    #expect(try await run("backup", backups, "--keep", "0").status == 2)
  }
}
