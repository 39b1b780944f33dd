import CipherSQL
import SyncModel

/// The decisions of a device about the server at the beginning of a round.
package struct ServerIdentity: Sendable {
  /// Whether the vault was filled from another server, so that the caller forgets that server's files.
  package var isOtherServer = false
  /// Whether records or files are left that are linked to a former server. The server has to be identified again.
  package var isForgetting = false
  /// The reason why the device does not sync with this server.
  package var problem: (message: String, remedy: Remedy, isSchema: Bool)?
  /// Whether to compare all records.
  package var mustReconcile = false
  /// Whether the server's data belong to another epoch than the versions of this vault.
  package var isNewEpoch = false
  /// Whether records of projects leave that the device no longer follows.
  package var leavesProjects = false
  /// Whether the inbox has versions that may be stored by now.
  package var hasKept = false

  package init() {}
}

extension SyncTransaction {
  /// The number of waiting operations above which all records are compared.
  static let operationsUntilReconciliation = 100
  /// Seven days, in milliseconds.
  static let reconciliationInterval: Int64 = 7 * 86_400_000

  /// Returns the id of this device. It is drawn at the first contact.
  package func deviceId() throws -> String {
    if let id = try SyncSettings.value(.deviceId, in: connection) { return id }
    let id = SyncSettings.newIdentifier(in: connection)
    try SyncSettings.set(.deviceId, id, in: connection)
    return id
  }

  /// Returns the counter of the next push. It is stored before the push is sent, so that no counter names two pushes.
  package func nextDeviceCounter() throws -> Int64 {
    let last = try SyncSettings.value(.deviceCounter, in: connection).flatMap { Int64($0) } ?? 0
    try SyncSettings.set(.deviceCounter, String(last + 1), in: connection)
    return last + 1
  }

  /// Returns the epoch that the versions of this vault belong to; `nil` before the first contact.
  package func epoch() throws -> String? { try SyncSettings.value(.epoch, in: connection) }

  /// Stores the difference between the server's clock and the clock of this device; see ``ClockOffset``.
  package func note(serverTime: Int64, between sent: Int64, and received: Int64) throws {
    let known = try SyncSettings.value(.clockOffset, in: connection).flatMap { Int64($0) }
    let offset = ClockOffset.afterResponse(known: known, serverTime: serverTime, sent: sent, received: received)
    if offset != known { try SyncSettings.set(.clockOffset, String(offset), in: connection) }
  }

  /// Stores that a pull has reached its end.
  package func noteFilled() throws {
    guard try SyncSettings.value(.isFilled, in: connection) == nil else { return }
    try SyncSettings.set(.isFilled, "true", in: connection)
    try SyncSettings.set(.lastReconciliation, WireTime.text(now), in: connection)
  }

  /// Compares the server's identity with the stored one. For another server all records are queued as new. Another
  /// account of the same server is refused, because the operations were made under the first account.
  package func identify(_ info: AccountInfo) throws -> ServerIdentity {
    var result = ServerIdentity()
    let server = try SyncSettings.value(.serverUuid, in: connection)
    let account = try SyncSettings.value(.account, in: connection)
    let isOtherServer = server != nil && server != info.serverUuid
    if try isOtherServer || isForgettingServer {
      result.isOtherServer = isOtherServer
      let hasMore = try forgetServer()
      // The files follow.
      result.isForgetting = hasMore || isOtherServer
      if result.isForgetting { return result }
    } else if let account, account != info.account {
      result.problem = Self.accountProblem(account, info)
      return result
    }
    if let problem = try schemaProblem(info) {
      result.problem = problem
      return result
    }
    // The vault was filled before servers named epochs. The cursor belongs to the first epoch that a server names; a
    // server with another history refuses it.
    if try epoch() == nil { try SyncSettings.set(.epoch, info.epoch, in: connection) }
    result.isNewEpoch = try epoch() != info.epoch
    if result.isNewEpoch { try SyncSettings.set(.filesConfirmed, SyncSettings.filesAreDoubtful, in: connection) }
    for (name, value) in [
      (SyncSettings.Name.serverUuid, info.serverUuid), (.account, info.account), (.user, info.user),
    ] where try SyncSettings.value(name, in: connection) != value {
      try SyncSettings.set(name, value, in: connection)
    }
    // Before version 0.4, a choice of projects was only noted as the reason of the next comparison.
    let hasChosenProjects = try SyncSettings.value(.reconcileNext, in: connection) == "projects"
    if try hasChosenProjects || SyncSettings.value(.leavesProjects, in: connection) != nil {
      try SyncSettings.set(.leavesProjects, "true", in: connection)
      // A restored server may lack records of a project. The comparison queues them, and a later round removes them.
      result.leavesProjects = !result.isNewEpoch
    }
    // The server names the device to its operator.
    _ = try deviceId()
    result.hasKept = try connection.fetchOne("SELECT 1 FROM SyncInbox LIMIT 1", as: Int.self) != nil
    try changes.applyKeptFields()
    result.mustReconcile = try mustReconcile()
    return result
  }

  /// Returns why versions of this server cannot be stored without a sync round; `nil` if they can. Changes nothing.
  package func problem(with info: AccountInfo) throws -> (message: String, remedy: Remedy)? {
    if try SyncSettings.value(.serverUuid, in: connection) != info.serverUuid {
      return ("this vault has not synced with this server yet", .syncFirst)
    }
    if let account = try SyncSettings.value(.account, in: connection), account != info.account {
      let problem = Self.accountProblem(account, info)
      return (problem.message, problem.remedy)
    }
    if let problem = try schemaProblem(info) { return (problem.message, problem.remedy) }
    if try epoch() != info.epoch {
      return (
        "the server data was restored, so this vault must compare its records first", .syncFirst
      )
    }
    return nil
  }

  /// Returns why the device would not sync under a token, or `nil` if it would. Changes nothing.
  package func tokenProblem(_ info: AccountInfo) throws -> (message: String, remedy: Remedy)? {
    if info.role == .admin {
      return ("a token with the role admin cannot sync records", .advice("use a token with the role device"))
    }
    guard try SyncSettings.value(.serverUuid, in: connection) == info.serverUuid,
      let account = try SyncSettings.value(.account, in: connection), account != info.account
    else { return nil }
    let problem = Self.accountProblem(account, info)
    return (problem.message, problem.remedy)
  }

  private static func accountProblem(
    _ account: String, _ info: AccountInfo
  ) -> (message: String, remedy: Remedy, isSchema: Bool) {
    (
      "this vault belongs to the account '\(account)', but the token belongs to '\(info.account)'",
      .advice("use a token of '\(account)', or create another vault for '\(info.account)'"), false
    )
  }

  private func schemaProblem(_ info: AccountInfo) throws -> (message: String, remedy: Remedy, isSchema: Bool)? {
    for schema in Set(catalog.tables.values.compactMap { $0.entity.sync?.schemaName }).sorted() {
      let ours = try schemaVersions.version(of: schema, in: connection)
      let theirs = info.schemas.first { $0.name == schema }?.version
      guard let theirs, theirs >= ours else {
        let has = theirs.map { "at version \($0)" } ?? "not at all"
        return (
          "the server has the schema '\(schema)' \(has), and this vault has version \(ours)",
          .advice("update the server, then sync again; no data is lost"), true
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
