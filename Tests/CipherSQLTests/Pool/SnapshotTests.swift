import Testing

@testable import CipherSQL

/// A read sees one state; a write is done wholly or not at all.
@Suite(.timeLimit(.minutes(20))) struct SnapshotTests {
  private struct Refusal: Error {}

  private static let count: SQL = "SELECT count(*) FROM OfflineProject"

  private func addProject(_ db: WriteConnection, _ title: String) throws {
    try db.insert(Project(projectId: 0, title: title))
  }

  // MARK: Reading

  @Test("A read sees one state while a writer commits") func aReadSeesOneStateWhileAWriterCommits() throws {
    let vault = try TemporaryVault()
    let database = try vault.openHouse()
    try database.read { db in
      #expect(try db.fetchOne(Self.count, as: Int.self) == 2)
      try onAnotherThread { try database.write { try addProject($0, "Quay") } }
      // The commit was acknowledged, and this read still sees its own snapshot.
      #expect(try db.fetchOne(Self.count, as: Int.self) == 2)
      #expect(try db.fetchOne("SELECT title FROM OfflineProject WHERE title = 'Quay'", as: String.self) == nil)
    }
    #expect(try database.read { try $0.fetchOne(Self.count, as: Int.self) } == 3)
  }

  @Test("A read does not see an uncommitted write") func anOpenWriteIsNotSeen() throws {
    let vault = try TemporaryVault()
    let database = try vault.openHouse()
    try database.write { db in
      try addProject(db, "Quay")
      #expect(try db.fetchOne(Self.count, as: Int.self) == 3)
      try onAnotherThread { () throws in #expect(try database.read { try $0.fetchOne(Self.count, as: Int.self) } == 2) }
    }
  }

  @Test("A read transaction refuses writes") func aReadCannotWrite() throws {
    let vault = try TemporaryVault()
    let database = try vault.openHouse()
    let error = #expect(throws: SQLError.self) {
      try database.read { try $0.forEach("DELETE FROM OfflineLog") { _ in } }
    }
    #expect(error?.code == .readOnly)
    #expect(try database.read { try $0.fetchOne("SELECT count(*) FROM OfflineLog", as: Int.self) } == 4)
  }

  @Test("A read that throws ends its transaction") func aReadThatThrowsEndsItsTransaction() throws {
    let vault = try TemporaryVault()
    var configuration = Configuration()
    configuration.readerCount = 1
    let database = try vault.openHouse(configuration)
    #expect(throws: Refusal.self) {
      try database.read { db in
        _ = try db.fetchOne(Self.count, as: Int.self)
        throw Refusal()
      }
    }
    try database.write { try addProject($0, "Quay") }
    // The same connection, and no longer the old state.
    #expect(try database.read { try $0.fetchOne(Self.count, as: Int.self) } == 3)
  }

  // MARK: Nesting

  /// One call inside another, by the names of both.
  private func nested(
    _ database: Database, _ outer: String, _ inner: String, isAsynchronous: Bool
  ) async throws {
    @Sendable func innerCall() throws {
      if inner == "read" {
        _ = try database.read { try $0.fetchOne(Self.count, as: Int.self) }
      } else {
        try database.write { try addProject($0, "Dock") }
      }
    }
    switch (outer, isAsynchronous) {
    case ("read", true): try await database.read { _ in try innerCall() }
    case ("read", false): try synchronousResult { try database.read { _ in try innerCall() } }
    case (_, true):
      try await database.write { db throws in
        try addProject(db, "Quay")
        try innerCall()
      }
    case (_, false):
      try synchronousResult {
        try database.write { db throws in
          try addProject(db, "Quay")
          try innerCall()
        }
      }
    }
  }

  @Test(
    "A nested read or write is refused at once, on disk and in memory, in the synchronous and the asynchronous form",
    arguments: [("read", "read"), ("read", "write"), ("write", "read"), ("write", "write")], [false, true])
  func nestingIsRefused(_ names: (outer: String, inner: String), _ isAsynchronous: Bool) async throws {
    let vault = try TemporaryVault()
    let onDisk = try synchronousResult { try vault.openHouse() }
    for database in [onDisk, try synchronousResult { try Database.house() }] {
      let error = await #expect(throws: SQLError.self) {
        try await nested(database, names.outer, names.inner, isAsynchronous: isAsynchronous)
      }
      #expect(error?.code == .nestedAccess)
      #expect(
        error?.message == "a \(names.inner) inside a \(names.outer) of the same database could deadlock")
      #expect(error?.hint == "use the connection that the closure of the \(names.outer) receives")
      #expect(try await database.read { try $0.fetchOne(Self.count, as: Int.self) } == 2)
    }
  }

  private func synchronousResult<Result>(_ body: () throws -> Result) rethrows -> Result { try body() }

  @Test("Many threads that nest reads and writes against each other all return")
  func nestingNeverDeadlocks() async throws {
    let vault = try TemporaryVault()
    let database = try vault.openHouse()
    await withTaskGroup(of: Bool.self) { group in
      for number in 0..<32 {
        group.addTask {
          let names = number.isMultiple(of: 2) ? ("read", "write") : ("write", "read")
          do {
            try await nested(database, names.0, names.1, isAsynchronous: true)
            return false
          } catch {
            return (error as? SQLError)?.code == .nestedAccess
          }
        }
      }
      for await isRefused in group { #expect(isRefused) }
    }
  }

  @Test("A read of another database inside a write is allowed")
  func anotherDatabaseIsNoNesting() throws {
    let one = try Database.house()
    let other = try Database.house()
    let count = try one.write { _ in try other.read { try $0.fetchOne(Self.count, as: Int.self) } }
    #expect(count == 2)
  }

  // MARK: Writing

  @Test("A write that throws is rolled back", arguments: [true, false])
  func aWriteThatThrowsLeavesNoTrace(inMemory: Bool) throws {
    let vault = try TemporaryVault()
    let database = inMemory ? try Database.house() : try vault.openHouse()
    #expect(throws: Refusal.self) {
      try database.write { db in
        try addProject(db, "Quay")
        try db.execute("CREATE TABLE Extra (x INTEGER) STRICT")
        throw Refusal()
      }
    }
    #expect(try database.read { try $0.fetchOne(Self.count, as: Int.self) } == 2)
    #expect(
      try database.read { try $0.fetchOne("SELECT name FROM sqlite_schema WHERE name = 'Extra'", as: String.self) }
        == nil
    )
    try database.write { try addProject($0, "Quay") }
    #expect(try database.read { try $0.fetchOne(Self.count, as: Int.self) } == 3)
  }

  @Test("A failed statement undoes only itself") func aStatementThatFailsUndoesItselfOnly() throws {
    let database = try Database.house()
    try database.write { db in
      try addProject(db, "Quay")
      #expect(throws: SQLError.self) {
        // The second row is refused, so the first one goes too.
        try db.execute("INSERT INTO OfflineProject (projectId, uuid, title) VALUES (8, 'a', 'x'), (9, 'a', 'y')")
      }
    }
    #expect(try database.read { try $0.fetchOne(Self.count, as: Int.self) } == 3)
  }

  private func isRefused(_ body: () throws -> Void) throws -> Bool {
    do {
      try body()
      return false
    } catch is Refusal {
      return true
    }
  }

  @Test("A savepoint rolls back only its own part") func aSavepointRollsBackItsPartOnly() throws {
    let database = try Database.empty()
    try database.write { db in
      try addProject(db, "one")
      let isOuterRefused = try isRefused {
        try db.savepoint {
          try addProject(db, "two")
          try db.savepoint { try addProject(db, "three") }
          throw Refusal()
        }
      }
      #expect(isOuterRefused)
      try db.savepoint {
        try addProject(db, "four")
        let isInnerRefused = try isRefused {
          try db.savepoint {
            try addProject(db, "five")
            throw Refusal()
          }
        }
        #expect(isInnerRefused)
      }
      try addProject(db, "six")
    }
    let titles = try database.read {
      try $0.fetch("SELECT title FROM OfflineProject ORDER BY projectId", as: String.self)
    }
    #expect(titles == ["one", "four", "six"])
  }

  /// As a full or failing disk undoes all of a transaction: a savepoint behind that would begin another one and commit it.
  @Test("Statements after an implicit rollback store nothing") func nothingIsStoredBehindATransactionThatIsOver() throws
  {
    let database = try Database.empty()
    try database.write { try addProject($0, "first") }
    func code(_ body: () throws -> Void) throws -> SQLError.Code? {
      do {
        try body()
        return nil
      } catch let error as SQLError {
        return error.code
      }
    }
    var codes: [SQLError.Code?] = []
    let end = try code {
      try database.write { db in
        try addProject(db, "second")
        codes.append(
          try code { try db.execute("INSERT OR ROLLBACK INTO OfflineProject SELECT * FROM OfflineProject") })
        codes.append(try code { try db.savepoint { try addProject(db, "third") } })
      }
    }
    #expect(codes == [.constraint, .misuse] && end == .misuse)
    let titles = try database.read { try $0.fetch("SELECT title FROM OfflineProject", as: String.self) }
    #expect(titles == ["first"])
  }

  @Test("An error at the commit rolls back the transaction", arguments: [true, false])
  func anErrorAtTheCommitLeavesNothing(inMemory: Bool) throws {
    let vault = try TemporaryVault()
    let database = inMemory ? try Database.inMemory() : try vault.open()
    try database.write { db in
      try db.execute("CREATE TABLE Parent (id INTEGER PRIMARY KEY) STRICT")
      try db.execute(
        "CREATE TABLE Child (parent INTEGER NOT NULL REFERENCES Parent DEFERRABLE INITIALLY DEFERRED) STRICT")
    }
    var hasReturned = false
    let error = #expect(throws: SQLError.self) {
      try database.write { db in
        try db.execute("INSERT INTO Parent VALUES (1)")
        try db.execute("INSERT INTO Child VALUES (7)")
        hasReturned = true
      }
    }
    #expect(hasReturned)
    #expect(error?.code == .constraint)
    #expect(error?.constraint == .foreignKey)
    #expect(try database.read { try $0.fetchOne("SELECT count(*) FROM Parent", as: Int.self) } == 0)
    try database.write { db in
      try db.execute("INSERT INTO Child VALUES (7)")
      try db.execute("INSERT INTO Parent VALUES (7)")
    }
    #expect(try database.read { try $0.fetchOne("SELECT count(*) FROM Child", as: Int.self) } == 1)
  }

  @Test("A body cannot end its transaction")
  func aBodyCannotEndTheTransaction() throws {
    let database = try Database.house()
    let error = #expect(throws: SQLError.self) { try database.write { try $0.execute("COMMIT") } }
    #expect(error?.code == .notAllowed)
    try database.write { try addProject($0, "Quay") }
    #expect(try database.read { try $0.fetchOne(Self.count, as: Int.self) } == 3)
  }
}
