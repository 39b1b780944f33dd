import HTTPClient
import VaultStore
import SyncModel

extension RoundRunner {
  /// Compares all records with the server's by digests, in three levels (entities, buckets, records), and transfers
  /// only the differences.
  mutating func reconcile() async throws -> RoundEvent {
    let (scopes, epoch, cursor) = try await vault.sync {
      (try SyncSettings.scopes(in: $0.connection), try $0.epoch(), try SyncSettings.value(.cursor, in: $0.connection))
    }
    let theirs = try await remote.digests(projects: scopes)
    let catalog = vault.syncCatalog
    var repaired = RepairCounts()
    // A vault without an epoch has no versions of another epoch.
    let old = epoch == theirs.epoch ? nil : epoch
    if let held = try await heldDeletions(by: theirs, scopes, isNewEpoch: old != nil) { return try await hold(held) }
    if old != nil { try await vault.sync { try $0.changes.beginNewEpoch() } }
    // The device pulls on from a cursor of this epoch. A record that was changed and changed back since then has equal content
    // and another version, which only a pull brings.
    let keepsCursor = old == nil && cursor != nil && !hasLostCursor
    let comparison = Comparison(scopes: scopes, epoch: theirs.epoch, oldEpoch: old, comparesVersions: !keepsCursor)
    for table in catalog.parentsFirst {
      let type = table.entity.type
      let ours = try await vault.database.read { connection in
        try StoreDigests(
          catalog: catalog, connection: connection, columns: theirs.columns, projects: scopes
        ).digests(of: table)
      }
      let summary = theirs.entities[type] ?? .none
      // Equal records may have other versions.
      if summary == ours.whole, keepsCursor { continue }
      var theirBuckets: [String: DigestSummary] = [:]
      if theirs.entities[type] != nil {
        let answer = try await remote.digests(entityType: type, projects: scopes)
        try comparison.check(answer.epoch)
        theirBuckets = answer.buckets
      }
      let names = Set(theirBuckets.keys).union(ours.buckets.keys)
      let different = names.filter { !keepsCursor || (theirBuckets[$0] ?? .none) != (ours.buckets[$0] ?? .none) }
      try await compare(table, Set(different), known: Set(theirBuckets.keys), theirs.columns, comparison, &repaired)
    }
    if old != nil { while try await vault.sync({ try $0.changes.reopenSealed(limit: 500) }) {} }
    report.repaired += repaired.total
    report.hasCompared = true
    hasLostCursor = false
    try await vault.sync { transaction in
      if !keepsCursor {
        // The pull continues where the comparison began, so that no change is missed.
        try SyncSettings.set(.cursor, theirs.cursor, in: transaction.connection)
      }
      try SyncSettings.set(.epoch, theirs.epoch, in: transaction.connection)
      for name in [SyncSettings.Name.reconcileNext, .heldDeletions, .acceptedDeletions] {
        try SyncSettings.set(name, nil, in: transaction.connection)
      }
      try SyncSettings.set(.lastReconciliation, WireTime.text(transaction.now), in: transaction.connection)
    }
    return .reconciled
  }

  /// The scope of a comparison.
  private struct Comparison: Sendable {
    let scopes: [String]
    /// The epoch of the server's data.
    let epoch: String
    /// The epoch of this device's versions, if it differs from the server's.
    let oldEpoch: String?
    /// Whether equal records get the server's version.
    let comparesVersions: Bool

    /// Responses of one comparison belong to one epoch.
    func check(_ other: String) throws(RemoteFailure) { if other != epoch { throw .newEpoch } }
  }

  private mutating func compare(
    _ table: RecordTable, _ buckets: Set<String>, known: Set<String>, _ columns: [String: DigestColumns],
    _ comparison: Comparison,
    _ repaired: inout RepairCounts
  ) async throws {
    let catalog = vault.syncCatalog
    let type = table.entity.type
    let (ours, plain) = try await vault.database.read { connection in
      let digests = try StoreDigests(
        catalog: catalog, connection: connection, columns: columns, projects: comparison.scopes)
      return (
        try digests.records(of: table, in: buckets), try digests.records(of: table, in: buckets, hasExtraFields: false)
      )
    }
    var here = Dictionary(ours.map { ($0.entityUuid, $0) }, uniquingKeysWith: { first, _ in first })
    let withoutExtra = Dictionary(plain.map { ($0.entityUuid, $0.digest) }, uniquingKeysWith: { first, _ in first })
    var ignored: [String] = []
    var wanted: [String] = []
    var renumbered: [RecordDigest] = []
    for bucket in buckets.sorted() where known.contains(bucket) {
      let theirs = try await remote.digests(entityType: type, bucket: bucket, projects: comparison.scopes)
      try comparison.check(theirs.epoch)
      for record in theirs.records {
        let own = here.removeValue(forKey: record.entityUuid)
        if own?.digest == record.digest {
          if own?.version != record.version, comparison.comparesVersions { renumbered.append(record) }
          continue
        }
        if own != nil, withoutExtra[record.entityUuid] == record.digest {
          ignored.append(record.entityUuid)
        } else {
          wanted.append(record.entityUuid)
        }
      }
    }
    if !ignored.isEmpty {
      // Fields without a column that the server does not count were no part of its records.
      try await vault.sync { [ignored] in try $0.changes.forgetExtraFields(type, ignored) }
    }
    for part in renumbered.chunks(of: RecordsRequest.greatestCount) {
      try await vault.sync { transaction in
        for record in part { try transaction.changes.align(type, record.entityUuid, version: record.version) }
      }
    }
    // A record that is only here may be deleted there, or never have existed there.
    var uuids = wanted + here.keys.sorted()
    if comparison.oldEpoch != nil {
      let known = Set(uuids)
      uuids += try await vault.sync { try $0.changes.recordsOfOldEpoch(type) }.filter { !known.contains($0) }
    }
    try await fetch(type, uuids, comparison, &repaired)
  }

  private mutating func fetch(
    _ type: String, _ uuids: [String], _ comparison: Comparison, _ repaired: inout RepairCounts
  ) async throws {
    let isNewEpoch = comparison.oldEpoch != nil
    for part in uuids.chunks(of: RecordsRequest.greatestCount) {
      let answer = try await remote.records(entityType: type, uuids: Array(part), epoch: comparison.oldEpoch)
      try comparison.check(answer.epoch)
      let (counts, repairs, arrived) = try await vault.sync { transaction in
        var counts = ApplyCounts()
        var repairs = RepairCounts()
        for change in answer.changes {
          if isNewEpoch {
            try transaction.changes.takeAfterNewEpoch(change, repaired: &repairs, counts: &counts)
          } else {
            try transaction.changes.repair(change, repaired: &repairs, counts: &counts)
          }
        }
        for uuid in answer.missing {
          if isNewEpoch {
            try transaction.changes.resendAfterNewEpoch(type, uuid, repaired: &repairs)
          } else {
            try transaction.changes.removeUnknown(type, uuid, repaired: &repairs)
          }
        }
        try transaction.changes.resolveClashes(counts: &counts)
        return (counts, repairs, transaction.changes.arrived)
      }
      report.add(counts)
      try await admit(arrived)
      repaired.fetched += repairs.fetched
      repaired.removed += repairs.removed
      repaired.conflicts += repairs.conflicts
      report.conflicts += repairs.conflicts
      tell(.pulled(count: part.count, remaining: nil))
    }
  }
}
