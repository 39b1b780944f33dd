import CipherSQL
import Foundation
import Testing

/// A commit whose pages reached the log and not the disk: no reader sees it, and it may reappear.
@Suite struct FailedCommitTests {
  /// A file that is open, and in whose log stands a commit that the process does not know of.
  private struct Bench {
    let vault: TemporaryVault
    let database: Database

    init() throws {
      vault = try TemporaryVault()
      let other = try TemporaryVault(key: vault.key)
      let original = try other.openHouse()
      try Self.copy(other, to: vault)
      database = try vault.open()
      #expect(try Self.count(in: database) == 4)
      let known = try Data(contentsOf: URL(filePath: other.path + "-wal")).count
      try original.write { try $0.insert(Log(logId: 5, roomId: 1, text: "failed", updatedAt: .now)) }
      let log = try Data(contentsOf: URL(filePath: other.path + "-wal"))
      #expect(log.count > known)
      let file = try FileHandle(forWritingTo: URL(filePath: vault.path + "-wal"))
      try file.seekToEnd()
      try file.write(contentsOf: log[known...])
      try file.close()
      #expect(try Self.count(in: database) == 4)
    }

    static func count(in database: Database) throws -> Int? {
      try database.read { try $0.fetchOne("SELECT count(*) FROM OfflineLog", as: Int.self) }
    }

    static func copy(_ from: TemporaryVault, to: TemporaryVault) throws {
      for ending in ["", "-wal"] {
        try FileManager.default.copyItem(atPath: from.path + ending, toPath: to.path + ending)
      }
    }

    /// The content for a process that opens the files in their current state on the disk.
    func countAfterACrash() throws -> Int? {
      let copy = try TemporaryVault(key: vault.key)
      try Self.copy(vault, to: copy)
      return try Self.count(in: copy.open())
    }
  }

  @Test("A failed commit in the log reappears after a crash") func itComesBackAfterACrash() throws {
    #expect(try Bench().countAfterACrash() == 5)
  }

  @Test("A flushed failed commit does not reappear after a crash") func itIsBuried() throws {
    let bench = try Bench()
    let number = try bench.database.read { try $0.fetchOne("PRAGMA user_version", as: Int.self) }
    try bench.database.flushFailedCommits()
    #expect(try bench.countAfterACrash() == 4)
    #expect(try Bench.count(in: bench.database) == 4)
    #expect(try bench.database.read { try $0.fetchOne("PRAGMA user_version", as: Int.self) } == number)
  }

  /// A transaction without a change, and one that writes equal values, leave it in the log.
  @Test("Transactions without a change do not flush a failed commit") func notEveryTransactionBuriesIt() throws {
    let bench = try Bench()
    try bench.database.write { _ = try $0.fetchOne("SELECT 1", as: Int.self) }
    try bench.database.write { try $0.execute("UPDATE OfflineLog SET text = text") }
    #expect(try bench.countAfterACrash() == 5)
  }
}
