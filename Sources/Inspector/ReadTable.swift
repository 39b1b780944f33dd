/// The reads of pages that take long: it decides which of them go on, and when one is forgotten.
///
/// A value without clock: each event comes with its time. A key is the page that a read is for.
struct ReadTable<Key: Hashable & Sendable, Read: AnyObject & Sendable>: Sendable {
  struct Limits: Sendable {
    /// The greatest number of reads that run at a time.
    var running = 2
    /// The greatest number of entries, which bounds the memory of the results.
    var entries = 4
    /// The time after which an entry is forgotten that no page asks for.
    var time = Duration.seconds(120)
  }

  /// The knowledge about a page.
  enum Standing {
    case read(Read, id: Int)
    /// The read was ended for a newer one.
    case displaced
  }

  private struct Entry: Sendable {
    let id: Int
    let key: Key
    /// `nil` if the read was displaced.
    var read: Read?
    var askedAt: ContinuousClock.Instant
  }

  let limits: Limits
  private var entries: [Entry] = []
  private var lastId = 0

  init(_ limits: Limits = Limits()) { self.limits = limits }

  var isEmpty: Bool { entries.isEmpty }
  /// All reads, running or not.
  var reads: [Read] { entries.compactMap(\.read) }

  /// A page is requested. The news of a displaced read is told once.
  mutating func ask(_ key: Key, at now: ContinuousClock.Instant) -> Standing? {
    guard let index = entries.firstIndex(where: { $0.key == key }) else { return nil }
    guard let read = entries[index].read else {
      entries.remove(at: index)
      return .displaced
    }
    entries[index].askedAt = now
    return .read(read, id: entries[index].id)
  }

  /// Adds a read that takes long. Without room for it, the reads whose pages were requested least recently end.
  /// - Returns: the id of the entry, and the reads to end.
  mutating func add(
    _ read: Read, for key: Key, at now: ContinuousClock.Instant, isRunning: (Read) -> Bool
  ) -> (id: Int, ended: [Read]) {
    lastId += 1
    var ended: [Read] = []
    entries.sort { $0.askedAt < $1.askedAt }
    entries.append(Entry(id: lastId, key: key, read: read, askedAt: now))
    var running = entries.indices.filter { entries[$0].read.map(isRunning) ?? false }
    while running.count > limits.running {
      let index = running.removeFirst()
      if let read = entries[index].read { ended.append(read) }
      entries[index].read = nil
    }
    while entries.count > limits.entries {
      if let read = entries.removeFirst().read { ended.append(read) }
    }
    return (lastId, ended)
  }

  /// Removes an entry.
  /// - Returns: `nil` if it was removed before.
  mutating func remove(_ id: Int) -> (key: Key, read: Read?)? {
    guard let index = entries.firstIndex(where: { $0.id == id }) else { return nil }
    let entry = entries.remove(at: index)
    return (entry.key, entry.read)
  }

  /// Removes the entries that no page has asked for lately.
  /// - Returns: their reads, which may still run.
  mutating func expire(at now: ContinuousClock.Instant) -> [Read] {
    let old = entries.filter { now - $0.askedAt >= limits.time }
    entries.removeAll { now - $0.askedAt >= limits.time }
    return old.compactMap(\.read)
  }

  /// Removes all entries.
  mutating func clear() -> [Read] {
    defer { entries = [] }
    return reads
  }
}
