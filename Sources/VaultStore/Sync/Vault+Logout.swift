import CipherSQL
import SyncModel

extension Vault {
  /// Removes the token and its command, the user, and reference data that no record references. The vault stays with its account.
  /// Unsent operations stay queued, and are sent when a member of the same account logs in.
  ///
  /// Reference data are entities that the server owns and that reference only reference data, such as users and
  /// materials. The next login fetches them again.
  /// - Parameter keepsReferenceData: whether all records stay, because the server no longer has the account.
  /// - Returns: the number of removed records.
  public func logout(keepsReferenceData: Bool = false) throws -> Int {
    try syncNow { try $0.logout(keepsReferenceData: keepsReferenceData) }
  }
}

extension SyncTransaction {
  func logout(keepsReferenceData: Bool = false) throws -> Int {
    for name in [SyncSettings.Name.remoteToken, .remoteTokenCommand, .user, .pause] {
      try SyncSettings.set(name, nil, in: connection)
    }
    if keepsReferenceData { return 0 }
    let cleared = try WriteMode.purge(on: connection, clearReferenceData)
    // The cursor is behind the removed records, so only a comparison fetches them again.
    if cleared > 0 { try SyncSettings.compareNext("logout", in: connection) }
    return cleared
  }

  private func clearReferenceData() throws -> Int {
    var removed = 0
    for table in catalog.childrenFirst where catalog.isReferenceData(table.entity.type) {
      let entity = table.entity
      // The remaining rows are referenced by other records, so they are not only a cache.
      try connection.execute("DELETE FROM SyncFetch WHERE entityType = \(entity.type)")
      let candidates = try connection.fetch(
        """
        SELECT \(identifier: entity.key) FROM \(identifier: entity.table.name) AS record
        WHERE isDirty = 0 AND syncVersion > 0 AND NOT \(entity.hasOperation)
        """, as: Int64.self)
      for key in candidates {
        guard try !isReferred(key, in: entity) else { continue }
        try BaseTable.forget(entity.type, key, in: connection)
        try connection.execute(
          "DELETE FROM \(identifier: entity.table.name) WHERE \(identifier: entity.key) = \(key)")
        removed += 1
      }
    }
    return removed
  }
}

extension SyncCatalog {
  /// Returns whether an entity is owned by the server and references only such entities.
  func isReferenceData(_ type: String) -> Bool { isReferenceData(type, seen: []) }

  private func isReferenceData(_ type: String, seen: Set<String>) -> Bool {
    // Within a cycle, the other entities decide.
    if seen.contains(type) { return true }
    guard let table = tables[type], table.rules.policy == .serverWins else { return false }
    return table.keys.allSatisfy { !$0.cascades || isReferenceData($0.parent.type, seen: seen.union([type])) }
  }
}
