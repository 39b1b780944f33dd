import TestSupport
import Testing

@testable import CipherSQL

/// An observer is notified of changes of its result only.
@Suite(.timeLimit(.minutes(20))) struct ObservationTests {
  // MARK: What is yielded

  @Test("An observation yields the first value and each later one") func yieldsTheFirstValueAndThenEachNewOne()
    async throws
  {
    let vault = try TemporaryVault()
    let database = try vault.openHouse()
    var watch = Watch(database, roomTitles)
    #expect(await watch.next() == ["Attic", "Kitchen", "Cellar", "Hall"])
    try await database.write { db in try db.execute("UPDATE OfflineRoom SET title = 'Loft' WHERE roomId = 1") }
    #expect(await watch.next() == ["Loft", "Kitchen", "Cellar", "Hall"])
    try await database.write { db in
      try db.execute("DELETE FROM OfflineLog WHERE roomId = 4")
      try db.execute("DELETE FROM OfflineRoom WHERE roomId = 4")
    }
    #expect(await watch.next() == ["Loft", "Kitchen", "Cellar"])
    watch.task.cancel()
  }

  @Test("An in-memory database can be observed") func worksInMemory() async throws {
    let database = try Database.house()
    var watch = Watch(database, roomTitles)
    #expect(await watch.next()?.count == 4)
    try await database.write { db in try db.execute("UPDATE OfflineRoom SET title = 'Loft' WHERE roomId = 1") }
    #expect(await watch.next()?.first == "Loft")
    watch.task.cancel()
  }

  @Test("An observation follows views and trigger writes") func aViewAndATriggerAreFollowed() async throws {
    let database = try Database.house()
    try await database.write { db in
      try db.execute("CREATE VIEW Wet AS SELECT title FROM OfflineRoom WHERE note = 'damp'")
      try db.execute("CREATE TABLE Tally (changes INTEGER NOT NULL) STRICT")
      try db.execute("INSERT INTO Tally VALUES (0)")
      try db.execute(
        "CREATE TRIGGER count AFTER UPDATE ON OfflineRoom BEGIN UPDATE Tally SET changes = changes + 1; END")
    }
    var view = Watch(database) { db in try db.fetch("SELECT title FROM Wet ORDER BY title", as: String.self) }
    var tally = Watch(database) { db in try db.fetchOne("SELECT changes FROM Tally", as: Int.self) }
    #expect(await view.next() == ["Attic"])
    #expect(await tally.next() == 0)
    try await database.write { db in try db.execute("UPDATE OfflineRoom SET note = 'damp' WHERE roomId = 2") }
    #expect(await view.next() == ["Attic", "Kitchen"])
    #expect(await tally.next() == 1)
    view.task.cancel()
    tally.task.cancel()
  }

  @Test("An unchanged result is not yielded") func anUnchangedResultIsNotYielded() async throws {
    let database = try Database.house()
    var watch = Watch(database, roomTitles)
    #expect(await watch.next()?.first == "Attic")
    try await database.write { db in try db.execute("UPDATE OfflineRoom SET title = title") }
    // The query has run for that and found nothing new.
    try await eventually { watch.runs.value == 2 }
    try await database.write { db in try db.execute("UPDATE OfflineRoom SET title = 'Loft' WHERE roomId = 1") }
    #expect(await watch.next()?.first == "Loft")
    watch.task.cancel()
  }

  @Test("Two observers both receive changes, and one continues after the other ends") func twoObserversBothHear()
    async throws
  {
    let vault = try TemporaryVault()
    let database = try vault.openHouse()
    var first = Watch(database, roomTitles)
    var second = Watch(database) { db in try db.fetchOne("SELECT max(title) FROM OfflineRoom", as: String.self) }
    #expect(await first.next()?.last == "Hall")
    #expect(await second.next() == "Kitchen")
    try await database.write { db in try db.execute("UPDATE OfflineRoom SET title = 'Yard' WHERE roomId = 4") }
    #expect(await first.next()?.last == "Yard")
    #expect(await second.next() == "Yard")
    // One goes, the other one stays.
    first.task.cancel()
    _ = await first.task.result
    try await database.write { db in try db.execute("UPDATE OfflineRoom SET title = 'Zoo' WHERE roomId = 4") }
    #expect(await second.next() == "Zoo")
    second.task.cancel()
  }

  // MARK: How it ends

  @Test("Cancelling the task ends the observation") func endsWhenTheTaskIsCancelled() async throws {
    let database = try Database.house()
    var watch = Watch(database, roomTitles)
    #expect(await watch.next() != nil)
    #expect(database.hub.hasObservers)
    watch.task.cancel()
    await #expect(throws: CancellationError.self) { try await watch.task.value }
    #expect(await watch.next() == nil)
    #expect(!database.hub.hasObservers)
  }

  @Test("Closing the database ends the observation") func endsWhenTheDatabaseCloses() async throws {
    let database = try Database.house()
    let iterator = database.observe(roomTitles).makeAsyncIterator()
    #expect(try await iterator.next() != nil)
    database.close()
    #expect(try await iterator.next() == nil)
  }

  @Test("An observation throws the error of its query") func anErrorOfTheQueryIsThrown() async throws {
    let database = try Database.house()
    let iterator = database.observe { db in try db.fetch("SELECT x FROM Nowhere", as: String.self) }.makeAsyncIterator()
    let error = await #expect(throws: SQLError.self) { try await iterator.next() }
    #expect(error?.code == .invalidSQL)
  }

  // MARK: What wakes it

  @Test("A change of another table or column does not notify") func anotherTableOrColumnDoesNotWake() throws {
    let database = try Database.house()
    let query: SQL = "SELECT title FROM OfflineRoom WHERE isDeleted = 0"
    #expect(try !wakes(database, query: query) { try $0.execute("UPDATE OfflineProject SET title = 'x'") })
    #expect(try !wakes(database, query: query) { try $0.execute("UPDATE OfflineRoom SET floor = floor + 1") })
    #expect(try wakes(database, query: query) { try $0.execute("UPDATE OfflineRoom SET isDeleted = 1") })
    #expect(try wakes(database, query: query) { try $0.execute("UPDATE OfflineRoom SET title = 'x'") })
  }

  @Test("A statement that changes no row does not notify") func aStatementThatFindsNoRowDoesNotWake() throws {
    let database = try Database.house()
    let query: SQL = "SELECT title FROM OfflineRoom"
    #expect(
      try !wakes(database, query: query) { try $0.execute("UPDATE OfflineRoom SET title = 'x' WHERE roomId = 77") })
    #expect(try !wakes(database, query: query) { try $0.execute("DELETE FROM OfflineRoom WHERE roomId = 77") })
  }

  @Test("A rolled-back transaction does not notify") func aRolledBackTransactionDoesNotWake() throws {
    struct Refusal: Error {}
    let database = try Database.house()
    let regions = Counter()
    let registration = database.hub.add { _, _ in regions.increment() }
    defer { database.hub.remove(registration) }
    #expect(throws: Refusal.self) {
      try database.write { db in
        try db.execute("UPDATE OfflineRoom SET title = 'x'")
        throw Refusal()
      }
    }
    // Its changes do not count for the next transaction either.
    try database.write { _ in }
    #expect(regions.value == 0)
  }

  @Test("A count is notified of inserted and deleted rows only") func aCountHearsOfRowsOnly() throws {
    let database = try Database.house()
    let query: SQL = "SELECT count(*) FROM OfflineLog"
    #expect(try !wakes(database, query: query) { try $0.execute("UPDATE OfflineLog SET text = 'x'") })
    #expect(try wakes(database, query: query) { try $0.execute("DELETE FROM OfflineLog WHERE logId = 1") })
  }

  @Test("Deleting all rows at once notifies") func deletingAllRowsAtOnceWakes() throws {
    let database = try Database.empty()
    try database.write { db in
      try db.execute("CREATE TABLE Plain (x INTEGER) STRICT")
      try db.execute("INSERT INTO Plain VALUES (1), (2)")
    }
    #expect(try wakes(database, query: "SELECT x FROM Plain") { try $0.execute("DELETE FROM Plain") })
  }

  @Test("A change of a WITHOUT ROWID table notifies") func aTableWithoutRowidWakes() throws {
    let database = try Database.empty()
    try database.write { try $0.execute("CREATE TABLE Pair (a TEXT PRIMARY KEY, b TEXT) STRICT, WITHOUT ROWID") }
    let query: SQL = "SELECT b FROM Pair"
    #expect(try wakes(database, query: query) { try $0.execute("INSERT INTO Pair VALUES ('a', 'b')") })
    #expect(try wakes(database, query: query) { try $0.execute("UPDATE Pair SET b = 'c'") })
    #expect(try wakes(database, query: query) { try $0.execute("DELETE FROM Pair WHERE a = 'a'") })
  }

  @Test("A foreign key action notifies") func aForeignKeyActionWakes() throws {
    let database = try Database.empty()
    try database.write { db in
      try db.execute("CREATE TABLE Parent (id INTEGER PRIMARY KEY) STRICT")
      try db.execute(
        """
        CREATE TABLE Child (id INTEGER PRIMARY KEY, a INTEGER REFERENCES Parent ON DELETE SET NULL,
          b INTEGER REFERENCES Parent ON DELETE CASCADE, c INTEGER) STRICT
        """)
      try db.execute("INSERT INTO Parent VALUES (1), (2)")
      try db.execute("INSERT INTO Child VALUES (1, 1, NULL, 0), (2, NULL, 2, 0)")
    }
    #expect(
      try wakes(database, query: "SELECT a FROM Child") { db in
        try db.execute("UPDATE Child SET c = 1")
        try db.execute("DELETE FROM Parent WHERE id = 1")
      })
    #expect(
      try wakes(database, query: "SELECT count(*) FROM Child") { try $0.execute("DELETE FROM Parent WHERE id = 2") })
  }

  @Test("A change of a full-text table notifies") func aFullTextTableWakes() throws {
    let database = try Database.empty()
    try database.write { try $0.execute("CREATE VIRTUAL TABLE Words USING fts5(body)") }
    let query: SQL = "SELECT body FROM Words WHERE Words MATCH 'damp'"
    #expect(try wakes(database, query: query) { try $0.execute("INSERT INTO Words VALUES ('damp wall')") })
    #expect(try wakes(database, query: query) { try $0.execute("UPDATE Words SET body = 'dry wall'") })
    #expect(try wakes(database, query: query) { try $0.execute("DELETE FROM Words") })
  }

  // MARK: Nothing is missed

  /// Writes fall at any moment of an observer's life: before it registers, while it reads, while it waits.
  @Test("An observer receives the last write at any moment of its life", arguments: [true, false])
  func theLastWriteIsNeverMissed(inMemory: Bool) async throws {
    var generator = Seeded(testSeed)
    let vault = try TemporaryVault()
    let database = inMemory ? try Database.inMemory() : try vault.open()
    try await database.write { db in
      try db.execute("CREATE TABLE Meter (value INTEGER NOT NULL) STRICT")
      try db.execute("INSERT INTO Meter VALUES (0)")
    }
    var value = 0
    for _ in 0..<400 {
      let last = value + Int.random(in: 1...4, using: &generator)
      let observer = Task {
        var seen: [Int] = []
        for try await value in database.observe({ db in try db.fetchOne("SELECT value FROM Meter", as: Int.self) ?? -1 }
        ) {
          seen.append(value)
          if value == last { break }
        }
        return seen
      }
      for _ in 0..<Int.random(in: 0...40, using: &generator) { await Task.yield() }
      while value < last {
        value += 1
        let next = value
        try await database.write { db in try db.execute("UPDATE Meter SET value = \(next)") }
        for _ in 0..<Int.random(in: 0...5, using: &generator) { await Task.yield() }
      }
      let seen = try await observer.value
      #expect(seen == seen.sorted() && Set(seen).count == seen.count, "TEST_SEED=\(testSeed)")
    }
  }
}
