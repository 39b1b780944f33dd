import Foundation
import TestSupport
import Testing

@testable import CipherSQL

/// Many users at once, from tasks and from threads.
@Suite(.timeLimit(.minutes(20))) struct ConcurrencyTests {
  private struct Refusal: Error {}

  private static let total = 1000

  /// Two accounts whose sum never changes in a committed state.
  private func fillAccounts(_ db: WriteConnection) throws {
    try db.execute("CREATE TABLE Account (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL) STRICT")
    try db.execute("INSERT INTO Account VALUES (1, 500), (2, 500)")
  }

  /// The sum, from two statements of one read.
  private static func sum(_ db: Connection) throws -> Int? {
    guard let first = try db.fetchOne("SELECT amount FROM Account WHERE id = 1", as: Int.self),
      let second = try db.fetchOne("SELECT amount FROM Account WHERE id = 2", as: Int.self)
    else { return nil }
    return first + second
  }

  /// Moves an amount in two statements; each seventh move gives up half way.
  private static func move(_ amount: Int, _ db: WriteConnection) throws {
    try db.execute("UPDATE Account SET amount = amount - \(amount) WHERE id = 1")
    if amount % 7 == 0 { throw Refusal() }
    try db.execute("UPDATE Account SET amount = amount + \(amount) WHERE id = 2")
  }

  /// Starts a thread, and returns a counter that becomes one when the thread has ended.
  private func thread(_ body: @escaping @Sendable () throws -> Void) -> Counter {
    let isDone = Counter()
    Thread {
      do { try body() } catch { Issue.record("thread: \(error) TEST_SEED=\(testSeed)") }
      isDone.increment()
    }.start()
    return isDone
  }

  private func wait(for threads: [Counter]) async throws {
    for thread in threads { try await eventually { thread.value == 1 } }
  }

  @Test("Concurrent readers never see a partial transfer", arguments: [1, 4]) func readersAndWritersKeepAnInvariant(
    readerCount: Int
  ) async throws {
    let vault = try TemporaryVault()
    var configuration = Configuration()
    configuration.readerCount = readerCount
    let database = try vault.open(configuration)
    try await database.write(fillAccounts)
    let commits = Counter()
    let rounds = 60

    // Four of the eight readers and one of the two writers are threads.
    var threads: [Counter] = []
    for _ in 0..<4 {
      threads.append(
        thread {
          for _ in 0..<rounds {
            let sum = try database.read(Self.sum)
            #expect(sum == Self.total, "TEST_SEED=\(testSeed)")
          }
        })
    }
    threads.append(
      thread {
        var generator = Seeded(testSeed)
        for _ in 0..<rounds {
          let amount = Int.random(in: -50...50, using: &generator)
          do {
            try database.write { db in try Self.move(amount, db) }
            commits.increment()
          } catch is Refusal {}
        }
      })
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<4 {
        group.addTask {
          var generator = Seeded(testSeed &+ UInt64(number))
          for _ in 0..<rounds {
            let sum = try await database.read(Self.sum)
            #expect(sum == Self.total, "TEST_SEED=\(testSeed)")
            if Bool.random(using: &generator) { await Task.yield() }
          }
        }
      }
      group.addTask {
        var generator = Seeded(~testSeed)
        for _ in 0..<rounds {
          let amount = Int.random(in: -50...50, using: &generator)
          do {
            try await database.write { db in try Self.move(amount, db) }
            commits.increment()
          } catch is Refusal {}
        }
      }
      try await group.waitForAll()
    }
    try await wait(for: threads)
    #expect(commits.value > 0)
    #expect(try await database.read(Self.sum) == Self.total)
  }

  @Test("An in-memory database serves tasks and threads") func aDatabaseInMemoryServesTasksAndThreads() async throws {
    let database = try Database.inMemory()
    try await database.write(fillAccounts)
    var threads: [Counter] = []
    for amount in 1...3 {
      threads.append(
        thread {
          for _ in 0..<50 {
            try database.write { db in try Self.move(amount, db) }
            let sum = try database.read(Self.sum)
            #expect(sum == Self.total)
          }
        })
    }
    for _ in 0..<50 {
      try await database.write { db in try Self.move(-6, db) }
      #expect(try await database.read(Self.sum) == Self.total)
    }
    try await wait(for: threads)
    #expect(try await database.read { try $0.fetchOne("SELECT amount FROM Account WHERE id = 1", as: Int.self) } == 500)
  }

  /// Holds the writing connection until `release` is signalled.
  private func hold(_ database: Database, until release: DispatchSemaphore) async throws -> Counter {
    let hasBegun = Counter()
    let holder = thread {
      try database.withWriter { _ in
        hasBegun.increment()
        release.wait()
      }
    }
    try await eventually { hasBegun.value == 1 }
    return holder
  }

  @Test("Writers are served in order of arrival") func writersAreServedInTheOrderOfTheirArrival() async throws {
    let vault = try TemporaryVault()
    let database = try vault.open()
    let order = Notes<Int>()
    let release = DispatchSemaphore(value: 0)
    var threads = [try await hold(database, until: release)]
    var tasks: [Task<Void, any Error>] = []
    for number in 0..<12 {
      if number.isMultiple(of: 3) {
        threads.append(thread { try database.write { _ in order.add(number) } })
      } else {
        tasks.append(Task { try await database.write { _ in order.add(number) } })
      }
      // It stands in the line before the next one comes.
      try await eventually { database.writer.waitingCount == number + 1 }
    }
    release.signal()
    for task in tasks { try await task.value }
    try await wait(for: threads)
    #expect(order.all == Array(0..<12))
  }

  /// A program that writes synchronously within its tasks blocks the threads that all tasks share. A task that waits
  /// before those must get its turn without one.
  @Test("A task is served while later tasks block all threads")
  func aTaskIsServedWhenThoseBehindItBlockAllThreads() async throws {
    let vault = try TemporaryVault()
    let database = try vault.open()
    let (release, isWritten) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let holder = try await hold(database, until: release)
    Task { try await database.write { _ in isWritten.signal() } }
    try await eventually { database.writer.waitingCount == 1 }
    let cores = ProcessInfo.processInfo.activeProcessorCount
    let isServed = Notes<Bool>()
    // Not a task, because tasks may get no thread for a while from here on.
    let watcher = thread {
      // Where tasks have fewer threads, or others block some, fewer wait.
      let end = ContinuousClock.now + .seconds(5)
      while database.writer.waitingCount < cores + 1, ContinuousClock.now < end { usleep(1000) }
      release.signal()
      isServed.add(isWritten.wait(timeout: .now() + 20) == .success)
      // Lets go of all threads, however it went.
      database.close()
    }
    let write: @Sendable () throws -> Void = { try database.write { _ in } }
    for _ in 0..<cores { Task { try write() } }
    try await wait(for: [holder, watcher])
    #expect(isServed.all == [true])
  }

  @Test("A waiting reader gets the next free connection") func aReaderThatWaitsIsServed() async throws {
    let vault = try TemporaryVault()
    var configuration = Configuration()
    configuration.readerCount = 1
    let database = try vault.openHouse(configuration)
    let readers = try #require(database.readers)
    let release = DispatchSemaphore(value: 0)
    let hasBegun = Counter()
    let holder = thread {
      try database.read { _ in
        hasBegun.increment()
        release.wait()
      }
    }
    try await eventually { hasBegun.value == 1 }
    let waiting = Task {
      try await database.read { try $0.fetchOne("SELECT count(*) FROM OfflineLog", as: Int.self) }
    }
    try await eventually { readers.waitingCount == 1 }
    release.signal()
    #expect(try await waiting.value == 4)
    try await wait(for: [holder])
  }

  // MARK: Closing

  @Test("Closing fails waiting calls at once") func closingTellsThoseWhoWait() async throws {
    let vault = try TemporaryVault()
    let database = try vault.open()
    let release = DispatchSemaphore(value: 0)
    let holder = try await hold(database, until: release)
    let errors = Notes<String>()
    let waitingThread = thread {
      do { try database.write { _ in } } catch let error as SQLError { errors.add("\(error.code.rawValue): \(error)") }
    }
    let waitingTask = Task { try await database.write { _ in } }
    try await eventually { database.writer.waitingCount == 2 }
    database.close()
    // They are told at once, while the holder is still at work.
    let error = await #expect(throws: SQLError.self) { try await waitingTask.value }
    #expect(error?.code == .misuse)
    #expect(error?.message == "the database is closed")
    try await wait(for: [waitingThread])
    #expect(errors.all == ["misuse: the database is closed (open it again)"])
    release.signal()
    try await wait(for: [holder])
  }

  /// The connection of an awaited call is given back on another thread, which may still be busy with it for a moment.
  @Test("No file is open when close returns", arguments: [0, 3]) func noFileIsOpenWhenClosingReturns(readers: Int)
    async throws
  {
    for _ in 0..<60 {
      let vault = try TemporaryVault()
      let database = try vault.open()
      try await database.write { try $0.execute("CREATE TABLE Note (text TEXT) STRICT") }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<readers {
          group.addTask { _ = try await database.read { try $0.fetch("SELECT text FROM Note", as: String.self) } }
        }
        try await group.waitForAll()
      }
      #expect(database.close())
      // The last connection removes the log when it closes.
      #expect(!FileManager.default.fileExists(atPath: vault.path + "-wal"))
    }
  }

  @Test("Closing waits for calls in progress up to its limit") func closingWaitsForCallsUnderWay() async throws {
    let vault = try TemporaryVault()
    let database = try vault.openHouse()
    let (writeEnd, readEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let writing = try await hold(database, until: writeEnd)
    let hasBegun = Counter()
    let reading = thread {
      try database.read { _ in
        hasBegun.increment()
        readEnd.wait()
      }
    }
    try await eventually { hasBegun.value == 1 }
    #expect(!database.close())
    #expect(!database.close(waitingAtMost: .milliseconds(20)))
    readEnd.signal()
    try await wait(for: [reading])
    #expect(!database.close(waitingAtMost: .milliseconds(20)))
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(50)) { writeEnd.signal() }
    #expect(database.close(waitingAtMost: .seconds(60)))
    #expect(!FileManager.default.fileExists(atPath: vault.path + "-wal"))
    try await wait(for: [writing])
  }

  @Test("A write in progress commits after the database was closed") func aWriteUnderWayOutlivesTheClosing()
    async throws
  {
    let vault = try TemporaryVault()
    let database = try vault.openHouse()
    let release = DispatchSemaphore(value: 0)
    let hasBegun = Counter()
    let holder = thread {
      try database.write { db in
        try db.execute("DELETE FROM OfflineLog")
        hasBegun.increment()
        release.wait()
      }
    }
    try await eventually { hasBegun.value == 1 }
    database.close()
    let error = await #expect(throws: SQLError.self) { try await database.read { _ in } }
    #expect(error?.message == "the database is closed")
    release.signal()
    try await wait(for: [holder])
    let count = try await vault.open().read { try $0.fetchOne("SELECT count(*) FROM OfflineLog", as: Int.self) }
    #expect(count == 0)
  }

  // MARK: A connection that does not open

  /// Each waiting call throws when its connection cannot be opened.
  @Test("A connection that cannot be opened fails all waiting calls") func aFailureToOpenReachesAllWhoWait()
    async throws
  {
    let release = DispatchSemaphore(value: 0)
    let attempts = Counter()
    let pool = ConnectionPool<Connection>(capacity: 1, nesting: NestingGuard()) {
      attempts.increment()
      release.wait()
      throw SQLError(.cannotOpen, "no more files")
    }
    let opener = thread { #expect(throws: SQLError.self) { try pool.withConnection(for: "read") { _ in } } }
    try await eventually { attempts.value == 1 }
    let tasks = (0..<3).map { _ in Task { try await pool.perform(for: "read") { _ in } } }
    let waitingThread = thread { #expect(throws: SQLError.self) { try pool.withConnection(for: "read") { _ in } } }
    try await eventually { pool.waitingCount == 4 }
    for _ in 0..<10 { release.signal() }
    for task in tasks {
      let error = await #expect(throws: SQLError.self) { try await task.value }
      #expect(error?.code == .cannotOpen)
    }
    try await wait(for: [opener, waitingThread])
    #expect(pool.waitingCount == 0)
  }
}
