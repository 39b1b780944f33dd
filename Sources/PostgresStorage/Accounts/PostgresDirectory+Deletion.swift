import ServerStorage

extension PostgresDirectory {
  private static let account = Statement(
    """
    SELECT account_id, replace(account_id::text, '-', ''), deleted_at IS NOT NULL FROM fieldvault.account WHERE name = $1::text
    """)
  private static let userCount = Statement("SELECT count(*) FROM fieldvault.member WHERE account_id = $1::uuid")
  private static let forgetUsers = Statement(
    """
    UPDATE fieldvault.audit_entry AS entry SET user_name = $2::text || member.user_id, details = $3::text
    FROM fieldvault.member AS member WHERE member.account_id = $1::uuid AND entry.user_name = member.name
    """)
  private static let forgetActors = Statement(
    """
    UPDATE fieldvault.audit_entry AS entry SET actor = $2::text || member.user_id
    FROM fieldvault.member AS member WHERE member.account_id = $1::uuid AND entry.actor = $3::text || member.name
    """)
  private static let removeTokens = Statement("DELETE FROM fieldvault.token WHERE account_id = $1::uuid")
  private static let removeDevices = Statement("DELETE FROM fieldvault.device_contact WHERE account_id = $1::uuid")
  private static let removeUsers = Statement("DELETE FROM fieldvault.member WHERE account_id = $1::uuid")
  /// Waits for the transaction that changes the account just then. Later ones see the deletion.
  private static let markDeleted = Statement(
    "UPDATE fieldvault.account SET deleted_at = $2::bigint WHERE account_id = $1::uuid")

  /// Begins the deletion of an account.
  public func beginDeletion(of name: String, by member: Member?) throws -> AccountName {
    try change { connection in
      let found = try connection.run(Self.account(.text(name))).first { (id: $0.bytes(0), $0.text(1), $0.flag(2)) }
      guard let (bytes, folder, hasBegun) = found else { throw ServerError.noSuchAccount(name) }
      let (id, account) = (PostgresValue.bytes(bytes), AccountName(name: name, folder: folder))
      // Another account may have got the name of a deleted one.
      if let member, member.account != account { throw ServerError.noSuchAccount(name) }
      if hasBegun { return account }
      let users = try connection.run(Self.userCount(id)).first { Int($0.integer(0)) } ?? 0
      if let member, !member.mayDeleteAccount(users: users) { throw ServerError.otherUsers(name) }
      let number = PostgresValue.text(Member.auditNumberPrefix)
      _ = try connection.run([
        Self.markDeleted(id, .integer(database.environment.now)),
        Self.forgetUsers(id, number, .text(account.auditText)),
        Self.forgetActors(id, number, .text(Member.auditNamePrefix)), Self.removeTokens(id),
        Self.removeDevices(id), Self.removeUsers(id),
      ])
      try note(.deleted(account), by: member?.auditNumber, connection)
      return account
    }
  }

  private static let begun = Statement(
    """
    SELECT name, replace(account_id::text, '-', '') FROM fieldvault.account WHERE deleted_at IS NOT NULL ORDER BY deleted_at, name
    """)

  /// Returns the accounts whose deletion has begun and not ended.
  public func deletions() throws -> [AccountName] {
    try run { try $0.run(Self.begun()).map { AccountName(name: $0.text(0), folder: $0.text(1)) } }
  }

  private static let counts = Statement(
    """
    SELECT (SELECT count(*) FROM fieldvault.record WHERE account_id = $1::uuid),
      (SELECT count(*) FROM fieldvault.response WHERE account_id = $1::uuid)
    """)

  /// Returns the number of records and stored responses of an account.
  public func contents(of account: AccountName) throws -> AccountContents {
    try withConnection { connection in
      try connection.run(Self.counts(AccountRow.key(account))).first { row in
        AccountContents(rows: Int(row.integer(0)), responses: Int(row.integer(1)))
      } ?? AccountContents()
    }
  }

  /// The tables with rows of accounts, and the columns of their keys after the account. Tables of files are not among them: the
  /// deletion of files also queues the removal of objects.
  private static let tables = [
    ("record", "entity_type, entity_uuid"), ("unique_key", "entity_type, key_name, value"),
    ("reference", "entity_type, reference, target, entity_uuid"), ("response", "idempotency_key"),
    ("bucket", "entity_type, project, bucket"), ("membership", "project, source, holder"), ("device", "device_id"),
    ("tombstone", "entity_type, entity_uuid"), ("job", "number"), ("counter", "entity_type"), ("file_usage", "user_id"),
  ]
  /// The number of rows that one transaction removes, at most 50 ms of work.
  private static let rowsAtOnce: Int64 = 500
  /// The order of the key lets PostgreSQL read the first rows of an index only. Without it, each transaction would read the index of
  /// the whole account.
  private static let removals = tables.map { table, key in
    Statement(
      """
      DELETE FROM fieldvault.\(table) WHERE account_id = $1::uuid AND ctid = ANY (ARRAY (
        SELECT ctid FROM fieldvault.\(table) WHERE account_id = $1::uuid ORDER BY \(key) LIMIT $2::bigint))
      """)
  }
  private static let lockDeleted = Statement(
    "SELECT 1 FROM fieldvault.account WHERE account_id = $1::uuid AND deleted_at IS NOT NULL FOR NO KEY UPDATE")

  /// Removes the rows of the records and all that belongs to them.
  public func removeData(of account: AccountName) throws {
    let id = try AccountRow.key(account)
    try withConnection { connection in
      for removal in Self.removals {
        while try removeSome(removal, id, connection) == Self.rowsAtOnce {}
      }
    }
  }

  /// Runs one transaction. The lock keeps two nodes from removing the same rows.
  private func removeSome(
    _ removal: Statement, _ id: PostgresValue, _ connection: PostgresConnection
  ) throws -> Int64 {
    let isDeleted = try connection.begin(TransactionStatements.begin, [Self.lockDeleted(id)]).last?.count == 1
    let count = isDeleted ? try connection.run(removal(id, .integer(Self.rowsAtOnce))).changedCount : 0
    _ = try connection.run(TransactionStatements.commit())
    return Int64(count)
  }

  private static let removeAccount = Statement(
    "DELETE FROM fieldvault.account WHERE account_id = $1::uuid AND deleted_at IS NOT NULL")

  /// Ends the deletion of an account.
  public func finishDeletion(of account: AccountName) throws {
    try change { connection in
      guard try connection.run(Self.removeAccount(AccountRow.key(account))).changedCount == 1 else { return }
      try note(.removed(account), connection)
    }
  }

  /// Calls a closure with a connection of its own, so that requests do not wait for the one of the directory.
  private func withConnection<Result>(_ body: (PostgresConnection) throws -> Result) throws -> Result {
    do {
      return try body(PostgresConnection(database.settings, clock: database.environment.clock))
    } catch let error as PostgresError {
      throw ServerError(error)
    }
  }
}
