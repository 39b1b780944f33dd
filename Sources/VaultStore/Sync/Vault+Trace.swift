import CipherSQL
import SyncModel

extension Vault {
  /// Returns a report of sync for support: entities, counts, states and times.
  ///
  /// It contains no value of a record, no address, no name and no message of a server, which might repeat a value.
  /// Records and operations have numbers that are valid within one report only.
  /// - Parameter rounds: the number of the newest rounds to include.
  /// - Returns: JSON.
  public func trace(rounds: Int = 200) throws -> String {
    let status = try status()
    let runs = try history(limit: rounds)
    return try database.read { connection in
      var trace: SyncObject = [
        "format": 1, "mode": .text(status.mode), "hasServer": .bool(status.remoteURL != nil),
        "isPaused": .bool(status.pause != nil), "pending": .integer(Int64(status.pending)),
        "processing": .integer(Int64(status.processing)), "failed": .integer(Int64(status.failed)),
        "parked": .integer(Int64(status.parked)), "openConflicts": .integer(Int64(status.conflicts)),
        "clockOffsetMilliseconds": .integer(try SyncSettings.clockOffset(in: connection)),
      ]
      trace["schemas"] = .array(
        try connection.fetchRows(
          "SELECT schema, max(version) FROM SchemaMigration GROUP BY schema ORDER BY schema", as: String.self,
          Int64.self
        ).map { ["name": .text($0), "version": .integer($1)] })
      trace["entities"] = .array(
        status.entities.map { entity in
          [
            "entityType": .text(entity.entityType), "records": .integer(Int64(entity.records)),
            "unsent": .integer(Int64(entity.dirty)),
          ]
        })
      trace["slowStep"] = try SyncSettings.value(.slowStep, in: connection).map { .text($0) }
      trace["rounds"] = .array(runs.map(Self.traced))
      trace["operations"] = .array(try operations(connection))
      trace["conflicts"] = .array(try conflicts(connection))
      trace["kept"] = .array(
        try connection.fetchRows(
          "SELECT entityType, reason, count(*) FROM SyncInbox GROUP BY 1, 2 ORDER BY 1, 2",
          as: String.self, String.self, Int64.self
        ).map { ["entityType": .text($0), "reason": .text($1), "count": .integer($2)] })
      return SyncValue.object(trace).json
    }
  }

  private static func traced(_ run: SyncRunEntry) -> SyncValue {
    var object: SyncObject = [
      "startedAt": .text(run.startedAt), "cause": .text(run.cause), "outcome": .text(run.outcome),
    ]
    for (name, count) in [
      ("pushed", run.pushed), ("merged", run.merged), ("conflicts", run.conflicts), ("failed", run.failed),
      ("pulled", run.pulled), ("repaired", run.repaired), ("bytesSent", run.bytesSent),
      ("bytesReceived", run.bytesReceived),
    ] where count != 0 { object[name] = .integer(Int64(count)) }
    object["endedAt"] = run.endedAt.map { .text($0) }
    return .object(object)
  }

  private func operations(_ connection: Connection) throws -> [SyncValue] {
    try connection.fetchRows(
      """
      SELECT queueNumber, entityType, dense_rank() OVER (ORDER BY entityType, entityId), operationType, priority, status,
        retryCount, createdAt, lastAttemptAt, scheduledAt, errorStatus, parkedBehind
      FROM OfflineSyncQueue WHERE completedAt IS NULL ORDER BY queueNumber LIMIT 1000
      """, as: Int64.self, String.self, Int64.self, String.self, Int64.self, String.self, Int64.self, String.self,
      Optional<String>.self, Optional<String>.self, Optional<Int64>.self, Optional<Int64>.self
    ).map { number, type, record, kind, priority, state, retries, created, tried, scheduled, error, parked in
      var object: SyncObject = [
        "number": .integer(number), "entityType": .text(type), "record": .integer(record), "operationType": .text(kind),
        "priority": .integer(priority), "status": .text(state), "retryCount": .integer(retries),
        "createdAt": .text(created),
      ]
      object["lastAttemptAt"] = tried.map { .text($0) }
      object["scheduledAt"] = scheduled.map { .text($0) }
      object["errorStatus"] = error.map { .integer($0) }
      object["waitsBehind"] = parked.map { .integer($0) }
      return .object(object)
    }
  }

  private func conflicts(_ connection: Connection) throws -> [SyncValue] {
    try connection.fetchRows(
      """
      SELECT entityType, conflictType, fields, detectedAt, resolvedAt, resolution FROM OfflineConflictResolution
      ORDER BY detectedAt DESC LIMIT 200
      """, as: String.self, String.self, String.self, String.self, Optional<String>.self, Optional<String>.self
    ).map { type, kind, fields, detected, resolved, resolution in
      var object: SyncObject = [
        "entityType": .text(type), "conflictType": .text(kind), "fields": try SyncValue(parsing: fields),
        "detectedAt": .text(detected),
      ]
      object["resolvedAt"] = resolved.map { .text($0) }
      object["resolution"] = resolution.map { .text($0) }
      return .object(object)
    }
  }
}
