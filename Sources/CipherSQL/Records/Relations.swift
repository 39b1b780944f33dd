/// Fetches the referenced records of many records with one statement per 500 different keys, not one per record.
///
/// ```swift
/// for (log, room) in try logs.with(Log.room, db) { print(log.text, room?.title ?? "no room") }
/// for (project, rooms) in try projects.with(Project.rooms, db, { $0.order { $0.title.ascending } }) { ... }
/// ```
extension Sequence where Element: Record {
  /// Returns each record with the record that it references; `nil` if the reference is NULL, or its target is missing
  /// or deleted.
  /// - Parameter refine: narrows the fetched records, or includes deleted ones.
  /// - Throws: the errors of ``Query/fetch(_:)``; ``SQLError`` with `misuse` if `refine` sets a limit.
  public func with<Target: Record, Key: SQLValue & Hashable>(
    _ relation: ToOne<Element, Target, Key>, _ connection: Connection,
    _ refine: (Query<Target>) -> Query<Target> = { $0 }
  ) throws -> [(Element, Target?)] {
    let targets = try connection.load(relation, of: self, refine)
    return map { source in (source, relation.sourceKey(source).flatMap { targets[$0] }) }
  }

  /// Returns each record with the records that reference it.
  /// - Parameter refine: narrows or orders the fetched records, or includes deleted ones.
  /// - Throws: the errors of ``Query/fetch(_:)``; ``SQLError`` with `misuse` if `refine` sets a limit.
  public func with<Target: Record, Key: SQLValue & Hashable>(
    _ relation: ToMany<Element, Target, Key>, _ connection: Connection,
    _ refine: (Query<Target>) -> Query<Target> = { $0 }
  ) throws -> [(Element, [Target])] {
    let targets = try connection.load(relation, of: self, refine)
    return map { source in (source, targets[relation.sourceKey(source)] ?? []) }
  }
}

extension Connection {
  /// Returns the referenced records, by the referenced value.
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

  /// Returns the referencing records, by the referencing value.
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
      throw SQLError(.misuse, "a relation is fetched for many records at once, so it cannot have a limit")
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
