import CipherSQL
import SyncModel

/// What a device finds out at the beginning of a round.
package struct ServerIdentity: Sendable {
  /// Why there is to be no sync with this server.
  package var problem: (message: String, hint: String, isSchema: Bool)?
  /// Whether all records are to be compared.
  package var mustReconcile = false
  /// Whether the server's data belong to another epoch than this vault's versions.
  package var isNewEpoch = false
  /// What went because its project is not followed any more.
  package var left = ScopeChange()
  /// Whether versions wait that may be stored by now.
  package var hasKept = false
}

extension SyncTransaction {
  /// More waiting operations than this say that much has happened since the last contact.
  static let operationsUntilReconciliation = 100
  /// Seven days, in milliseconds.
  static let reconciliationInterval: Int64 = 7 * 86_400_000

  /// Names this device; drawn at the first contact.
  package func deviceId() throws -> String {
    if let id = try SyncSettings.value(.deviceId, in: connection) { return id }
    let id = SyncSettings.newIdentifier()
    try SyncSettings.set(.deviceId, id, in: connection)
    return id
  }

  /// Counts a push of this device. It is stored before the push is sent, so that no counter names two pushes.
  package func nextDeviceCounter() throws -> Int64 {
    let last = try SyncSettings.value(.deviceCounter, in: connection).flatMap { Int64($0) } ?? 0
    try SyncSettings.set(.deviceCounter, String(last + 1), in: connection)
    return last + 1
  }

  /// The epoch that the versions of this vault belong to; nil before the first contact.
  package func epoch() throws -> String? { try SyncSettings.value(.epoch, in: connection) }

  /// Notes the difference between the server's clock and this device's; see ``ClockOffset``.
  package func note(serverTime: Int64, between sent: Int64, and received: Int64) throws {
    let known = try SyncSettings.value(.clockOffset, in: connection).flatMap { Int64($0) }
    let offset = ClockOffset.afterResponse(known: known, serverTime: serverTime, sent: sent, received: received)
    if offset != known { try SyncSettings.set(.clockOffset, String(offset), in: connection) }
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
  package func identify(_ info: AccountInfo) throws -> ServerIdentity {
    var result = ServerIdentity()
    let server = try SyncSettings.value(.serverUuid, in: connection)
    let account = try SyncSettings.value(.account, in: connection)
    if let server, server != info.serverUuid {
      try forgetServer()
    } else if let account, account != info.account {
      result.problem = Self.accountProblem(account, info)
      return result
    }
    if let problem = try schemaProblem(info) {
      result.problem = problem
      return result
    }
    // The first server that names its epoch has the cursor's history: it refuses a cursor of another one.
    if try epoch() == nil { try SyncSettings.set(.epoch, info.epoch, in: connection) }
    result.isNewEpoch = try epoch() != info.epoch
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
    result.hasKept = try connection.fetchOne("SELECT 1 FROM SyncInbox LIMIT 1", as: Int.self) != nil
    try applyKeptFields()
    result.mustReconcile = try mustReconcile()
    return result
  }

  /// Why records of this server cannot be stored without a sync, or at all; nil when they can. Nothing is changed.
  func problem(with info: AccountInfo) throws -> (message: String, hint: String)? {
    if try SyncSettings.value(.serverUuid, in: connection) != info.serverUuid {
      return ("this vault has not synced with this server yet", "fieldvault sync, then try again")
    }
    if let account = try SyncSettings.value(.account, in: connection), account != info.account {
      let problem = Self.accountProblem(account, info)
      return (problem.message, problem.hint)
    }
    if let problem = try schemaProblem(info) { return (problem.message, problem.hint) }
    if try epoch() != info.epoch {
      return (
        "the server's data were restored, so this vault has to compare its records first",
        "fieldvault sync, then try again"
      )
    }
    return nil
  }

  private static func accountProblem(
    _ account: String, _ info: AccountInfo
  ) -> (message: String, hint: String, isSchema: Bool) {
    (
      "this vault belongs to the account '\(account)', and the token to '\(info.account)'",
      "use a token of '\(account)', or make another vault for '\(info.account)'", false
    )
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
