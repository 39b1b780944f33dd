import Testing

@testable import CipherSQL

/// An observer hears of what changes its result, and of nothing else.
@Suite(.timeLimit(.minutes(20))) struct ObservationTests {
  /// Takes the values of an observation in a task of its own.
  private struct Watch<Value: Sendable & Equatable> {
    let task: Task<Void, any Error>
    let runs = Counter()
    private var values: AsyncStream<Value>.Iterator

    init(_ database: Database, _ query: @escaping @Sendable (Connection) throws -> Value) {
      let (stream, continuation) = AsyncStream.makeStream(of: Value.self)
      let runs = runs
      values = stream.makeAsyncIterator()
      task = Task {
        defer { continuation.finish() }
        let observation = database.observe { db in
          let value = try query(db)
          runs.increment()
          return value
        }
        for try await value in observation { continuation.yield(value) }
      }
    }

    /// Nil when the observation has ended.
    mutating func next() async -> Value? { await values.next(isolation: nil) }
  }

  private static let titles: @Sendable (Connection) throws -> [String] = { db in
    try db.fetch("SELECT title FROM OfflineRoom ORDER BY roomId", as: String.self)
  }

  /// Whether a change would make an observer run its query again.
  private func wakes(_ database: Database, query: SQL, _ change: (WriteConnection) throws -> Void) throws -> Bool {
    let reads = try database.read { db in
      db.observedReads = Footprint()
      defer { db.observedReads = nil }
      try db.forEach(query) { _ in }
      return try #require(db.observedReads).reads
    }
    let answers = Notes<Bool>()
    let registration = database.hub.add { region, virtualTables in
      answers.add(region?.touches(reads, isVirtual: virtualTables.contains) ?? false)
    }
    defer { database.hub.remove(registration) }
    try database.write(change)
    return answers.all.contains(true)
  }

  // MARK: What is yielded

  @Test func yieldsTheFirstValueAndThenEachNewOne() async throws {
    let vault = try TemporaryVault()
    let database = try vault.openHouse()
    var watch = Watch(database, Self.titles)
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

  @Test func worksInMemory() async throws {
    let database = try Database.house()
    var watch = Watch(database, Self.titles)
    #expect(await watch.next()?.count == 4)
    try await database.write { db in try db.execute("UPDATE OfflineRoom SET title = 'Loft' WHERE roomId = 1") }
    #expect(await watch.next()?.first == "Loft")
    watch.task.cancel()
  }

  @Test func aViewAndATriggerAreFollowed() async throws {
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

  @Test func anUnchangedResultIsNotYielded() async throws {
    let database = try Database.house()
    var watch = Watch(database, Self.titles)
    #expect(await watch.next()?.first == "Attic")
    try await database.write { db in try db.execute("UPDATE OfflineRoom SET title = title") }
    // The query has run for that and found nothing new.
    try await eventually { watch.runs.value == 2 }
    try await database.write { db in try db.execute("UPDATE OfflineRoom SET title = 'Loft' WHERE roomId = 1") }
    #expect(await watch.next()?.first == "Loft")
    watch.task.cancel()
  }

  @Test func twoObserversBothHear() async throws {
    let vault = try TemporaryVault()
    let database = try vault.openHouse()
    var first = Watch(database, Self.titles)
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

  @Test func endsWhenTheTaskIsCancelled() async throws {
    let database = try Database.house()
    var watch = Watch(database, Self.titles)
    #expect(await watch.next() != nil)
    #expect(database.hub.hasObservers)
    watch.task.cancel()
    await #expect(throws: CancellationError.self) { try await watch.task.value }
    #expect(await watch.next() == nil)
    #expect(!database.hub.hasObservers)
  }

  @Test func endsWhenTheDatabaseCloses() async throws {
    let database = try Database.house()
    let iterator = database.observe(Self.titles).makeAsyncIterator()
    #expect(try await iterator.next() != nil)
    database.close()
    #expect(try await iterator.next() == nil)
  }

  @Test func anErrorOfTheQueryIsThrown() async throws {
    let database = try Database.house()
    let iterator = database.observe { db in try db.fetch("SELECT x FROM Nowhere", as: String.self) }.makeAsyncIterator()
    let error = await #expect(throws: SQLError.self) { try await iterator.next() }
    #expect(error?.code == .invalidSQL)
  }

  // MARK: What wakes it

  @Test func anotherTableOrColumnDoesNotWake() throws {
    let database = try Database.house()
    let query: SQL = "SELECT title FROM OfflineRoom WHERE isDeleted = 0"
    #expect(try !wakes(database, query: query) { try $0.execute("UPDATE OfflineProject SET title = 'x'") })
    #expect(try !wakes(database, query: query) { try $0.execute("UPDATE OfflineRoom SET floor = floor + 1") })
    #expect(try wakes(database, query: query) { try $0.execute("UPDATE OfflineRoom SET isDeleted = 1") })
    #expect(try wakes(database, query: query) { try $0.execute("UPDATE OfflineRoom SET title = 'x'") })
  }

  @Test func aStatementThatFindsNoRowDoesNotWake() throws {
    let database = try Database.house()
    let query: SQL = "SELECT title FROM OfflineRoom"
    #expect(
      try !wakes(database, query: query) { try $0.execute("UPDATE OfflineRoom SET title = 'x' WHERE roomId = 77") })
    #expect(try !wakes(database, query: query) { try $0.execute("DELETE FROM OfflineRoom WHERE roomId = 77") })
  }

  @Test func aRolledBackTransactionDoesNotWake() throws {
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
    // Nor does what it did count for the next transaction.
    try database.write { _ in }
    #expect(regions.value == 0)
  }

  @Test func aCountHearsOfRowsOnly() throws {
    let database = try Database.house()
    let query: SQL = "SELECT count(*) FROM OfflineLog"
    #expect(try !wakes(database, query: query) { try $0.execute("UPDATE OfflineLog SET text = 'x'") })
    #expect(try wakes(database, query: query) { try $0.execute("DELETE FROM OfflineLog WHERE logId = 1") })
  }

  @Test func deletingAllRowsAtOnceWakes() throws {
    let database = try Database.empty()
    try database.write { db in
      try db.execute("CREATE TABLE Plain (x INTEGER) STRICT")
      try db.execute("INSERT INTO Plain VALUES (1), (2)")
    }
    #expect(try wakes(database, query: "SELECT x FROM Plain") { try $0.execute("DELETE FROM Plain") })
  }

  @Test func aTableWithoutRowidWakes() throws {
    let database = try Database.empty()
    try database.write { try $0.execute("CREATE TABLE Pair (a TEXT PRIMARY KEY, b TEXT) STRICT, WITHOUT ROWID") }
    let query: SQL = "SELECT b FROM Pair"
    #expect(try wakes(database, query: query) { try $0.execute("INSERT INTO Pair VALUES ('a', 'b')") })
    #expect(try wakes(database, query: query) { try $0.execute("UPDATE Pair SET b = 'c'") })
    #expect(try wakes(database, query: query) { try $0.execute("DELETE FROM Pair WHERE a = 'a'") })
  }

  @Test func aForeignKeyActionWakes() throws {
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

  @Test func aFullTextTableWakes() throws {
    let database = try Database.empty()
    try database.write { try $0.execute("CREATE VIRTUAL TABLE Words USING fts5(body)") }
    let query: SQL = "SELECT body FROM Words WHERE Words MATCH 'damp'"
    #expect(try wakes(database, query: query) { try $0.execute("INSERT INTO Words VALUES ('damp wall')") })
    #expect(try wakes(database, query: query) { try $0.execute("UPDATE Words SET body = 'dry wall'") })
    #expect(try wakes(database, query: query) { try $0.execute("DELETE FROM Words") })
  }

  // MARK: Nothing is missed

  /// Writes fall at any moment of an observer's life: before it registers, while it reads, while it waits.
  @Test(arguments: [true, false])
  func theLastWriteIsNeverMissed(inMemory: Bool) async throws {
    print("ObservationTests: TEST_SEED=\(testSeed)")
    var generator = SeededGenerator(seed: testSeed)
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

  // MARK: Changes that no hook reports

  @Test("A change of a column wakes queries that read a column generated from it")
  func generatedColumnsAreFollowed() throws {
    let database = try Database.inMemory()
    try database.write { db in
      try db.execute(
        "CREATE TABLE person (id INTEGER PRIMARY KEY, first TEXT, last TEXT, name TEXT AS (first || last), "
          + "stored TEXT AS (upper(first)) STORED, note TEXT)")
      try db.execute("INSERT INTO person (first, last) VALUES ('a', 'b')")
    }
    for column in ["name", "stored"] {
      let query = SQL(raw: "SELECT \(column) FROM person")
      #expect(try wakes(database, query: query) { try $0.execute("UPDATE person SET first = 'c'") })
    }
    #expect(try !wakes(database, query: "SELECT last FROM person") { try $0.execute("UPDATE person SET note = 'c'") })
  }

  @Test(
    "Rows that OR REPLACE or ON CONFLICT REPLACE removes wake queries that read no changed column",
    arguments: [
      ("a INTEGER PRIMARY KEY, b, c", "", "UPDATE OR REPLACE t SET a = 2 WHERE a = 1"),
      ("a UNIQUE, b, c", "", "UPDATE OR REPLACE t SET a = 2 WHERE a = 1"),
      ("a UNIQUE ON CONFLICT REPLACE, b, c", "", "UPDATE t SET a = 2 WHERE a = 1"),
      ("a, b, c", "CREATE UNIQUE INDEX i ON t (a + 0)", "UPDATE OR REPLACE t SET a = 2 WHERE a = 1"),
      ("a, b, c", "CREATE UNIQUE INDEX i ON t (a) WHERE a > 0", "UPDATE OR REPLACE t SET a = 2 WHERE a = 1"),
      ("a, b, c, d AS (a + 1) UNIQUE", "", "UPDATE OR REPLACE t SET a = 2 WHERE a = 1"),
      ("a, b, c", "", "UPDATE OR REPLACE t SET rowid = 2 WHERE a = 1"),
      ("a UNIQUE, b, c", "", "INSERT OR REPLACE INTO t (a, b) VALUES (2, 9)"),
      ("a UNIQUE, b, c", "", "REPLACE INTO t (a, b) VALUES (2, 9)"),
    ])
  func replacedRowsAreFollowed(_ columns: String, _ index: String, _ change: String) throws {
    let database = try Database.inMemory()
    try database.write { db in
      try db.execute(SQL(raw: "CREATE TABLE t (\(columns))"))
      if !index.isEmpty { try db.execute(SQL(raw: index)) }
      try db.execute("INSERT INTO t (a, b) VALUES (1, 10), (2, 20)")
    }
    #expect(try wakes(database, query: "SELECT sum(b) FROM t") { try $0.execute(SQL(raw: change)) })
    // A unique key over an expression or a generated column may depend on any column.
    let dependsOnAny = index.contains("(") || columns.contains(" AS ")
    #expect(
      try dependsOnAny || !wakes(database, query: "SELECT sum(b) FROM t") { try $0.execute("UPDATE t SET c = 3") })
  }

  @Test("Changes through withWriter are seen, also those before a statement that fails")
  func writerOutsideOfATransaction() async throws {
    let vault = try TemporaryVault()
    let database = try vault.openHouse()
    var watch = Watch(database, Self.titles)
    #expect(await watch.next()?.first == "Attic")
    try onAnotherThread { () throws in
      _ = try database.withWriter { try $0.execute("UPDATE OfflineRoom SET title = 'Loft' WHERE roomId = 1") }
    }
    #expect(await watch.next()?.first == "Loft")
    try onAnotherThread { () throws in
      #expect(throws: SQLError.self) {
        try database.withWriter { db in
          try db.execute("UPDATE OfflineRoom SET title = 'Roof' WHERE roomId = 1")
          try db.execute("UPDATE nothing SET x = 1")
        }
      }
    }
    #expect(await watch.next()?.first == "Roof")
    watch.task.cancel()
  }

  /// A second `Database` of the same file stands for another process: its connections share nothing with the first.
  @Test("A commit of another process is seen at the next look")
  func otherProcessesAreSeen() async throws {
    let vault = try TemporaryVault()
    var configuration = Configuration()
    configuration.otherProcessInterval = .milliseconds(5)
    let database = try vault.openHouse(configuration)
    let other = try vault.open()
    var watch = Watch(database, Self.titles)
    #expect(await watch.next()?.first == "Attic")
    for title in ["Loft", "Roof", "Top"] {
      try await other.write { db in try db.execute("UPDATE OfflineRoom SET title = \(title) WHERE roomId = 1") }
      #expect(await watch.next()?.first == title)
    }
    watch.task.cancel()
  }

  @Test("Own commits and checkpoints do not count as another process")
  func ownCommitsAreNotOthers() throws {
    let vault = try TemporaryVault()
    let database = try vault.openHouse()
    let told = Counter()
    let registration = database.hub.add { region, _ in if region?.isEverything == true { told.increment() } }
    defer { database.hub.remove(registration) }
    database.publishCommitsOfOtherProcesses()
    let before = told.value
    for round in 0..<20 {
      try database.write { try $0.execute("UPDATE OfflineRoom SET floor = \(round)") }
      _ = try database.read { try $0.fetchOne("SELECT count(*) FROM OfflineRoom", as: Int.self) }
      if round.isMultiple(of: 5) { try database.withWriter { _ = try $0.checkpoint() } }
      database.publishCommitsOfOtherProcesses()
    }
    #expect(told.value == before)
    try vault.open().write { try $0.execute("UPDATE OfflineRoom SET floor = 77") }
    database.publishCommitsOfOtherProcesses()
    #expect(told.value == before + 1)
  }

  @Test("The look for other processes ends with the last observer")
  func theTimerEnds() async throws {
    let vault = try TemporaryVault()
    let database = try vault.openHouse()
    let asked = Counter()
    let processes = OtherProcesses()
    for _ in 0..<2 { processes.begin(every: .milliseconds(1)) { asked.increment() } }
    try await eventually { asked.value > 2 }
    processes.end()
    let between = asked.value
    try await eventually { asked.value > between }
    processes.end()
    _ = database
  }
}
