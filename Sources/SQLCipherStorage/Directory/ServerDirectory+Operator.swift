import CipherSQL
import ServerStorage

extension ServerDirectory {
  /// Adds an event to the audit log.
  public func note(_ event: AuditEvent, by member: Member?) throws {
    try database.write { try note(event, by: member?.auditName, $0) }
  }

  /// - Parameter actor: the acting user; `nil` for the system's user.
  func note(_ event: AuditEvent, by actor: String? = nil, _ connection: WriteConnection) throws {
    try Self.note(event, by: actor ?? folder.actor, at: environment.now, connection)
  }

  /// - Parameter time: in milliseconds since 1970-01-01 UTC.
  static func note(_ event: AuditEvent, by actor: String, at time: Int64, _ connection: WriteConnection) throws {
    try connection.execute(
      """
      INSERT INTO AuditEntry (time, actor, action, user, details)
      VALUES (\(time), \(actor), \(event.action.rawValue), \(event.user.sqlArgument), \(event.details))
      """)
  }

  /// Returns the newest entries of the audit log, oldest first.
  public func auditLog(since: Int64?, atMost limit: Int) throws -> [AuditEntry] {
    try database.read { connection in
      try Self.auditEntries(
        "\(Self.auditColumns) WHERE time >= \(since ?? Int64.min) ORDER BY time DESC, number DESC LIMIT \(limit)",
        connection
      ).reversed()
    }
  }

  private static let auditColumns: SQL = "SELECT number, time, actor, action, user, details FROM AuditEntry"

  private static func auditEntries(_ sql: SQL, _ connection: Connection) throws -> [AuditEntry] {
    var entries: [AuditEntry] = []
    try connection.forEach(sql) { row in
      entries.append(
        AuditEntry(
          number: try row.decode(at: 0), time: try row.decode(at: 1), actor: try row.decode(at: 2),
          action: try row.decode(at: 3), user: try row.decode(at: 4), details: try row.decode(at: 5)))
    }
    return entries
  }

  /// Returns the time of the last event of a kind.
  public func lastTime(of action: AuditEvent.Action) throws -> Int64? {
    try database.read { connection in
      try connection.fetchOne(
        "SELECT time FROM AuditEntry WHERE action = \(action.rawValue) ORDER BY time DESC LIMIT 1", as: Int64.self)
    }
  }
}

extension ServerDirectory {
  /// Adds a link that opens the pages for operators in one browser.
  public func addOperatorLink() throws -> String {
    let key = AccessToken.makeSecret()
    let now = environment.now
    try database.write { connection in
      try connection.execute("DELETE FROM OperatorSession WHERE endsAt <= \(now)")
      try connection.execute(
        """
        INSERT INTO OperatorSession (linkHash, endsAt)
        VALUES (\(AccessToken.hash(of: key)), \(now + OperatorSession.linkLifetime))
        """)
      try note(.addedOperatorLink(), connection)
    }
    return key
  }

  /// Exchanges the key of a link for a session, once.
  public func openOperatorSession(link key: String) throws -> String? {
    let secret = AccessToken.makeSecret()
    let now = environment.now
    let count = try database.write { connection in
      try connection.execute(
        """
        UPDATE OperatorSession SET sessionHash = \(AccessToken.hash(of: secret)), usedAt = \(now),
          endsAt = \(now + OperatorSession.lifetime)
        WHERE linkHash = \(AccessToken.hash(of: key)) AND sessionHash IS NULL AND endsAt > \(now)
        """)
    }
    return count == 1 ? secret : nil
  }

  /// Returns whether a session is valid, and extends it.
  public func useOperatorSession(_ secret: String) throws -> Bool {
    let hash = AccessToken.hash(of: secret)
    let now = environment.now
    let usedAt = try database.read { connection in
      try connection.fetchOne(
        """
        SELECT usedAt FROM OperatorSession
        WHERE sessionHash = \(hash) AND endsAt > \(now) AND usedAt > \(now - OperatorSession.idleTime)
        """, as: Int64.self)
    }
    guard let usedAt else { return false }
    if now - usedAt >= OperatorSession.storedEvery {
      try database.write { connection in
        _ = try connection.execute("UPDATE OperatorSession SET usedAt = \(now) WHERE sessionHash = \(hash)")
      }
    }
    return true
  }

  /// Returns the number of rows, counted up to a limit.
  public func count(of rows: DirectoryRows, atMost limit: Int) throws -> Int {
    let table: SQL =
      switch rows {
      case .accounts: "Account"
      case .users: "Member"
      case .devices: "DeviceContact"
      }
    return try database.read { connection in
      try connection.fetchOne("SELECT count(*) FROM (SELECT 1 FROM \(table) LIMIT \(limit))", as: Int.self) ?? 0
    }
  }

  /// Returns some accounts by name.
  public func accounts(after name: String?, atMost limit: Int) throws -> [ListedAccount] {
    try accounts(Self.accountPage(after: name, atMost: limit))
  }

  /// Returns an account.
  public func account(_ name: String) throws -> ListedAccount? {
    try accounts("\(Self.accountColumns) WHERE name = \(name) AND deletedAt IS NULL").first
  }

  private static var accountColumns: SQL {
    """
    SELECT name, folder, createdAt, limitsToMembers,
      (SELECT count(*) FROM (
        SELECT 1 FROM Member WHERE Member.accountId = Account.accountId LIMIT \(OperatorSession.countLimit + 1)))
    FROM Account
    """
  }

  /// Names are not empty, so the empty text is before all of them.
  static func accountPage(after name: String?, atMost limit: Int) -> SQL {
    "\(accountColumns) WHERE name > \(name ?? "") AND deletedAt IS NULL ORDER BY name LIMIT \(limit)"
  }

  private func accounts(_ sql: SQL) throws -> [ListedAccount] {
    try database.read { connection in
      var accounts: [ListedAccount] = []
      try connection.forEach(sql) { row in
        accounts.append(
          ListedAccount(
            account: AccountName(name: try row.decode(at: 0), folder: try row.decode(at: 1)),
            users: try row.decode(at: 4), createdAt: try row.decode(at: 2), limitsToMembers: try row.decode(at: 3)))
      }
      return accounts
    }
  }

  /// Returns some users of an account in the order in which they were added.
  public func users(of account: AccountName, after id: Int64?, atMost limit: Int) throws -> [AccountUser] {
    try users(Self.userPage(of: account, after: id, atMost: limit))
  }

  /// Returns a user.
  public func user(_ name: String) throws -> AccountUser? {
    try users("\(Self.userColumns) WHERE Member.name = \(name) AND deletedAt IS NULL").first
  }

  private static let userColumns: SQL = """
    SELECT userId, Member.name, Account.name, folder, Member.createdAt, recordUuid,
      NOT EXISTS (SELECT 1 FROM Token WHERE Token.userId = Member.userId AND revokedAt IS NULL)
    FROM Member JOIN Account USING (accountId)
    """

  static func userPage(of account: AccountName, after id: Int64?, atMost limit: Int) -> SQL {
    """
    \(userColumns)
    WHERE accountId = (SELECT accountId FROM Account WHERE folder = \(account.folder) AND deletedAt IS NULL)
      AND userId > \(id ?? 0) ORDER BY userId LIMIT \(limit)
    """
  }

  private func users(_ sql: SQL) throws -> [AccountUser] {
    try database.read { connection in
      var users: [AccountUser] = []
      try connection.forEach(sql) { row in
        users.append(
          AccountUser(
            id: try row.decode(at: 0), name: try row.decode(at: 1),
            account: AccountName(name: try row.decode(at: 2), folder: try row.decode(at: 3)),
            createdAt: try row.decode(at: 4), record: try row.decode(at: 5), isRevoked: try row.decode(at: 6)))
      }
      return users
    }
  }

  /// Returns some tokens of a user, newest first.
  public func tokens(of user: AccountUser, before id: Int64?, atMost limit: Int) throws -> [ListedToken] {
    try database.read { try Self.listedTokens(Self.tokenPage(of: user, before: id, atMost: limit), $0) }
  }

  static func tokenPage(of user: AccountUser, before id: Int64?, atMost limit: Int) -> SQL {
    "\(tokenColumns) WHERE userId = \(user.id) AND tokenId < \(id ?? .max) ORDER BY tokenId DESC LIMIT \(limit)"
  }

  /// Returns some devices of an account by id.
  public func devices(of account: AccountName, after id: String?, atMost limit: Int) throws -> [ListedDevice] {
    try database.read { try Self.listedDevices(Self.devicePage(of: account, after: id, atMost: limit), $0) }
  }

  /// Ids are not empty.
  static func devicePage(of account: AccountName, after id: String?, atMost limit: Int) -> SQL {
    """
    \(deviceColumns)
    WHERE DeviceContact.accountId = (SELECT accountId FROM Account WHERE folder = \(account.folder) AND deletedAt IS NULL)
      AND deviceId > \(id ?? "") ORDER BY deviceId LIMIT \(limit)
    """
  }

  /// Returns some entries of the audit log, newest first.
  public func auditLog(before number: Int64?, atMost limit: Int) throws -> [AuditEntry] {
    try database.read { connection in
      try Self.auditEntries(
        "\(Self.auditColumns) WHERE number < \(number ?? .max) ORDER BY number DESC LIMIT \(limit)", connection)
    }
  }
}
