import CipherSQL
import Foundation
import Testing

/// A copy under another key is the same database, and a difference is found.
@Suite struct PageCopyTests {
  private let vault: TemporaryVault
  private let database: Database
  private let otherKey = PlainKey.random()
  private var copyPath: String { vault.folder.file("copy.db") }

  init() throws {
    vault = try TemporaryVault()
    database = try vault.openHouse()
    try database.write { db throws in
      try db.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
      try db.execute("INSERT INTO words VALUES ('wet baseboard')")
      try db.execute("CREATE TABLE plain (a)")
      try db.execute("INSERT INTO plain (rowid, a) VALUES (77, 1)")
      try db.set(.userVersion(5))
    }
  }

  private func copy() throws {
    try database.read { try $0.copyPages(to: copyPath, key: otherKey) }
  }

  private func problem() throws -> String? {
    try database.read { try $0.problem(withCopyAt: copyPath, key: otherKey) }
  }

  @Test("A copy under another key has all rows, the search index and the user version") func everythingComesAlong()
    throws
  {
    try copy()
    #expect(try problem() == nil)
    let there = try Database(path: copyPath, key: otherKey)
    try there.read { db throws in
      #expect(try db.fetchOne("SELECT rowid FROM plain", as: Int.self) == 77)
      #expect(try db.fetchOne("SELECT count(*) FROM words WHERE words MATCH 'base*'", as: Int.self) == 1)
      #expect(try db.fetchOne("SELECT user_version FROM pragma_user_version", as: Int.self) == 5)
    }
    #expect(throws: SQLError.self) { try Database(path: copyPath, key: vault.key) }
  }

  @Test("A copy holds the state at the beginning of its read") func theCopyIsOfTheMomentInWhichItsReadBegan() throws {
    try database.read { db throws in
      _ = try db.fetchOne("SELECT count(*) FROM OfflineRoom", as: Int.self)
      let done = DispatchSemaphore(value: 0)
      Thread.detachNewThread { [database] in
        defer { done.signal() }
        do { _ = try database.write { try $0.execute("DELETE FROM OfflineLog") } } catch { Issue.record(error) }
      }
      done.wait()
      try db.copyPages(to: copyPath, key: otherKey)
      #expect(try db.problem(withCopyAt: copyPath, key: otherKey) == nil)
    }
    let there = try Database(path: copyPath, key: otherKey)
    #expect(try there.read { try $0.fetchOne("SELECT count(*) FROM OfflineLog", as: Int.self) } == 4)
  }

  @Test(
    "A difference between copy and original is found in its table",
    arguments: [
      ("UPDATE OfflineRoom SET note = 'dry' WHERE roomId = 1", "OfflineRoom"), ("UPDATE plain SET a = 1.0", "plain"),
      ("UPDATE plain SET rowid = 78", "plain"), ("DELETE FROM OfflineLog WHERE logId = 3", "OfflineLog"),
      ("CREATE INDEX more ON plain (a)", "definitions"),
    ])
  func aDifferenceIsFound(_ change: String, _ place: String) throws {
    try copy()
    let there = try Database(path: copyPath, key: otherKey)
    _ = try there.write { try $0.execute(SQL(raw: change)) }
    there.close()
    #expect(try problem()?.contains(place) == true)
  }

  @Test("A copy with another user_version differs")
  func aDifferentUserVersionIsFound() throws {
    try copy()
    let there = try Database(path: copyPath, key: otherKey)
    try there.write { try $0.set(.userVersion(6)) }
    there.close()
    #expect(try problem()?.contains("user_version") == true)
  }

  @Test("A changed page of the copy is found") func aChangedPageOfTheCopyIsFound() throws {
    try copy()
    let file = try #require(FileHandle(forUpdatingAtPath: copyPath))
    try file.seek(toOffset: 4096 * 2 + 100)
    try file.write(contentsOf: Data([0x55, 0xaa]))
    try file.close()
    #expect(try problem() != nil)
  }

  @Test("The file does not change while its bytes are read, although others write")
  func theFileStaysAsItIsWhileOthersWrite() throws {
    let before = try database.read { try $0.fetchOne("SELECT count(*) FROM OfflineLog", as: Int.self) }
    try database.withUnchangingFile { path, bytes in
      let kept = try Data(contentsOf: URL(filePath: path))
      #expect(kept.count == bytes)
      // More than the 4 MiB of log from which on commits run a checkpoint.
      for round in 0..<12 {
        try database.write { db throws in
          for _ in 0..<1000 {
            try db.execute(
              "INSERT INTO OfflineLog (text, updatedAt) VALUES (\(String(repeating: "x", count: 500)), \(String(round)))"
            )
          }
        }
      }
      #expect(try Data(contentsOf: URL(filePath: path)) == kept)
      // The copy is a complete database of that moment.
      try kept.write(to: URL(filePath: copyPath))
    }
    let there = try Database(path: copyPath, key: vault.key)
    #expect(try there.read { try $0.fetchOne("SELECT count(*) FROM OfflineLog", as: Int.self) } == before)
    #expect(try there.read { try $0.problems(found: .pages) } == [])
    // And afterwards the log goes back into the file.
    #expect(try database.withWriter { try $0.checkpoint() })
  }

  @Test("Reads continue on the old file while the file is replaced") func readsGoOnWhileTheFileIsReplaced() throws {
    try database.read { before throws in
      let old = try before.fetchOne("SELECT count(*) FROM OfflineRoom", as: Int.self)
      let done = DispatchSemaphore(value: 0)
      Thread.detachNewThread { [database, copyPath, otherKey] in
        defer { done.signal() }
        do {
          try database.replaceFile { snapshot in
            try snapshot.copyPages(to: copyPath, key: otherKey)
            return (copyPath, otherKey)
          }
          _ = try database.write { try $0.execute("DELETE FROM OfflineLog") }
        } catch {
          Issue.record(error)
        }
      }
      done.wait()
      #expect(try before.fetchOne("SELECT count(*) FROM OfflineRoom", as: Int.self) == old)
      #expect(try before.fetchOne("SELECT count(*) FROM OfflineLog", as: Int.self) != 0)
    }
    #expect(database.path == copyPath)
    #expect(try database.read { try $0.fetchOne("SELECT count(*) FROM OfflineLog", as: Int.self) } == 0)
    // The old file does not have the writes after the change.
    let old = try Database(path: vault.path, key: vault.key)
    #expect(try old.read { try $0.fetchOne("SELECT count(*) FROM OfflineLog", as: Int.self) } != 0)
  }

  @Test("A failed replacement keeps the old file") func nothingIsReplacedWhenTheBodyFails() throws {
    #expect(throws: CancellationError.self) {
      try database.replaceFile { _ in throw CancellationError() }
    }
    #expect(database.path == vault.path)
    _ = try database.write { try $0.execute("DELETE FROM OfflineLog") }
  }

  @Test("Waiting writers continue on the new file") func waitingWritersGoOnWithTheNewFile() async throws {
    let database = database
    let (copyPath, otherKey) = (copyPath, otherKey)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
          Thread.detachNewThread {
            continuation.resume(
              with: Result {
                try database.replaceFile { snapshot in
                  try snapshot.copyPages(to: copyPath, key: otherKey)
                  return (copyPath, otherKey)
                }
              })
          }
        }
      }
      for number in 0..<40 {
        group.addTask {
          _ = try await database.write { try $0.execute("INSERT INTO plain VALUES (\(number))") }
          _ = try await database.read { try $0.fetchOne("SELECT count(*) FROM plain", as: Int.self) }
        }
      }
      try await group.waitForAll()
    }
    let there = try Database(path: copyPath, key: otherKey)
    let count = try await there.read { try $0.fetchOne("SELECT count(*) FROM plain", as: Int.self) }
    #expect(count == 41)
  }
}
