import ServerStorage
import SyncModel

extension PostgresDirectory {
  private static let forgetSessions = Statement("DELETE FROM fieldvault.operator_session WHERE ends_at <= $1::bigint")
  private static let insertLink = Statement(
    "INSERT INTO fieldvault.operator_session (link_hash, ends_at) VALUES ($1::bytea, $2::bigint)")

  /// Adds a link that opens the pages for operators in one browser.
  public func addOperatorLink() throws -> String {
    let key = AccessToken.makeSecret()
    let now = database.environment.now
    try change { connection in
      _ = try connection.run([
        Self.forgetSessions(.integer(now)),
        Self.insertLink(.bytes(AccessToken.hash(of: key)), .integer(now + OperatorSession.linkLifetime)),
      ])
      try note(.addedOperatorLink(), connection)
    }
    return key
  }

  private static let openSession = Statement(
    """
    UPDATE fieldvault.operator_session SET session_hash = $2::bytea, used_at = $3::bigint, ends_at = $4::bigint
    WHERE link_hash = $1::bytea AND session_hash IS NULL AND ends_at > $3::bigint
    """)

  /// Exchanges the key of a link for a session, once.
  public func openOperatorSession(link key: String) throws -> String? {
    let secret = AccessToken.makeSecret()
    let now = database.environment.now
    let count = try run { connection in
      try connection.run(
        Self.openSession(
          .bytes(AccessToken.hash(of: key)), .bytes(AccessToken.hash(of: secret)), .integer(now),
          .integer(now + OperatorSession.lifetime))
      ).changedCount
    }
    return count == 1 ? secret : nil
  }

  private static let sessionUse = Statement(
    """
    SELECT used_at FROM fieldvault.operator_session
    WHERE session_hash = $1::bytea AND ends_at > $2::bigint AND used_at > $3::bigint
    """)
  private static let storeSessionUse = Statement(
    "UPDATE fieldvault.operator_session SET used_at = $2::bigint WHERE session_hash = $1::bytea")

  /// Returns whether a session is valid, and extends it.
  public func useOperatorSession(_ secret: String) throws -> Bool {
    let hash = PostgresValue.bytes(AccessToken.hash(of: secret))
    let now = database.environment.now
    return try run { connection in
      let usedAt = try connection.run(
        Self.sessionUse(hash, .integer(now), .integer(now - OperatorSession.idleTime))
      ).first { $0.integer(0) }
      guard let usedAt else { return false }
      if now - usedAt >= OperatorSession.storedEvery {
        _ = try connection.run(Self.storeSessionUse(hash, .integer(now)))
      }
      return true
    }
  }

  private static let countedAccounts = counting("account")
  private static let countedUsers = counting("member")
  private static let countedDevices = counting("device_contact")

  private static func counting(_ table: String) -> Statement {
    Statement("SELECT count(*) FROM (SELECT FROM fieldvault.\(table) LIMIT $1::bigint) AS counted")
  }

  /// Returns the number of rows, counted up to a limit.
  public func count(of rows: DirectoryRows, atMost limit: Int) throws -> Int {
    let statement =
      switch rows {
      case .accounts: Self.countedAccounts
      case .users: Self.countedUsers
      case .devices: Self.countedDevices
      }
    return try run { connection in
      Int(try connection.run(statement(.integer(Int64(limit)))).first { $0.integer(0) } ?? 0)
    }
  }

  private static let accountColumns = """
    SELECT account.name, replace(account.account_id::text, '-', ''), account.created_at, account.limits_to_members,
      (SELECT count(*) FROM (
        SELECT FROM fieldvault.member AS member WHERE member.account_id = account.account_id
        LIMIT \(OperatorSession.countLimit + 1)) AS counted)
    FROM fieldvault.account AS account
    """
  /// Names are not empty, so the empty text is before all of them.
  static let accountPage = Statement(
    """
    \(accountColumns) WHERE account.name COLLATE "C" > $1::text AND account.deleted_at IS NULL
    ORDER BY account.name COLLATE "C" LIMIT $2::bigint
    """)
  private static let oneAccount = Statement(
    "\(accountColumns) WHERE account.name = $1::text AND account.deleted_at IS NULL")

  /// Returns some accounts by name.
  public func accounts(after name: String?, atMost limit: Int) throws -> [ListedAccount] {
    try run { connection in
      try connection.run(Self.accountPage(.text(name ?? ""), .integer(Int64(limit)))).map(Self.account)
    }
  }

  /// Returns an account.
  public func account(_ name: String) throws -> ListedAccount? {
    try run { try $0.run(Self.oneAccount(.text(name))).first(Self.account) }
  }

  private static func account(_ row: PostgresRow) -> ListedAccount {
    ListedAccount(
      account: AccountName(name: row.text(0), folder: row.text(1)), users: Int(row.integer(4)),
      createdAt: time(row.integer(2)), limitsToMembers: row.flag(3))
  }

  private static let userColumns = """
    SELECT member.user_id, member.name, account.name, replace(account.account_id::text, '-', ''), member.created_at,
      member.record_uuid, NOT EXISTS (
        SELECT FROM fieldvault.token AS token
        WHERE token.account_id = member.account_id AND token.user_id = member.user_id AND token.revoked_at IS NULL)
    FROM fieldvault.member AS member JOIN fieldvault.account AS account USING (account_id)
    """
  static let userPage = Statement(
    """
    \(userColumns) WHERE member.account_id = $1::uuid AND account.deleted_at IS NULL AND member.user_id > $2::bigint
    ORDER BY member.user_id LIMIT $3::bigint
    """)
  static let oneUser = Statement("\(userColumns) WHERE member.name = $1::text AND account.deleted_at IS NULL")

  /// Returns some users of an account in the order in which they were added.
  public func users(of account: AccountName, after id: Int64?, atMost limit: Int) throws -> [AccountUser] {
    try run { connection in
      try connection.run(Self.userPage(AccountRow.key(account), .integer(id ?? 0), .integer(Int64(limit)))).map(
        Self.user)
    }
  }

  /// Returns a user.
  public func user(_ name: String) throws -> AccountUser? {
    try run { try $0.run(Self.oneUser(.text(name))).first(Self.user) }
  }

  private static func user(_ row: PostgresRow) -> AccountUser {
    AccountUser(
      id: row.integer(0), name: row.text(1), account: AccountName(name: row.text(2), folder: row.text(3)),
      createdAt: time(row.integer(4)), record: row.optionalText(5), isRevoked: row.flag(6))
  }

  static let tokenPage = Statement(
    """
    \(tokenColumns) WHERE token.account_id = $1::uuid AND token.user_id = $2::bigint AND token.token_id < $3::bigint
    ORDER BY token.token_id DESC LIMIT $4::bigint
    """)

  /// Returns some tokens of a user, newest first.
  public func tokens(of user: AccountUser, before id: Int64?, atMost limit: Int) throws -> [ListedToken] {
    try run { connection in
      try connection.run(
        Self.tokenPage(
          AccountRow.key(user.account), .integer(user.id), .integer(id ?? .max), .integer(Int64(limit)))
      ).map(Self.listedToken).compactMap { $0 }
    }
  }

  static let devicePage = Statement(
    """
    \(deviceColumns) WHERE device.account_id = $1::uuid AND account.deleted_at IS NULL AND device.device_id > $2::text
    ORDER BY device.device_id LIMIT $3::bigint
    """)

  /// Returns some devices of an account by id.
  public func devices(of account: AccountName, after id: String?, atMost limit: Int) throws -> [ListedDevice] {
    try run { connection in
      try connection.run(Self.devicePage(AccountRow.key(account), .text(id ?? ""), .integer(Int64(limit))))
        .map(Self.listedDevice)
    }
  }

  static let auditPage = Statement(
    "\(auditColumns) WHERE number < $1::bigint ORDER BY number DESC LIMIT $2::bigint")

  /// Returns some entries of the audit log, newest first.
  public func auditLog(before number: Int64?, atMost limit: Int) throws -> [AuditEntry] {
    try run { connection in
      try connection.run(Self.auditPage(.integer(number ?? .max), .integer(Int64(limit)))).map(Self.auditEntry)
    }
  }
}
