import CSQLCipher
import CipherSQL
import Platform
import SimulatedDisk
import TestSupport
import Testing

/// SQLCipher on a disk that crashes and fails.
@Suite(.enabled(if: simulated_disk_is_available() != 0)) struct SimulatedDiskTests {
  /// Writes numbered rows in transactions of random size until an operation fails, and counts the acknowledged ones.
  private struct Writer {
    var acknowledged = 0
    private var random: Seeded

    init(_ random: Seeded) { self.random = random }

    mutating func create(on machine: Machine) throws {
      try machine.start().write { db in
        try db.execute("CREATE TABLE IF NOT EXISTS reading (number INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT")
      }
    }

    mutating func write(_ transactions: Int, on database: Database) throws {
      for _ in 0..<transactions {
        let end = acknowledged + random.number(1..<8)
        let length = random.number(1..<3_000)
        try database.write { db in
          for number in acknowledged..<end {
            try db.execute("INSERT INTO reading VALUES (\(number), \(String(repeating: "moist ", count: length / 6)))")
          }
        }
        acknowledged = end
      }
    }

    /// Continues from the rows that a crash has left: all acknowledged ones, and perhaps a whole transaction more.
    mutating func check(_ database: Database, _ seed: UInt64) throws {
      let (numbers, problem) = try database.read { db in
        (
          try db.fetch("SELECT number FROM reading ORDER BY number", as: Int.self),
          try db.fetchOne("SELECT integrity_check FROM pragma_integrity_check", as: String.self)
        )
      }
      #expect(problem == "ok", "seed \(seed)")
      #expect(numbers == Array(0..<numbers.count), "seed \(seed)")
      #expect(numbers.count >= acknowledged, "seed \(seed): \(numbers.count) of \(acknowledged) acknowledged rows")
      acknowledged = numbers.count
    }
  }

  @Test("A watched text is noticed across two writes and after its file is removed") func watchedText() throws {
    let machine = try Machine(seed: 1)
    let text = "readable"
    simulated_disk_watch(machine.disk, text, Int64(text.utf8.count))
    let path = machine.path + ".txt"
    let file = try OpenFile(creating: path)
    try file.write(Array("some read".utf8))
    #expect(simulated_disk_exposed_path(machine.disk) == nil)
    try file.write(Array("able text".utf8))
    try Files.removeTree(path)
    #expect(simulated_disk_exposed_path(machine.disk).map { String(cString: $0) } == path)
  }

  @Test("Acknowledged commits survive power cuts at any operation") func powerCuts() throws {
    let first = freshSeed()
    for seed in first..<first + 60 {
      var random = Seeded(seed)
      let machine = try Machine(seed: seed)
      var writer = Writer(Seeded(seed, "rows", 0))
      try writer.create(on: machine)
      for _ in 0..<3 {
        machine.fail(everyOperation, after: random.number(0..<400), simulated_power_cut)
        do {
          let database = try #require(machine.database)
          try writer.write(random.number(1..<40), on: database)
        } catch {
          #expect(machine.hasFailed, "seed \(seed): \(error)")
        }
        try writer.check(machine.crash(), seed)
      }
    }
  }

  @Test("A failed operation or a full disk loses no acknowledged commit") func faults() throws {
    let first = freshSeed()
    for seed in first..<first + 40 {
      var random = Seeded(seed)
      let machine = try Machine(seed: seed)
      var writer = Writer(Seeded(seed, "rows", 0))
      try writer.create(on: machine)
      for _ in 0..<6 {
        let fault = random.pick([simulated_io_error, simulated_full])
        machine.fail(
          random.pick([everyOperation, [simulated_write], [simulated_sync]]), after: random.number(0..<60), fault)
        do {
          let database = try #require(machine.database)
          try writer.write(4, on: database)
        } catch {
          #expect(machine.hasFailed, "seed \(seed): \(error)")
        }
        simulated_disk_heal(machine.disk)
        if random.chance(0.5) {
          // The program goes on after the error.
          try writer.check(try #require(machine.database), seed)
        } else {
          machine.database?.close()
          try writer.check(machine.start(), seed)
        }
      }
    }
  }

  @Test("A commit without a sync is lost by some crash, so the disk does lose writes") func unsyncedWrites() throws {
    let first = freshSeed()
    var (lost, kept) = (0, 0)
    // A commit of several writes survives seldom.
    for seed in first..<first + 400 where lost == 0 || kept == 0 {
      let disk = try #require(simulated_disk_create("unsynced", seed))
      defer { simulated_disk_destroy(disk) }
      func open() throws -> OpaquePointer {
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        #expect(sqlite3_open_v2("/simulated/unsynced/plain.db", &handle, flags, nil) == SQLITE_OK)
        return try #require(handle)
      }
      let database = try open()
      let setup =
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; CREATE TABLE t (a); PRAGMA wal_checkpoint(TRUNCATE)"
      #expect(sqlite3_exec(database, setup, nil, nil, nil) == SQLITE_OK)
      #expect(sqlite3_exec(database, "INSERT INTO t VALUES (1)", nil, nil, nil) == SQLITE_OK)
      simulated_disk_cut(disk)
      sqlite3_close_v2(database)
      #expect(simulated_disk_restart(disk) == 0)
      let again = try open()
      defer { sqlite3_close_v2(again) }
      var count = 0
      let result = sqlite3_exec(
        again, "SELECT 1 FROM t",
        { count, _, _, _ in
          count?.assumingMemoryBound(to: Int.self).pointee += 1
          return 0
        }, &count, nil)
      if result == SQLITE_OK, count > 0 { kept += 1 } else { lost += 1 }
    }
    #expect(lost > 0 && kept > 0, "\(lost) lost, \(kept) kept")
  }

  @Test("Equal seeds give equal operations and equal crashes") func equalSeeds() throws {
    let seed = freshSeed()
    func run() throws -> [UInt64] {
      let machine = try Machine(seed: seed)
      var writer = Writer(Seeded(seed, "rows", 0))
      try writer.create(on: machine)
      var trace: [UInt64] = []
      for round in 0..<5 {
        machine.fail(everyOperation, after: 70 + 13 * round, simulated_power_cut)
        _ = try? writer.write(30, on: try #require(machine.database))
        try writer.check(machine.crash(), seed)
        trace.append(UInt64(writer.acknowledged))
        for kind in everyOperation { trace.append(machine.count([kind])) }
        trace.append(UInt64(bitPattern: simulated_disk_size(machine.path)))
      }
      return trace
    }
    #expect(try run() == run())
  }

  @Test("Readers keep their snapshot while a writer commits and checkpoints") func snapshots() throws {
    let machine = try Machine(seed: 1, readers: 2)
    var writer = Writer(Seeded(1))
    try writer.create(on: machine)
    let database = try #require(machine.database)
    try writer.write(100, on: database)
    let rows = writer.acknowledged
    let size = simulated_disk_size(machine.path)
    // Another program with the vault: a nested write of one database is refused.
    let other = try machine.open()
    defer { other.close() }
    let counts = try database.read { db in
      let before = try db.fetchOne("SELECT count(*) FROM reading", as: Int.self)
      try writer.write(600, on: other)
      return [before, try db.fetchOne("SELECT count(*) FROM reading", as: Int.self)]
    }
    #expect(simulated_disk_size(machine.path) > size, "no checkpoint ran")
    #expect(counts == [rows, rows])
    #expect(try database.read { try $0.fetchOne("SELECT count(*) FROM reading", as: Int.self) } == writer.acknowledged)
  }

  @Test("The encrypted database leaves no plaintext on the disk") func plaintext() throws {
    let machine = try Machine(seed: 2)
    var writer = Writer(Seeded(2))
    try writer.create(on: machine)
    try writer.write(20, on: try #require(machine.database))
    for text in ["moist moist", "CREATE TABLE", "SQLite format 3"] {
      #expect(simulated_disk_contains(machine.disk, text, Int64(text.utf8.count)) == 0, "\(text)")
    }
    #expect(simulated_disk_size(machine.path) > 0)
  }

  @Test("A name that was removed and given to another file stays after the sync of its folder")
  func renamedOverRemoved() throws {
    for seed in UInt64(1)...20 {
      let machine = try Machine(seed: seed)
      let root = Files.parent(of: machine.path)
      for folder in ["accounts", "absent", "accounts/one"] { try Files.makeFolder("\(root)/\(folder)") }
      for folder in ["", "/accounts"] { try Files.syncFolder(root + folder) }
      try Files.removeTree(root + "/accounts/one")
      try Files.rename(root + "/absent", to: root + "/accounts/one")
      // The rename becomes durable with the first folder, and must not be undone by the removal of the second one.
      for folder in ["", "/accounts"] { try Files.syncFolder(root + folder) }
      simulated_disk_cut(machine.disk)
      #expect(simulated_disk_restart(machine.disk) == 0)
      #expect(try Files.names(in: root + "/accounts") == ["one"], "seed \(seed)")
    }
  }
}
