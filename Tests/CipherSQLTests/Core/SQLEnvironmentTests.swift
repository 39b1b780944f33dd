import Foundation
import Platform
import TestSupport
import Testing

@testable import CipherSQL

/// A database with a clock and a random source of its own.
@Suite struct SQLEnvironmentTests {
  /// A clock that a test sets, and random bytes that count up.
  private final class World: Sendable {
    let time = Locked<Int64>(1_700_000_000_123)
    let next = Locked<UInt8>(0)

    var environment: Environment {
      Environment(
        clock: Clock(now: { self.time.withLock { $0 } }, instant: { ContinuousClock.now }, sleepUntil: { _ in }),
        random: RandomSource { buffer in
          self.next.withLock { next in
            for index in buffer.indices {
              next &+= 1
              buffer[index] = next
            }
          }
        })
    }

    var configuration: Configuration {
      var configuration = Configuration()
      configuration.environment = environment
      return configuration
    }
  }

  private static let schema: SQL = """
    CREATE TABLE note (
      noteId INTEGER PRIMARY KEY, text TEXT NOT NULL, token BLOB DEFAULT (randomblob(4)), number INTEGER DEFAULT (random()),
      createdAt TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')), seconds INTEGER DEFAULT (unixepoch()),
      touchedAt TEXT, mark TEXT)
    """
  private static let trigger: SQL = """
    CREATE TRIGGER touch AFTER UPDATE OF text ON note BEGIN
      UPDATE note SET touchedAt = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), mark = hex(randomblob(2)) WHERE noteId = NEW.noteId;
    END
    """

  private func rows(_ database: Database) throws -> [String] {
    try database.read { db in
      try db.fetch(
        """
        SELECT hex(token) || ' ' || number || ' ' || createdAt || ' ' || seconds || ' ' || coalesce(touchedAt, '-') || ' '
          || coalesce(mark, '-') FROM note ORDER BY noteId
        """, as: String.self)
    }
  }

  private func work(_ database: Database, _ world: World) throws {
    try database.write { db in
      try db.execute(Self.schema)
      try db.execute(Self.trigger)
      try db.execute("INSERT INTO note (text) VALUES ('a')")
    }
    world.time.withLock { $0 += 60_000 }
    try database.write { try $0.execute("UPDATE note SET text = 'b'") }
  }

  @Test("Column defaults and triggers take the time and the random values of the database's environment")
  func defaultsAndTriggers() throws {
    let world = World()
    let database = try Database.inMemory(configuration: world.configuration)
    try work(database, world)
    #expect(
      try rows(database) == [
        "01020304 867798387104613893 2023-11-14T22:13:20.123Z 1700000000 2023-11-14T22:14:20.123Z 0D0E"
      ])
  }

  @Test("Two encrypted files in one process have clocks of their own, on every connection")
  func clocksPerFile() throws {
    let folder = try TemporaryFolder()
    let worlds = [World(), World()]
    worlds[1].time.withLock { $0 = 86_400_000 }
    let databases = try worlds.enumerated().map { index, world in
      try Database(
        path: folder.file("\(index).db"), key: PlainKey.random(), configuration: world.configuration)
    }
    defer { for database in databases { database.close() } }
    func times(_ sql: SQL) throws -> [String] {
      try databases.map { database in try database.read { try $0.fetchOne(sql, as: String.self) ?? "" } }
    }
    #expect(
      try times("SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')") == [
        "2023-11-14 22:13:20.123", "1970-01-02 00:00:00.000",
      ])
    for (database, world) in zip(databases, worlds) { try work(database, world) }
    #expect(try times("SELECT touchedAt FROM note") == ["2023-11-14T22:14:20.123Z", "1970-01-02T00:01:00.000Z"])
    let plain = try Database.inMemory()
    let now = try plain.read { try $0.fetchOne("SELECT unixepoch()", as: Int64.self) ?? 0 }
    #expect(abs(now - Int64(Date().timeIntervalSince1970)) < 60)
  }

  @Test("Equal environments give equal rows")
  func repeatable() throws {
    let found = try (0..<2).map { _ in
      let world = World()
      let database = try Database.inMemory(configuration: world.configuration)
      try work(database, world)
      return try rows(database)
    }
    #expect(found[0] == found[1])
  }

  @Test("randomblob() without a length returns one byte, and refuses too large a length")
  func lengths() throws {
    let database = try Database.inMemory(configuration: World().configuration)
    #expect(
      try database.read {
        try $0.fetch("SELECT length(randomblob(0)) UNION ALL SELECT length(randomblob(-5))", as: Int.self)
      }
        == [1, 1])
    let error = #expect(throws: SQLError.self) {
      _ = try database.read { try $0.fetchOne("SELECT randomblob(9223372036854775807)", as: [UInt8].self) }
    }
    #expect(error?.code == .tooBig)
  }
}
