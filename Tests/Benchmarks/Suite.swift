import BenchmarkFloor
import CipherSQL
import Foundation
import TestSupport

/// Both sides, their files and their work.
final class Suite {
  let cacheMiB = 64
  let rowCount = 100_000
  private let key: [UInt8] = (0..<32).map { UInt8($0 * 7 + 1) }
  private let folder: String
  private let typed: Database
  private let floor: Floor
  private let readings: [Reading]
  private let floorReadings: [floor_reading]
  private let stored: [Reading]
  private var sink = 0.0

  init(folder: String) throws {
    self.folder = folder
    var configuration = Configuration()
    configuration.pageCacheBytes = cacheMiB << 20
    configuration.writerPageCacheBytes = configuration.pageCacheBytes
    let plain = try Self.plainKey(key)
    typed = try Database(path: folder + "/typed.db", key: plain, configuration: configuration)
    try Migrator(schemas: [BenchmarkSchema.schema]).apply(to: typed)
    let copy = try Database(path: folder + "/floor.db", key: plain, configuration: configuration)
    try Migrator(schemas: [BenchmarkSchema.schema]).apply(to: copy)
    copy.close()
    floor = try Floor(path: folder + "/floor.db", key: key, cacheKiB: cacheMiB << 10)
    readings = Self.readings(rowCount)
    floorReadings = floor.converted(readings)
    stored = readings.enumerated().map { index, reading in
      var copy = reading
      copy.readingId = Int64(index + 1)
      return copy
    }
  }

  static func plainKey(_ bytes: [UInt8]) throws -> PlainKey {
    guard let key = PlainKey(bytes) else { throw Floor.Failure(description: "the key has 32 bytes") }
    return key
  }

  /// Readings of 50 projects in the order of time.
  private static func readings(_ count: Int) -> [Reading] {
    var generator = Seeded(2013)
    let start = Date(timeIntervalSince1970: 1_357_020_000)
    var readings: [Reading] = []
    readings.reserveCapacity(count)
    for index in 0..<count {
      let humidity = Double(generator.next() % 10_000) / 100
      let temperature = Double(generator.next() % 9_000) / 100
      let dewPoint = Double(generator.next() % 7_000) / 100
      let updated = Double(generator.next() % 1_000_000)
      readings.append(
        Reading(
          uuid: .version7(), projectId: Int64(index % 50 + 1), date: start.addingTimeInterval(Double(index) * 60),
          relativeHumidity: humidity, temperature: temperature, dewPoint: index % 4 == 0 ? nil : dewPoint,
          note: index % 3 == 0 ? "behind baseboard number \(index % 17)" : nil,
          createdAt: start.addingTimeInterval(Double(index)), updatedAt: start.addingTimeInterval(updated)))
    }
    return readings
  }

  var benchmarks: [Benchmark] {
    [
      Benchmark(
        name: "100,000 inserts in one transaction", limit: 1.2,
        typed: { [self] in try insertAll() },
        floor: { [self] in try floor.check(floor_insert_all(floor.handle, floorReadings, Int32(rowCount))) },
        prepare: { [self] in try empty() }),
      Benchmark(
        name: "2,000 durable transactions of one insert", limit: 1.15,
        typed: { [self] in try insertDurably() },
        floor: { [self] in try floor.check(floor_insert_durably(floor.handle, floorReadings, 2000)) },
        prepare: { [self] in try empty() }),
      Benchmark(
        name: "100,000 rows into structs with UUIDs and dates", limit: 1.5,
        typed: { [self] in try fetchAll() },
        floor: { [self] in
          var count: Int32 = 0
          try floor.check(floor_fetch_all(floor.handle, &count, &sink))
        },
        prepare: { [self] in try fill() }),
      Benchmark(
        name: "50,000 look-ups by uuid", limit: 1.25,
        typed: { [self] in try lookUpAll() },
        floor: { [self] in
          try floorUUIDs.withUnsafeBufferPointer { uuids in
            try floor.check(floor_look_up(floor.handle, uuids.baseAddress, Int32(uuids.count), &sink))
          }
        },
        prepare: { [self] in try fill() }),
      Benchmark(
        name: "20,000 updates of 4 columns by id", limit: 1.2,
        typed: { [self] in try updateAll() },
        floor: { [self] in
          try floor.check(floor_update(floor.handle, identifiers, Int32(identifiers.count), 1_400_000_000))
        },
        prepare: { [self] in try fill() }),
      Benchmark(
        name: "2,000 pages of 50 of a project, newest first", limit: 1.15,
        typed: { [self] in try fetchPages() },
        floor: { [self] in
          try floor.check(floor_pages(floor.handle, projects, Int32(projects.count), &sink))
        },
        prepare: { [self] in try fill() }),
    ]
  }

  // MARK: The typed side

  private func insertAll() throws {
    try typed.write { db in try db.insert(contentsOf: readings) }
  }

  private func insertDurably() throws {
    for reading in readings[..<2000] {
      _ = try typed.write { db in try db.insert(reading) }
    }
  }

  private func fetchAll() throws {
    let found = try typed.read { db in try Reading.all.fetch(db) }
    sink += Self.sum(found)
  }

  private func lookUpAll() throws {
    sink += try typed.read { db -> Double in
      var sum = 0.0
      for index in lookups { sum += try Reading.fetch(db, uuid: stored[index].uuid)?.temperature ?? 0 }
      return sum
    }
  }

  private func updateAll() throws {
    let base = Date(timeIntervalSince1970: 1_400_000_000)
    try typed.write { db in
      for (index, id) in identifiers.enumerated() {
        try BenchmarkQueries.change(
          db, relativeHumidity: Double(index % 100), temperature: 70.5, note: "seen again",
          date: base.addingTimeInterval(Double(index)), readingId: id)
      }
    }
  }

  private func fetchPages() throws {
    sink += try typed.read { db -> Double in
      var sum = 0.0
      for project in projects {
        let page = try Reading.where { $0.projectId == project }.order { $0.updatedAt.descending }.limit(50).fetch(db)
        sum += Self.sum(page)
      }
      return sum
    }
  }

  private static func sum(_ readings: [Reading]) -> Double {
    var sum = 0.0
    for reading in readings { sum += reading.temperature }
    return sum
  }

  // MARK: What is looked for

  private lazy var lookups: [Int] = {
    var generator = Seeded(7)
    return (0..<50_000).map { _ in Int(generator.next() % UInt64(rowCount)) }
  }()
  private lazy var floorUUIDs = lookups.map { stored[$0].uuid.uuid }
  private lazy var identifiers: [Int64] = {
    var generator = Seeded(11)
    return (0..<20_000).map { _ in Int64(generator.next() % UInt64(rowCount)) + 1 }
  }()
  private lazy var projects: [Int64] = (0..<2_000).map { Int64($0 % 50 + 1) }

  // MARK: State

  private var isFull = false

  private func empty() throws {
    try typed.write { _ = try $0.execute("DELETE FROM reading") }
    try floor.check(floor_execute(floor.handle, "DELETE FROM reading"))
    try typed.withWriter { _ = try $0.checkpoint() }
    try floor.check(floor_execute(floor.handle, "PRAGMA wal_checkpoint(TRUNCATE)"))
    isFull = false
  }

  private func fill() throws {
    guard !isFull else { return }
    try empty()
    try typed.write { try $0.insert(contentsOf: stored) }
    let copies = floor.converted(stored)
    try floor.check(floor_insert_all(floor.handle, copies, Int32(rowCount)))
    try typed.withWriter { _ = try $0.checkpoint() }
    try floor.check(floor_execute(floor.handle, "PRAGMA wal_checkpoint(TRUNCATE)"))
    isFull = true
  }

  // MARK: Readers

  struct Scaling {
    let name: String
    let factor: Double
    let floorFactor: Double
    /// On a machine whose cores are busy with something else, C itself does not scale; then no less than C counts.
    var holds: Bool { factor > 1.6 || floorFactor < 1.65 && factor > 0.95 * floorFactor }
  }

  /// How many more look-ups two readers do than one in the same time.
  func readerScaling(rounds: Int) throws -> [Scaling] {
    try fill()
    return try [("cached", 64 << 20), ("decrypted each time", 1 << 20)].map { name, bytes in
      var configuration = Configuration()
      configuration.pageCacheBytes = bytes
      configuration.readerCount = 2
      let database = try Database(path: folder + "/typed.db", key: try Self.plainKey(key), configuration: configuration)
      let floors = try (0..<2).map { _ in
        try Floor(path: folder + "/floor.db", key: key, cacheKiB: bytes >> 10, isReader: true)
      }
      var factors: [Double] = []
      var floorFactors: [Double] = []
      for round in 0...rounds {
        let one = try rate(1) { _ in try self.lookUp(in: database) }
        let two = try rate(2) { _ in try self.lookUp(in: database) }
        let floorOne = try rate(1) { try self.lookUp(in: floors[$0]) }
        let floorTwo = try rate(2) { try self.lookUp(in: floors[$0]) }
        if round > 0 {
          factors.append(two / one)
          floorFactors.append(floorTwo / floorOne)
        }
      }
      database.close()
      return Scaling(name: name, factor: median(factors), floorFactor: median(floorFactors))
    }
  }

  private func lookUp(in database: Database) throws {
    _ = try database.read { db in
      var sum = 0.0
      for index in lookups[..<20_000] { sum += try Reading.fetch(db, uuid: stored[index].uuid)?.temperature ?? 0 }
      return sum
    }
  }

  private func lookUp(in floor: Floor) throws {
    var sum = 0.0
    try floorUUIDs.withUnsafeBufferPointer {
      try floor.check(floor_look_up(floor.handle, $0.baseAddress, 20_000, &sum))
    }
  }

  /// Look-ups a second of some threads together.
  private func rate(_ threads: Int, _ body: @escaping (Int) throws -> Void) throws -> Double {
    _ = (lookups, floorUUIDs)
    // The threads only read shared data, and each uses a connection of its own.
    nonisolated(unsafe) let work = body
    let failures = Failures()
    let clock = ContinuousClock()
    let start = clock.now
    DispatchQueue.concurrentPerform(iterations: threads) { index in
      do { try work(index) } catch { failures.add(error) }
    }
    let duration = clock.now - start
    if let error = failures.first { throw error }
    let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    return Double(threads * 20_000) / seconds
  }
}

/// Failures of several threads.
final class Failures: Sendable {
  private let lock = NSLock()
  private nonisolated(unsafe) var errors: [any Error] = []

  func add(_ error: any Error) { lock.withLock { errors.append(error) } }
  var first: (any Error)? { lock.withLock { errors.first } }
}
