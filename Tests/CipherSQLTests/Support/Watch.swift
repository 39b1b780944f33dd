import Testing

@testable import CipherSQL

/// Takes the values of an observation in a task of its own.
struct Watch<Value: Sendable & Equatable> {
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

/// The titles of the rooms of a house.
let roomTitles: @Sendable (Connection) throws -> [String] = { db in
  try db.fetch("SELECT title FROM OfflineRoom ORDER BY roomId", as: String.self)
}

/// Whether a change would make an observer run its query again.
func wakes(_ database: Database, query: SQL, _ change: (WriteConnection) throws -> Void) throws -> Bool {
  let reads = try database.read { db in
    db.observedReads = AccessedRegion()
    defer { db.observedReads = nil }
    try db.forEach(query) { _ in }
    return try #require(db.observedReads).reads
  }
  let wakeUps = Notes<Bool>()
  let registration = database.hub.add { region, virtualTables in
    wakeUps.add(region?.touches(reads, isVirtual: virtualTables.contains) ?? false)
  }
  defer { database.hub.remove(registration) }
  try database.write(change)
  return wakeUps.all.contains(true)
}
