import Foundation
import TestSupport
import Testing

@testable import CipherSQL

/// A cancelled call ends, leaves nothing behind and does not disturb the next one.
@Suite(.timeLimit(.minutes(20))) struct CancellationTests {
  /// Counts for far longer than a test may take.
  private static let endless: SQL =
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000) SELECT count(*) FROM n"
  /// Takes some ten thousand steps.
  private static let short: SQL =
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT count(*) FROM n"

  private func oneReader() -> Configuration {
    var configuration = Configuration()
    configuration.readerCount = 1
    return configuration
  }

  private static func projectCount(_ database: Database) async throws -> Int? {
    try await database.read { try $0.fetchOne("SELECT count(*) FROM OfflineProject", as: Int.self) }
  }

  @Test("Cancelling a task interrupts its read, and the connection remains usable", arguments: [true, false])
  func aLongReadIsInterrupted(inMemory: Bool) async throws {
    let vault = try TemporaryVault()
    let database = inMemory ? try Database.house() : try vault.openHouse(oneReader())
    let hasBegun = Counter()
    let task = Task {
      try await database.read { db in
        hasBegun.increment()
        return try db.fetchOne(Self.endless, as: Int.self)
      }
    }
    try await eventually { hasBegun.value == 1 }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    // The only connection works as before, in a new transaction.
    #expect(try await Self.projectCount(database) == 2)
    try await database.write { db in _ = try db.insert(Project(projectId: 0, title: "Quay")) }
    #expect(try await Self.projectCount(database) == 3)
  }

  /// Long calls on all processors leave threads for the tasks that may cancel them.
  @Test("Long reads on all connections leave threads for tasks") func manyLongReadsDoNotHoldUpTasks() async throws {
    let vault = try TemporaryVault()
    var configuration = Configuration()
    configuration.readerCount = ProcessInfo.processInfo.activeProcessorCount + 2
    let database = try vault.openHouse(configuration)
    let hasBegun = Counter()
    let tasks = (0..<configuration.readerCount).map { _ in
      Task {
        try await database.read { db in
          hasBegun.increment()
          return try db.fetchOne(Self.endless, as: Int.self)
        }
      }
    }
    try await eventually { hasBegun.value == tasks.count }
    for task in tasks { task.cancel() }
    for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
  }

  @Test("Cancellation ends a loop over rows") func aLoopOverRowsEndsBetweenThem() async throws {
    let vault = try TemporaryVault()
    let database = try vault.openHouse(oneReader())
    let rows = Counter()
    let task = Task {
      try await database.read { db in
        try db.forEach(
          "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
        ) { _ in rows.increment() }
      }
    }
    try await eventually { rows.value > 10 }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await Self.projectCount(database) == 2)
  }

  @Test("A call that is cancelled before it begins runs nothing")
  func aCallThatIsCancelledBeforeItBeginsRunsNothing() async throws {
    let vault = try TemporaryVault()
    let database = try vault.openHouse()
    let runs = Counter()
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      try await database.write { _ in _ = runs.increment() }
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(runs.value == 0)
  }

  @Test("A cancelled task leaves the queue of writers") func aTaskThatWaitsForTheWriterLeavesTheLine() async throws {
    let vault = try TemporaryVault()
    let database = try vault.openHouse()
    let release = DispatchSemaphore(value: 0)
    let hasBegun = Counter()
    let holder = Task {
      try await database.write { _ in
        hasBegun.increment()
        release.wait()
      }
    }
    try await eventually { hasBegun.value == 1 }
    let runs = Notes<String>()
    let waiting = Task { try await database.write { _ in runs.add("cancelled") } }
    try await eventually { database.writer.waitingCount == 1 }
    let next = Task { try await database.write { _ in runs.add("next") } }
    try await eventually { database.writer.waitingCount == 2 }
    waiting.cancel()
    // It ends while the holder still holds.
    await #expect(throws: CancellationError.self) { try await waiting.value }
    #expect(database.writer.waitingCount == 1)
    release.signal()
    try await holder.value
    try await next.value
    #expect(runs.all == ["next"])
  }

  @Test("A cancelled write is rolled back") func aCancelledWriteLeavesNothing() async throws {
    let vault = try TemporaryVault()
    let database = try vault.openHouse()
    let hasWritten = Counter()
    let task = Task {
      try await database.write { db in
        try db.insert(Project(projectId: 0, title: "Quay"))
        hasWritten.increment()
        try db.execute("INSERT INTO OfflineProject (uuid, title) SELECT i, 'x' FROM (\(Self.endlessRows))")
      }
    }
    try await eventually { hasWritten.value == 1 }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await Self.projectCount(database) == 2)
    try await database.write { db in _ = try db.insert(Project(projectId: 0, title: "Dock")) }
    #expect(try await Self.projectCount(database) == 3)
  }

  private static let endlessRows: SQL =
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000) SELECT i FROM n"

  @Test("A write that is cancelled before its commit rolls back")
  func aWriteThatIsCancelledBeforeItsCommitRollsBack() async throws {
    let vault = try TemporaryVault()
    let database = try vault.openHouse()
    let hasWritten = Counter()
    let release = DispatchSemaphore(value: 0)
    let task = Task {
      try await database.write { db in
        try db.insert(Project(projectId: 0, title: "Quay"))
        hasWritten.increment()
        release.wait()
      }
    }
    try await eventually { hasWritten.value == 1 }
    task.cancel()
    release.signal()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await Self.projectCount(database) == 2)
  }

  /// The commit stands, so the call must not say that it was cancelled, although the checkpoint behind it was.
  @Test("A cancellation after the commit does not fail the write") func aCancellationAfterTheCommitDoesNotDenyIt()
    async throws
  {
    let vault = try TemporaryVault()
    let database = try vault.open()
    try await database.write { try $0.execute("CREATE TABLE Block (bytes BLOB NOT NULL) STRICT") }
    let hasStarted = Counter()
    let task = Task {
      try await eventually { hasStarted.value == 1 }
      // More than the length of the log at which checkpoints begin.
      try await database.write { db in
        for _ in 0..<8 { try db.execute("INSERT INTO Block VALUES (randomblob(1048576))") }
      }
    }
    // Observers are called between the commit and the checkpoint.
    let registration = database.hub.add { _, _ in task.cancel() }
    defer { database.hub.remove(registration) }
    hasStarted.increment()
    try await task.value
    #expect(try await database.read { try $0.fetchOne("SELECT count(*) FROM Block", as: Int.self) } == 8)
  }

  // MARK: The next user

  @Test("A cancellation does not interrupt the next user of the connection", arguments: [true, false])
  func theNextUserIsNeverInterrupted(inMemory: Bool) async throws {
    var generator = Seeded(testSeed)
    let vault = try TemporaryVault()
    let database = inMemory ? try Database.house() : try vault.openHouse(oneReader())
    var cancelled = 0
    for round in 0..<400 {
      let task = Task { try await database.read { try $0.fetchOne(Self.short, as: Int.self) } }
      // Another one stands in the line and gets the connection at once.
      let next = Task { try await database.read { try $0.fetchOne(Self.short, as: Int.self) } }
      for _ in 0..<Int.random(in: 0...30, using: &generator) { await Task.yield() }
      if Bool.random(using: &generator) { try await Task.sleep(for: .microseconds(100)) }
      task.cancel()
      do {
        #expect(try await next.value == 2000, "round \(round), TEST_SEED=\(testSeed)")
        #expect(try await task.value == 2000, "round \(round), TEST_SEED=\(testSeed)")
      } catch is CancellationError {
        cancelled += 1
      } catch {
        Issue.record("round \(round), TEST_SEED=\(testSeed): \(error)")
      }
    }
    #expect(cancelled > 0, "no call was cancelled in time, TEST_SEED=\(testSeed)")
  }

  /// The same, with the cancellation put where it would hurt: into the statement of the next user.
  @Test("A cancellation after the end of a call has no effect") func aCancellationBehindTheEndDoesNothing() throws {
    let database = try Database.house()
    try database.read { db in
      let earlier = CancellableCall()
      try earlier.run(on: db) {}
      var rows = 0
      try CancellableCall().run(on: db) {
        try db.forEach("SELECT roomId FROM OfflineRoom ORDER BY roomId") { _ in
          earlier.cancel()
          rows += 1
        }
      }
      #expect(rows == 4)
    }
  }

  /// A cancellation that comes between the start of a call and its BEGIN leaves no transaction open, in which all later
  /// calls would fail. SQLite asks about it once in a thousand steps of its machine, over all runs of the same BEGIN.
  @Test("A cancelled BEGIN leaves no open transaction") func aCancelledBeginLeavesNoTransaction() throws {
    let database = try Database.house()
    try database.withWriter { db in
      for begin in [{ try db.inTransaction {} }, { try db.inSnapshot { _ in } }] {
        for attempt in 0..<1000 {
          let call = CancellableCall()
          do {
            try call.run(on: db) {
              call.cancel()
              try begin()
            }
          } catch let error as SQLError where error.code == .interrupted {
          }
          try #require(!db.isInTransaction, "attempt \(attempt)")
        }
      }
    }
  }

  /// The same for savepoints: each ends before the one around it.
  @Test("A cancelled savepoint is released") func aCancelledSavepointEndsItself() throws {
    let database = try Database.house()
    try database.write { db in
      for attempt in 0..<1000 {
        let call = CancellableCall()
        try call.run(on: db) {
          call.cancel()
          try db.savepoint { try db.savepoint {} }
        }
        // Without a savepoint, no release can fail.
        #expect(throws: SQLError.self, "attempt \(attempt)") { try db.control("RELEASE fieldvault") }
      }
    }
  }

  /// The result of a write is true: it was committed, or it was cancelled.
  @Test("A cancelled write either commits or throws a cancellation error", arguments: [true, false])
  func aCancelledWriteTellsTheTruth(inMemory: Bool) async throws {
    var generator = Seeded(testSeed)
    let vault = try TemporaryVault()
    let database = inMemory ? try Database.empty() : try vault.open()
    if !inMemory { try await database.write { try $0.run(script: testSchema) } }
    var expected = 0
    for round in 0..<300 {
      let task = Task {
        try await database.write { db in _ = try db.insert(Project(projectId: 0, title: "Quay")) }
      }
      for _ in 0..<Int.random(in: 0...60, using: &generator) { await Task.yield() }
      if Bool.random(using: &generator) {
        try await Task.sleep(for: .microseconds(Int.random(in: 0...400, using: &generator)))
      }
      task.cancel()
      do {
        try await task.value
        expected += 1
      } catch is CancellationError {
      }
      #expect(try await Self.projectCount(database) == expected, "round \(round), TEST_SEED=\(testSeed)")
    }
  }

  /// Also in the middle of savepoints and of full-text search, which keeps a statement of its own open: the caller hears of
  /// the cancellation and of nothing that came of it, and the next one finds nothing of it.
  @Test("A cancelled savepoint leaves no change and no open statement") func aCancelledSavepointLeavesNothing()
    async throws
  {
    var generator = Seeded(testSeed)
    let vault = try TemporaryVault()
    let database = try vault.openHouse()
    try await database.write { db in
      try db.execute("CREATE VIRTUAL TABLE Found USING fts5(title)")
      try db.execute(
        """
        CREATE TRIGGER find AFTER UPDATE ON OfflineProject BEGIN
          DELETE FROM Found WHERE rowid = NEW.projectId;
          INSERT INTO Found (rowid, title) VALUES (NEW.projectId, NEW.title);
        END
        """)
    }
    for round in 0..<600 {
      let task = Task {
        try await database.write { db in
          for step in 0..<200 {
            do {
              try db.savepoint {
                try db.execute("UPDATE OfflineProject SET title = \("Quay \(step)")")
                try db.savepoint { try db.execute("UPDATE OfflineRoom SET title = \("Hall \(step)")") }
                if step % 3 == 0 { throw Refused() }
              }
            } catch is Refused {
            }
          }
        }
      }
      try await Task.sleep(for: .microseconds(Int.random(in: 0...3000, using: &generator)))
      task.cancel()
      do {
        do { try await task.value } catch is CancellationError {}
        try await database.write { try $0.execute("UPDATE OfflineProject SET title = 'Dock'") }
      } catch {
        Issue.record("round \(round), TEST_SEED=\(testSeed): \(error)")
      }
    }
  }

  private struct Refused: Error {}
}
