import CipherSQL
import SyncModel

extension Vault {
  /// Forgets the token, the user, and reference data that nothing points to. The vault stays with its account, and what is
  /// not sent stays queued: it is sent when a member of the same account logs in.
  ///
  /// Reference data is what the server decides about and what hangs on nothing but reference data, such as people and
  /// materials. It comes back with the next login.
  /// - Returns: how many records went.
  public func logout() throws -> Int {
    try syncNow { try $0.logout() }
  }
}

extension SyncTransaction {
  func logout() throws -> Int {
    for name in [SyncSettings.Name.remoteToken, .user, .pause] { try SyncSettings.set(name, nil, in: connection) }
    let cleared = try WriteMode.purge(on: connection, clearReferenceData)
    // The cursor is behind what went: only a comparison brings it back.
    if cleared > 0 { try SyncSettings.compareNext("logout", in: connection) }
    return cleared
  }

  private func clearReferenceData() throws -> Int {
    var removed = 0
    for table in catalog.childrenFirst where catalog.isReferenceData(table.entity.type) {
      let entity = table.entity
      // What stays is only what something points to: it is no cache any more.
      try connection.execute("DELETE FROM SyncFetch WHERE entityType = \(entity.type)")
      let candidates = try connection.fetch(
        """
        SELECT \(identifier: entity.key) FROM \(identifier: entity.table.name) AS record
        WHERE isDirty = 0 AND syncVersion > 0 AND NOT \(entity.hasOperation)
        """, as: Int64.self)
      for key in candidates {
        guard try !isReferred(key, in: entity) else { continue }
        try connection.execute(
          "DELETE FROM \(identifier: entity.table.name) WHERE \(identifier: entity.key) = \(key)")
        removed += 1
      }
    }
    return removed
  }
}

extension SyncCatalog {
  /// Whether records of this kind are the server's to decide about, and hang on nothing else.
  func isReferenceData(_ type: String) -> Bool { isReferenceData(type, seen: []) }

  private func isReferenceData(_ type: String, seen: Set<String>) -> Bool {
    // In a circle the others decide.
    if seen.contains(type) { return true }
    guard let table = tables[type], table.rules.policy == .serverWins else { return false }
    return table.columns.allSatisfy { column in
      guard let reference = column.reference, reference.cascades else { return true }
      return isReferenceData(reference.entityType, seen: seen.union([type]))
    }
  }
}
