/// Fetches the records that others refer to, for many at once: one statement per 500 different keys and none per
/// record.
///
/// ```swift
/// for (log, room) in try logs.with(Log.room, db) { print(log.text, room?.title ?? "no room") }
/// for (project, rooms) in try projects.with(Project.rooms, db, { $0.order { $0.title.ascending } }) { ... }
/// ```
extension Sequence where Element: Record {
  /// Each record with the one that it refers to; nil where the reference is NULL, or its target is gone or marked
  /// as deleted.
  /// - Parameter refine: narrows the fetched records down, or takes deleted ones too.
  /// - Throws: as ``Query/fetch(_:)``; ``SQLError`` with `misuse` when `refine` sets a limit.
  public func with<Target: Record, Key: SQLValue & Hashable>(
    _ relation: ToOne<Element, Target, Key>, _ connection: Connection,
    _ refine: (Query<Target>) -> Query<Target> = { $0 }
  ) throws -> [(Element, Target?)] {
    let targets = try connection.load(relation, of: self, refine)
    return map { source in (source, relation.sourceKey(source).flatMap { targets[$0] }) }
  }

  /// Each record with those that refer to it.
  /// - Parameter refine: narrows the fetched records down, orders them, or takes deleted ones too.
  /// - Throws: as ``Query/fetch(_:)``; ``SQLError`` with `misuse` when `refine` sets a limit.
  public func with<Target: Record, Key: SQLValue & Hashable>(
    _ relation: ToMany<Element, Target, Key>, _ connection: Connection,
    _ refine: (Query<Target>) -> Query<Target> = { $0 }
  ) throws -> [(Element, [Target])] {
    let targets = try connection.load(relation, of: self, refine)
    return map { source in (source, targets[relation.sourceKey(source)] ?? []) }
  }
}

extension Connection {
  /// The records that others refer to, by the referred value.
  public func load<Source: Record, Target: Record, Key: SQLValue & Hashable>(
    _ relation: ToOne<Source, Target, Key>, of sources: some Sequence<Source>,
    _ refine: (Query<Target>) -> Query<Target> = { $0 }
  ) throws -> [Key: Target] {
    var found: [Key: Target] = [:]
    try fetch(relation.targetColumn, keys: sources.lazy.map(relation.sourceKey), refine) { target in
      found[relation.targetKey(target)] = target
    }
    return found
  }

  /// The records that refer to others, by the referring value.
  public func load<Source: Record, Target: Record, Key: SQLValue & Hashable>(
    _ relation: ToMany<Source, Target, Key>, of sources: some Sequence<Source>,
    _ refine: (Query<Target>) -> Query<Target> = { $0 }
  ) throws -> [Key: [Target]] {
    var found: [Key: [Target]] = [:]
    try fetch(relation.targetColumn, keys: sources.lazy.map { relation.sourceKey($0) }, refine) { target in
      if let key = relation.targetKey(target) { found[key, default: []].append(target) }
    }
    return found
  }

  private func fetch<Target: Record, Key: SQLValue & Hashable>(
    _ column: StaticString, keys: some Sequence<Key?>, _ refine: (Query<Target>) -> Query<Target>,
    _ take: (Target) -> Void
  ) throws {
    var seen: Set<Key> = []
    var rest: [SQLArgument] = []
    for key in keys {
      if let key, seen.insert(key).inserted { rest.append(key.sqlArgument) }
    }
    guard let last = rest.last else { return }
    let query = refine(Query<Target>())
    guard query.parts.isPlain else {
      throw SQLError(.misuse, "records of a relation are fetched for many at once, so that a limit has no meaning")
    }
    // A few sizes of the list, filled up with its last key, so that the statements are found in the cache.
    rest += Array(repeating: last, count: Self.paddedCount(rest.count) - rest.count)
    for start in stride(from: 0, to: rest.count, by: 500) {
      let batch = rest[start..<Swift.min(start + 500, rest.count)]
      let node = SQLNode(.column(column, of: query.parts.sources[0].qualifier))
      let keyed = query.with { parts in
        let chosen = SQLNode.binary(node, " IN ", SQLNode(.list(batch.map { SQLNode(.value($0)) })), .equality)
        parts.filter = .and(parts.filter, chosen)
      }
      try keyed.forEach(self, take)
    }
  }

  private static func paddedCount(_ count: Int) -> Int {
    for size in [1, 5, 20, 100] where count <= size { return size }
    return (count + 499) / 500 * 500
  }
}
