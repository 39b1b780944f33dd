import TestSupport
import Testing

@testable import CipherSQL

/// An observer also hears of changes that no hook of SQLite reports.
@Suite(.timeLimit(.minutes(20))) struct UnreportedChangesTests {
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
    var watch = Watch(database, roomTitles)
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
    var watch = Watch(database, roomTitles)
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
    let processes = DataVersionMonitor()
    for _ in 0..<2 { processes.begin(every: .milliseconds(1)) { asked.increment() } }
    try await eventually { asked.value > 2 }
    processes.end()
    let between = asked.value
    try await eventually { asked.value > between }
    processes.end()
    _ = database
  }
}
