import Platform

/// The values that a process has derived from the schemas of databases, such as catalogues, by a digest of the content
/// that determines them. A migration reads the catalogue after each file, and a process may open many databases of one
/// schema.
///
/// - All functions may be called from any thread.
package final class SchemaCache: Sendable {
  /// The cache of each database whose configuration has no separate one.
  package static let shared = SchemaCache(limit: 64)

  /// The number of values that the cache has returned and computed.
  package struct Counts: Sendable, Hashable {
    /// The number of values that were found.
    package var hits = 0
    /// The number of values that were computed.
    package var misses = 0
  }

  private struct Key: Hashable {
    let type: ObjectIdentifier
    let content: SchemaDigest
  }

  private struct Entry {
    let value: any Sendable
    var lastUse: UInt64
  }

  private struct State {
    var entries: [Key: Entry] = [:]
    var clock: UInt64 = 0
    var counts = Counts()

    mutating func find(_ key: Key) -> (any Sendable)? {
      guard let place = entries.index(forKey: key) else {
        counts.misses += 1
        return nil
      }
      counts.hits += 1
      clock += 1
      entries.values[place].lastUse = clock
      return entries.values[place].value
    }

    mutating func keep(_ value: any Sendable, _ key: Key, limit: Int) {
      clock += 1
      entries[key] = Entry(value: value, lastUse: clock)
      guard entries.count > limit, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return }
      entries[oldest.key] = nil
    }
  }

  private let state = Locked(State())
  private let limit: Int

  /// - Parameter limit: the number of cached values. A further value evicts the least recently used one.
  package init(limit: Int) { self.limit = limit }

  /// The use of the cache since it was created.
  package var counts: Counts { state.withLock { $0.counts } }

  /// Returns the value of a type for a content, from the cache or from a closure.
  /// - Parameter make: computes the value from the content of the digest alone. An error is not cached.
  package func value<Value: Sendable>(for content: SchemaDigest, _ make: () throws -> Value) rethrows -> Value {
    let key = Key(type: ObjectIdentifier(Value.self), content: content)
    if let known = state.withLock({ $0.find(key) }) as? Value { return known }
    let value = try make()
    state.withLock { $0.keep(value, key, limit: limit) }
    return value
  }
}
