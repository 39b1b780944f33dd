import CipherSQL
import SyncModel

/// What a device finds out at the beginning of a round.
package struct Identification: Sendable {
  /// Why there is to be no sync with this server.
  package var problem: (message: String, hint: String, isSchema: Bool)?
  /// Whether all records are to be compared.
  package var mustReconcile = false
  /// What went because its project is not followed any more.
  package var left = ScopeChange()
  /// What waited for a migration and could be stored.
  package var admitted = ApplyCounts()
}

extension SyncTransaction {
  /// More waiting operations than this say that much has happened since the last contact.
  static let operationsUntilReconciliation = 100
  /// Seven days, in milliseconds.
  static let reconciliationInterval: Int64 = 7 * 86_400_000

  /// Names this device; made at the first contact.
  package func deviceId() throws -> String {
    if let id = try SyncSettings.value(.deviceId, in: connection) { return id }
    let id = SyncSettings.newIdentifier()
    try SyncSettings.set(.deviceId, id, in: connection)
    return id
  }

  /// Measures what this device's clock lacks to the server's; the answer is taken to have been made half way.
  package func note(serverTime: Int64, between sent: Int64, and received: Int64) throws {
    let offset = serverTime - (sent + received) / 2
    let known = try SyncSettings.value(.clockOffset, in: connection).flatMap { Int64($0) }
    // Small differences are the network's.
    if let known, abs(known - offset) < 1000 { return }
    try SyncSettings.set(.clockOffset, String(offset), in: connection)
  }

  /// The first pull, or any later one, has come to its end.
  package func noteFilled() throws {
    guard try SyncSettings.value(.isFilled, in: connection) == nil else { return }
    try SyncSettings.set(.isFilled, "true", in: connection)
    try SyncSettings.set(.lastReconciliation, WireTime.text(now), in: connection)
    try SyncSettings.set(.reconcileNext, nil, in: connection)
  }

  /// Takes who answers. Another server than before means that everything is new to it; another account of the same server
  /// is refused, because the operations were made under the first.
  package func identify(_ info: AccountInfo) throws -> Identification {
    var result = Identification()
    let server = try SyncSettings.value(.serverUuid, in: connection)
    let account = try SyncSettings.value(.account, in: connection)
    if let server, server != info.serverUuid {
      try forgetServer()
    } else if let account, account != info.account {
      result.problem = (
        "this vault belongs to the account '\(account)', and the token to '\(info.account)'",
        "use a token of '\(account)', or make another vault for '\(info.account)'", false
      )
      return result
    }
    if let problem = try schemaProblem(info) {
      result.problem = problem
      return result
    }
    for (name, value) in [
      (SyncSettings.Name.serverUuid, info.serverUuid), (.account, info.account), (.user, info.user),
    ] where try SyncSettings.value(name, in: connection) != value {
      try SyncSettings.set(name, value, in: connection)
    }
    let hasChosenProjects = try SyncSettings.value(.reconcileNext, in: connection) == "projects"
    if try hasChosenProjects || SyncSettings.value(.leavesProjects, in: connection) != nil {
      result.left = try leaveScopes()
      try SyncSettings.set(.leavesProjects, result.left.kept.isEmpty ? nil : "true", in: connection)
    }
    if try connection.fetchOne("SELECT 1 FROM SyncInbox LIMIT 1", as: Int.self) != nil {
      try admitAgain(counts: &result.admitted)
    }
    try applyKeptFields()
    result.mustReconcile = try mustReconcile()
    return result
  }

  private func schemaProblem(_ info: AccountInfo) throws -> (message: String, hint: String, isSchema: Bool)? {
    for schema in Set(catalog.tables.values.compactMap { $0.entity.sync?.schemaName }).sorted() {
      let ours = try schemaVersions.version(of: schema, in: connection)
      let theirs = info.schemas.first { $0.name == schema }?.version
      guard let theirs, theirs >= ours else {
        let has = theirs.map { "at version \($0)" } ?? "not at all"
        return (
          "the server has the schema '\(schema)' \(has), and this vault has version \(ours)",
          "update the server, then sync again; nothing is lost meanwhile", true
        )
      }
    }
    return nil
  }

  private func mustReconcile() throws -> Bool {
    if try SyncSettings.value(.reconcileNext, in: connection) != nil {
      return try SyncSettings.value(.isFilled, in: connection) != nil
    }
    guard let text = try SyncSettings.value(.lastReconciliation, in: connection),
      let last = WireTime.milliseconds(text)
    else { return false }
    if now - last > Self.reconciliationInterval || last > now { return true }
    let waiting =
      try connection.fetchOne(
        """
        SELECT count(*) FROM (SELECT 1 FROM OfflineSyncQueue
          WHERE status = 'pending' AND scheduledAt IS NULL AND parkedBehind IS NULL
          LIMIT \(Self.operationsUntilReconciliation + 1))
        """, as: Int.self) ?? 0
    return waiting > Self.operationsUntilReconciliation
  }
}
