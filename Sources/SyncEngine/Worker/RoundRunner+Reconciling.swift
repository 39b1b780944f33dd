import OfflineStore
import SyncModel

extension RoundRunner {
  /// Compares all records with the server's by digests, in three steps (entities, buckets, records), and moves only what
  /// differs.
  mutating func reconcile() async throws -> RoundEvent {
    let scopes = try await vault.sync { try $0.scopes() }
    let theirs = try await remote.digests(projects: scopes)
    let catalog = vault.syncCatalog
    var repaired = RepairCounts()
    for table in catalog.parentsFirst {
      let type = table.entity.type
      let ours = try await vault.database.read { connection in
        try StoreDigests(catalog: catalog, connection: connection).digests(of: table)
      }
      let summary = theirs.entities[type] ?? .none
      if summary == ours.whole { continue }
      let theirBuckets =
        theirs.entities[type] == nil ? [:] : try await remote.digests(entityType: type, projects: scopes).buckets
      let names = Set(theirBuckets.keys).union(ours.buckets.keys)
      let different = names.filter { (theirBuckets[$0] ?? .none) != (ours.buckets[$0] ?? .none) }
      try await compare(table, Set(different), known: Set(theirBuckets.keys), scopes, &repaired)
    }
    report.repaired += repaired.total
    report.hasCompared = true
    try await vault.sync { transaction in
      // Pulling goes on from where the comparison began, so that nothing slips between.
      try SyncSettings.set(.cursor, theirs.cursor, in: transaction.connection)
      try SyncSettings.set(.reconcileNext, nil, in: transaction.connection)
      try SyncSettings.set(.lastReconciliation, WireTime.text(transaction.now), in: transaction.connection)
    }
    return .reconciled
  }

  private mutating func compare(
    _ table: RecordTable, _ buckets: Set<String>, known: Set<String>, _ scopes: [String], _ repaired: inout RepairCounts
  ) async throws {
    let catalog = vault.syncCatalog
    let type = table.entity.type
    let ours = try await vault.database.read { connection in
      try StoreDigests(catalog: catalog, connection: connection).records(of: table, in: buckets)
    }
    var here = Dictionary(ours.map { ($0.entityUuid, $0) }, uniquingKeysWith: { first, _ in first })
    var wanted: [String] = []
    for bucket in buckets.sorted() where known.contains(bucket) {
      for record in try await remote.digests(entityType: type, bucket: bucket, projects: scopes).records {
        if here.removeValue(forKey: record.entityUuid)?.digest != record.digest { wanted.append(record.entityUuid) }
      }
    }
    // What is here and not there may be deleted there, or never have been.
    try await fetch(type, wanted + here.keys.sorted(), &repaired)
  }

  private mutating func fetch(_ type: String, _ uuids: [String], _ repaired: inout RepairCounts) async throws {
    for part in uuids.chunks(of: RecordsRequest.greatestCount) {
      let answer = try await remote.records(entityType: type, uuids: Array(part))
      let (counts, repairs) = try await vault.sync { transaction in
        var counts = ApplyCounts()
        var repairs = RepairCounts()
        for change in answer.changes { try transaction.repair(change, repaired: &repairs, counts: &counts) }
        for uuid in answer.missing { try transaction.removeUnknown(type, uuid, repaired: &repairs) }
        return (counts, repairs)
      }
      report.add(counts)
      repaired.fetched += repairs.fetched
      repaired.removed += repairs.removed
      repaired.contested += repairs.contested
      report.conflicts += repairs.contested
      tell(.pulled(count: part.count, remaining: nil))
    }
  }
}
