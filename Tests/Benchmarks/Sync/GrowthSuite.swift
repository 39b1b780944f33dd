import CipherSQL
import Foundation
import VaultStore
import RestorationModel
import SyncModel
import VaultKeys

/// Costs that must not grow with records that the work does not touch. Each is measured at one size and at ten times that size, in
/// processor time, and the ratio is printed.
struct GrowthSuite {
  let folder: String
  let sizes = [10_000, 100_000]

  func findings() throws -> [Finding] {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    return [try pushing(), try examining(), try glancing()] + (try admitting())
  }

  /// Choosing, checking and settling batches of a queue, after as many completed operations.
  private func pushing() throws -> Finding {
    let times = try sizes.map { size in
      try withVault(
        "push-\(size)",
        filling: { vault in
          try BenchmarkVault.write(size, to: vault)
          try BenchmarkVault.addCompleted(to: vault)
        }
      ) { vault in
        var counts = PushCounts()
        return try processorTime {
          for _ in 0..<40 {
            try vault.syncNow { transaction in
              let batch = try transaction.nextBatch(limit: 25)
              guard try transaction.isStillNext(batch) else { throw BenchmarkFailure("the batch is not the next") }
              for operation in batch.operations {
                try transaction.acknowledge(
                  .accepted(version: 1, serverId: nil), of: operation, jitter: 0, counts: &counts)
              }
            }
          }
        } / Double(counts.pushed)
      }
    }
    return growth("pushing an operation, with as many queued and completed", times, "at most 1.1") { $0 <= 1.1 }
  }

  /// `doctor` on records that the server has.
  private func examining() throws -> Finding {
    let times = try sizes.map { size in
      try withVault("doctor-\(size)") { vault in
        try BenchmarkVault.write(size, to: vault)
        try markSynced(vault)
        return try processorTime {
          try vault.database.read { connection in
            let found = try VaultInvariants.violations(vault.syncCatalog, in: connection)
            if !found.isEmpty { throw BenchmarkFailure("the vault is not whole: \(found)") }
          }
        }
      }
    }
    return growth("checking records and outbox", times, "less than 2 s of the larger") { _ in times[1] < 2 }
  }

  /// The status without the records of each entity, as at the end of each `sync`.
  private func glancing() throws -> Finding {
    let times = try sizes.map { size in
      try withVault("status-\(size)") { vault in
        try BenchmarkVault.write(size, to: vault)
        try markSynced(vault)
        return try processorTime { for _ in 0..<100 { _ = try vault.status(countsRecords: false) } } / 100
      }
    }
    return growth("the status at the end of a sync", times, "at most 1.3") { $0 <= 1.3 }
  }

  /// A project that comes after all that belongs to it.
  private func admitting() throws -> [Finding] {
    var longest = 0.0
    let times = try sizes.map { size in
      try withVault("inbox-\(size)") { vault in
        let changes = readings(size)
        func run(_ body: (SyncTransaction) throws -> [String]) throws -> [String] {
          let begin = processorTime()
          let arrived = try vault.syncNow(body)
          longest = max(longest, processorTime() - begin)
          return arrived
        }
        return try processorTime {
          var counts = ApplyCounts()
          for start in stride(from: 0, to: changes.count, by: 500) {
            let page = Array(changes[start..<min(start + 500, changes.count)])
            _ = try run { transaction in
              try transaction.changes.apply(page, counts: &counts)
              return []
            }
          }
          let project = RemoteRecord(
            entityType: "Project", entityUuid: Self.project, serverId: 1, createdAt: 0,
            state: RecordState(fields: ["title": "House"], syncVersion: 1, updatedAt: 1))
          var arrived = try run { transaction in
            try transaction.changes.apply([project], counts: &counts)
            return transaction.changes.arrived
          }
          while !arrived.isEmpty {
            let uuids = arrived
            arrived = try run { transaction in
              try transaction.changes.admit(arrived: uuids, counts: &counts)
              return transaction.changes.arrived
            }
          }
        } / Double(size)
      }
    }
    return [
      growth("a record that came before its project", times, "at most 1.2") { $0 <= 1.2 },
      Finding(
        "the longest transaction when the project arrives: \(format(longest * 1000, 1)) ms (promised: at most 50)",
        holds: longest <= 0.05),
    ]
  }

  private static let project = "00000000-0000-7000-8000-000000000001"

  private func readings(_ count: Int) -> [RemoteRecord] {
    (0..<count).map { index in
      RemoteRecord(
        entityType: "AtmosphericLog", entityUuid: UUID.version7().sqlText, serverId: .integer(Int64(index)),
        createdAt: 0,
        state: RecordState(
          fields: [
            "projectId": .text(Self.project), "date": "2026-03-01T08:00:00.000Z", "relativeHumidity": 50,
            "temperature": 70,
          ], syncVersion: 1, updatedAt: 1))
    }
  }

  private func markSynced(_ vault: Vault) throws {
    try vault.database.write { db in
      try WriteMode.sync(on: db) {
        try db.execute(
          "UPDATE OfflineSyncQueue SET status = 'completed', completedAt = '2026-01-01T00:00:00.000Z'")
        for table in ["OfflineProject", "OfflineRoom", "OfflineAtmosphericLog"] {
          try db.execute(SQL(raw: "UPDATE \(table) SET isDirty = 0, syncStatus = 'synced', syncVersion = 1"))
        }
      }
    }
  }

  /// - Parameter filling: writes the initial data. Then the vault is opened again, so that every size begins with
  ///   equal caches.
  private func withVault(
    _ name: String, filling: ((Vault) throws -> Void)? = nil, _ body: (Vault) throws -> Double
  ) throws -> Double {
    let path = folder + "/\(name).vault"
    var vault = try BenchmarkVault.make(path)
    if let filling {
      try filling(vault)
      vault.close()
      vault = try BenchmarkVault.open(path)
    }
    let time = try body(vault)
    vault.close()
    try FileManager.default.removeItem(atPath: path)
    return time
  }

  private func growth(
    _ work: String, _ times: [Double], _ promise: String, _ holds: (Double) -> Bool
  ) -> Finding {
    let ratio = times[1] / times[0]
    return Finding(
      "\(work): \(format(times[0] * 1000, 4)) ms at \(sizes[0]), \(format(times[1] * 1000, 4)) ms at \(sizes[1]); ratio "
        + "\(format(ratio, 2)) (promised: \(promise))", holds: holds(ratio))
  }
}
