import Foundation
import Testing

@testable import CipherSQL

/// The write-ahead log does not grow without end.
@Suite(.timeLimit(.minutes(20))) struct CheckpointTests {
  private func logBytes(_ vault: TemporaryVault) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: vault.path + "-wal")
    return try #require(attributes[.size] as? Int)
  }

  private func openBlocks(_ vault: TemporaryVault) throws -> Database {
    var configuration = Configuration()
    configuration.walLimitBytes = 1 << 20
    let database = try vault.open(configuration)
    try database.write { try $0.execute("CREATE TABLE Block (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT") }
    return database
  }

  /// One mebibyte in one transaction.
  private func addBlocks(_ db: WriteConnection) throws {
    for _ in 0..<16 { try db.execute("INSERT INTO Block (bytes) VALUES (randomblob(65536))") }
  }

  /// Two threads that read so that at each moment at least one of them holds a snapshot: each ends its read only
  /// when the other one has begun its next.
  private final class Relay: Sendable {
    private let turns = [DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)]
    private let ends = DispatchSemaphore(value: 0)
    private let stop = Counter()
    let reads = Counter()
    let failures = Notes<String>()

    init(_ database: Database) {
      for me in 0...1 {
        Thread { [self] in
          if me == 1 { turns[1].wait() }
          do {
            while stop.value == 0 { try pass(database, from: me) }
          } catch {
            failures.add("\(error)")
          }
          // The other one may be waiting for the next read, which does not come.
          turns[1 - me].signal()
          ends.signal()
        }.start()
      }
    }

    private func pass(_ database: Database, from me: Int) throws {
      try database.read { db in
        _ = try db.fetchOne("SELECT max(id) FROM Block", as: Int?.self)
        reads.increment()
        turns[1 - me].signal()
        turns[me].wait()
      }
    }

    func finish() {
      stop.increment()
      for _ in 0...1 { ends.wait() }
    }
  }

  /// Checkpoints begin at 4 MiB. One that a reader delays too long is tried again when the log is half as long
  /// again, so 20 MiB leave room for three that fail on a loaded machine. Without any that starts the log anew it
  /// would reach 50 MiB.
  @Test("The log stays below 20 MiB while readers overlap") func theLogStaysShortWhileReadersOverlap() throws {
    let vault = try TemporaryVault()
    let database = try openBlocks(vault)
    let relay = Relay(database)
    var longest = 0
    for _ in 0..<50 {
      try database.write(addBlocks)
      longest = max(longest, try logBytes(vault))
    }
    relay.finish()
    #expect(relay.failures.all == [])
    #expect(relay.reads.value > 2)
    print("CheckpointTests: longest log \(longest >> 10) KiB, \(relay.reads.value) reads")
    #expect(longest < 20 << 20)
    #expect(try database.read { try $0.fetchOne("SELECT count(*) FROM Block", as: Int.self) } == 800)
  }

  @Test("The log stays below 6 MiB without readers") func theLogStaysShortWithoutReaders() throws {
    let vault = try TemporaryVault()
    let database = try openBlocks(vault)
    for _ in 0..<12 {
      try database.write(addBlocks)
      #expect(try logBytes(vault) < 6 << 20)
    }
  }

  /// While one read lasts, no checkpoint can start the log anew; the first commit behind it can.
  @Test("A long read delays the checkpoint until the read ends") func aLongReadDelaysButDoesNotStopIt() throws {
    let vault = try TemporaryVault()
    let database = try openBlocks(vault)
    try database.write(addBlocks)
    try database.read { db in
      #expect(try db.fetchOne("SELECT count(*) FROM Block", as: Int.self) == 16)
      try onAnotherThread { for _ in 0..<6 { try database.write(addBlocks) } }
      #expect(try logBytes(vault) > 6 << 20)
      #expect(try db.fetchOne("SELECT count(*) FROM Block", as: Int.self) == 16)
    }
    // Up to half as much again may be written before the next try.
    for _ in 0..<6 { try database.write(addBlocks) }
    #expect(try logBytes(vault) < 6 << 20)
    #expect(try database.read { try $0.fetchOne("SELECT count(*) FROM Block", as: Int.self) } == 16 * 13)
  }

  @Test("A manual checkpoint empties the log") func aCheckpointByHandEmptiesTheLog() throws {
    let vault = try TemporaryVault()
    let database = try openBlocks(vault)
    try database.write(addBlocks)
    #expect(try logBytes(vault) > 1 << 20)
    #expect(try database.withWriter { try $0.checkpoint() })
    #expect(try logBytes(vault) == 0)
  }

  @Test("A manual checkpoint reports a reader that prevents the truncation")
  func aCheckpointByHandSaysThatAReaderWasInTheWay() throws {
    let vault = try TemporaryVault()
    var configuration = Configuration()
    configuration.busyTimeout = .milliseconds(1)
    let database = try vault.openHouse(configuration)
    try database.read { db in
      #expect(try db.fetchOne("SELECT count(*) FROM OfflineLog", as: Int.self) == 4)
      try onAnotherThread { () throws in
        try database.write { try $0.execute("DELETE FROM OfflineLog") }
        #expect(try !database.withWriter { try $0.checkpoint() })
      }
      #expect(try db.fetchOne("SELECT count(*) FROM OfflineLog", as: Int.self) == 4)
    }
    #expect(try database.withWriter { try $0.checkpoint() })
  }
}
