import ServerStorage

extension PostgresDirectory {
  private static let storeUse = Statement(
    """
    UPDATE fieldvault.token AS token SET last_used_at = used.time
    FROM unnest($1::bigint[], $2::bigint[]) AS used (token_id, time)
    WHERE token.token_id = used.token_id AND (token.last_used_at IS NULL OR token.last_used_at < used.time)
    """)

  /// Stores when tokens were last used.
  public func noteUse(of times: [Int64: Int64]) throws {
    // Ordered, so that two nodes lock the rows in the same order.
    let ordered = times.sorted { $0.key < $1.key }
    _ = try run { connection in
      try connection.run(Self.storeUse(.integers(ordered.map(\.key)), .integers(ordered.map(\.value)))).changedCount
    }
  }

  private static let accountsWithUsers = Statement(
    """
    SELECT account.name, replace(account.account_id::text, '-', ''), account.created_at,
      (SELECT count(*) FROM fieldvault.member AS member WHERE member.account_id = account.account_id),
      account.limits_to_members
    FROM fieldvault.account AS account ORDER BY account.name COLLATE "C"
    """)

  /// Returns all accounts with their users, by name.
  public func listedAccounts() throws -> [ListedAccount] {
    try run { connection in
      try connection.run(Self.accountsWithUsers()).map { row in
        ListedAccount(
          account: AccountName(name: row.text(0), folder: row.text(1)), users: Int(row.integer(3)),
          createdAt: Self.time(row.integer(2)), limitsToMembers: row.flag(4))
      }
    }
  }

  static let setRecord = Statement("UPDATE fieldvault.member SET record_uuid = $2::text WHERE name = $1::text")

  /// Connects a user with a record.
  public func linkUser(_ name: String, to record: String?) throws {
    try change { connection in
      try checkUser(name, connection)
      _ = try connection.run(Self.setRecord(.text(name), .optional(record)))
      try note(.linked(user: name, to: record), connection)
    }
  }

  private static let limitAccount = Statement(
    "UPDATE fieldvault.account SET limits_to_members = $2::boolean WHERE name = $1::text")
  private static let usersWithoutRecord = Statement(
    """
    SELECT member.name FROM fieldvault.member AS member JOIN fieldvault.account AS account USING (account_id)
    WHERE account.name = $1::text AND member.record_uuid IS NULL ORDER BY member.name COLLATE "C"
    """)

  /// Sets whether an account limits devices to the projects of which their users are members.
  public func setMembership(_ isLimited: Bool, of account: String) throws -> [String] {
    try change { connection in
      guard try connection.run(Self.limitAccount(.text(account), .flag(isLimited))).changedCount == 1 else {
        throw ServerError.noSuchAccount(account)
      }
      try note(.changedMembership(of: account, isLimited: isLimited), connection)
      return try connection.run(Self.usersWithoutRecord(.text(account))).map { $0.text(0) }
    }
  }

  private static let insertEntry = Statement(
    """
    INSERT INTO fieldvault.audit_entry (time, actor, action, user_name, details)
    VALUES ($1::bigint, $2::text, $3::text, $4::text, $5::text)
    """)

  /// Adds an event to the audit log.
  public func note(_ event: AuditEvent) throws { try change { try note(event, $0) } }

  func note(_ event: AuditEvent, _ connection: PostgresConnection) throws {
    _ = try connection.run(
      Self.insertEntry(
        .integer(database.environment.now), .text(database.settings.actor), .text(event.action.rawValue),
        .optional(event.user), .text(event.details)))
  }

  private static let entries = Statement(
    """
    SELECT number, time, actor, action, user_name, details FROM fieldvault.audit_entry
    WHERE time >= $1::bigint ORDER BY time DESC, number DESC LIMIT $2::bigint
    """)

  /// Returns the newest entries of the audit log, oldest first.
  public func auditLog(since: Int64?, atMost limit: Int) throws -> [AuditEntry] {
    try run { connection in
      try connection.run(Self.entries(.integer(since ?? .min), .integer(Int64(limit)))).map { row in
        AuditEntry(
          number: row.integer(0), time: row.integer(1), actor: row.text(2), action: row.text(3),
          user: row.optionalText(4), details: row.text(5))
      }.reversed()
    }
  }

  private static let lastEntry = Statement(
    "SELECT time FROM fieldvault.audit_entry WHERE action = $1::text ORDER BY time DESC LIMIT 1")

  /// Returns the time of the last event of a kind.
  public func lastTime(of action: AuditEvent.Action) throws -> Int64? {
    try run { connection in try connection.run(Self.lastEntry(.text(action.rawValue))).first { $0.integer(0) } }
  }
}
