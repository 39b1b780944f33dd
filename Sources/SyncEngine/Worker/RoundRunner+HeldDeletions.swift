import HTTPClient
import VaultStore
import SyncModel

extension RoundRunner {
  /// Returns the deletions that a comparison would carry out and that a user has to accept first; nil when there are few.
  ///
  /// In a new epoch, records that the server does not have are sent again and do not count.
  mutating func heldDeletions(
    by theirs: EntityDigests, _ scopes: [String], isNewEpoch: Bool
  ) async throws -> HeldDeletions? {
    var records = 0
    var candidates: [(type: String, uuids: [String])] = []
    for table in vault.syncCatalog.parentsFirst {
      let type = table.entity.type
      let (count, uuids) = try await onlyHere(table, theirs, scopes)
      records += count
      if !uuids.isEmpty { candidates.append((type, uuids)) }
    }
    let accepted = try await vault.sync { try $0.acceptedDeletions() }
    let most = candidates.reduce(0) { $0 + $1.uuids.count }
    guard HeldDeletions(deletions: most, of: records, accepted: accepted) != nil else { return nil }
    var deletions = 0
    for (type, uuids) in candidates {
      for part in uuids.chunks(of: RecordsRequest.greatestCount) {
        let answer = try await remote.records(entityType: type, uuids: Array(part), epoch: nil)
        let deleted = answer.changes.filter(\.state.isDeleted).map(\.entityUuid)
        let gone = isNewEpoch ? deleted : deleted + answer.missing
        deletions += try await vault.sync { try $0.deletable(type, gone) }
      }
    }
    return HeldDeletions(deletions: deletions, of: records, accepted: accepted)
  }

  /// The number of records of an entity that the server had, and the records that it does not have now.
  private func onlyHere(
    _ table: RecordTable, _ theirs: EntityDigests, _ scopes: [String]
  ) async throws -> (count: Int, uuids: [String]) {
    let type = table.entity.type
    let catalog = vault.syncCatalog
    let ours = try await vault.database.read { connection in
      try StoreDigests(
        catalog: catalog, connection: connection, columns: theirs.columns, projects: scopes
      ).digests(of: table)
    }
    let summary = theirs.entities[type] ?? .none
    if summary == ours.whole { return (Int(ours.whole.count), []) }
    let buckets =
      theirs.entities[type] == nil ? [:] : try await remote.digests(entityType: type, projects: scopes).buckets
    let different = ours.buckets.filter { buckets[$0.key] != $0.value }.map(\.key)
    let records = try await vault.database.read { connection in
      try StoreDigests(
        catalog: catalog, connection: connection, columns: theirs.columns, projects: scopes
      ).records(of: table, in: Set(different))
    }
    var uuids = Set(records.map(\.entityUuid))
    for bucket in different.sorted() where buckets[bucket] != nil {
      for record in try await remote.digests(entityType: type, bucket: bucket, projects: scopes).records {
        uuids.remove(record.entityUuid)
      }
    }
    return (Int(ours.whole.count), uuids.sorted())
  }

  /// Ends a comparison before it has changed anything.
  mutating func hold(_ held: HeldDeletions) async throws -> RoundEvent {
    try await vault.sync { transaction in
      try SyncSettings.set(.heldDeletions, String(held.deletions), in: transaction.connection)
      try SyncSettings.set(.acceptedDeletions, nil, in: transaction.connection)
    }
    report.heldDeletions = held
    report.failure = RemoteFailure(
      .refused,
      message:
        "a comparison with the server would delete \(held.deletions) of the \(held.records) records of this device; "
        + "all of them are kept",
      hint: "look whether the server has lost data before you accept the deletions")
    return .heldDeletions
  }
}
