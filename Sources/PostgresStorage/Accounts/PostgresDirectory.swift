import CipherSQL
import Platform
import SchemaModel
import ServerStorage
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The accounts, users and tokens in the database that all nodes share.
///
/// Its functions block the thread for a round trip. After a failure they fail at once for a second, so that the threads that
/// accept requests do not wait for a database that is down.
public final class PostgresDirectory: AccountDirectory {
  private struct State {
    var connection: PostgresConnection?
    var failedAt: ContinuousClock.Instant?
  }

  let database: PostgresDatabase
  private let state = Locked(State())
  private let node: String

  /// Opens the directory of a database.
  public init(_ database: PostgresDatabase) {
    self.database = database
    node = database.environment.uuids.next().sqlText
  }

  /// The UUID of the server.
  public var serverUuid: String { database.serverUuid }

  /// Closes the connection of the directory.
  public func close() { state.withLock { $0.connection = nil } }

  // MARK: Transactions

  private static let pause = Duration.seconds(1)

  /// Runs statements on the connection of the directory. A lost connection is replaced once.
  func run<Result>(_ body: (PostgresConnection) throws -> Result) throws -> Result {
    let clock = database.environment.clock
    return try state.withLock { state in
      if let failedAt = state.failedAt, clock.instant() < failedAt + Self.pause {
        throw ServerError(.busy, "the database cannot be reached")
      }
      do {
        if let known = state.connection, known.isIdle {
          do {
            return try body(known)
          } catch let error as PostgresError where error.isLostConnection {
            state.connection = nil
          }
        }
        let new = try PostgresConnection(database.settings, clock: clock)
        defer { if new.isUsable { state.connection = new } }
        state.failedAt = nil
        return try body(new)
      } catch let error as PostgresError {
        if error.isRepeatable { state.failedAt = clock.instant() }
        throw ServerError(error)
      }
    }
  }

  /// Runs a transaction that changes users or tokens. One node at a time has one.
  func change<Result>(_ body: (PostgresConnection) throws -> Result) throws -> Result {
    try run { connection in
      do {
        _ = try connection.begin(TransactionStatements.begin, [Self.lock(.integer(DatabaseSetup.lock))])
        let result = try body(connection)
        _ = try connection.run([
          ChangeChannel.notification(of: ChangeChannel.tokensChanged), TransactionStatements.commit(),
        ])
        database.tokens.clear()
        return result
      } catch {
        if connection.isUsable { _ = try? connection.run(TransactionStatements.rollback()) }
        throw error
      }
    }
  }

  private static let lock = Statement("SELECT pg_advisory_xact_lock($1::bigint)")

  // MARK: Accounts

  private static let allAccounts = Statement(
    "SELECT name, replace(account_id::text, '-', '') FROM fieldvault.account WHERE deleted_at IS NULL "
      + "ORDER BY created_at, name")

  /// Returns all accounts.
  public func accounts() throws -> [AccountName] {
    try run { try Self.accounts($0) }
  }

  static func accounts(_ connection: PostgresConnection) throws -> [AccountName] {
    try connection.run(allAccounts()).map { AccountName(name: $0.text(0), folder: $0.text(1)) }
  }

  static let accountByName = Statement("SELECT deleted_at IS NOT NULL FROM fieldvault.account WHERE name = $1::text")

  func makeAccount(_ name: String, _ connection: PostgresConnection) throws {
    if let isDeleted = try connection.run(Self.accountByName(.text(name))).first({ $0.flag(0) }) {
      if isDeleted { throw ServerError.isBeingDeleted(name) }
      return
    }
    let environment = database.environment
    let account = AccountName(name: name, folder: HexText.text(environment.random.bytes(16)))
    _ = try connection.run(
      try AccountRow.insert(account, at: environment.now, epoch: HexText.text(environment.random.bytes(16))))
  }

  private static let nextIncarnation = Statement("UPDATE fieldvault.server SET incarnation = incarnation + 1")

  /// Starts a new epoch of every account, because the database may be older than data that was acknowledged before. Running
  /// nodes begin it with their next connection, so they have to be stopped before.
  /// - Returns: the number of accounts.
  public func startIncarnation() throws -> Int {
    try change { connection in
      _ = try connection.run(Self.nextIncarnation())
      let count = try connection.run(Self.allAccounts()).count
      try note(.startedEpoch(accounts: count), connection)
      return count
    }
  }

  // MARK: Holders of tokens

  static let memberByHash = Statement(
    """
    SELECT token.token_id, token.role, token.user_id, member.name, account.name,
      replace(account.account_id::text, '-', ''), token.expires_at, member.record_uuid, account.limits_to_members,
      ARRAY (
        SELECT device_id FROM fieldvault.device_contact AS device
        WHERE device.account_id = token.account_id AND device.revoked_at IS NOT NULL)
    FROM fieldvault.token AS token
    JOIN fieldvault.member AS member USING (account_id, user_id)
    JOIN fieldvault.account AS account USING (account_id)
    WHERE token.hash = $1::bytea AND token.revoked_at IS NULL AND (token.expires_at IS NULL OR token.expires_at > $2::bigint)
    """)
  private static let validToken = Statement(
    """
    SELECT 1 FROM fieldvault.token
    WHERE token_id = $1::bigint AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2::bigint)
    """)

  /// Returns the holder of a token; `nil` for an unknown, revoked or expired token.
  public func member(token: String) throws -> Member? {
    try member(hash: AccessToken.hash(of: token))
  }

  func member(hash: [UInt8]) throws -> Member? {
    if let known = database.tokens.member(hash: hash) { return known }
    let generation = database.tokens.generation
    let found = try run { connection in
      try connection.run(Self.memberByHash(.bytes(hash), .integer(database.environment.now))).first { row in
        TokenRole(rawValue: row.text(1)).map { role in
          let account = AccountName(name: row.text(4), folder: row.text(5))
          let member = Member(
            tokenId: row.integer(0), role: role, userId: row.integer(2), name: row.text(3), account: account,
            record: row.optionalText(7), limitsToMembers: row.flag(8), revokedDevices: Set(row.texts(9)))
          return (member, row.optionalInteger(6))
        }
      } ?? nil
    }
    guard let (member, expiresAt) = found else { return nil }
    database.tokens.keep(member, expiresAt: expiresAt, hash: hash, generation: generation)
    return member
  }

  /// Returns whether the token that a member showed is still valid.
  public func isValid(_ member: Member) throws -> Bool {
    if database.tokens.isValid(member.tokenId) { return true }
    return try run { connection in
      try connection.run(Self.validToken(.integer(member.tokenId), .integer(database.environment.now))).count == 1
    }
  }

  // MARK: Users

  static let userAccount = Statement(
    """
    SELECT account.name, EXISTS (
      SELECT FROM fieldvault.token AS token
      WHERE token.account_id = member.account_id AND token.user_id = member.user_id AND token.revoked_at IS NULL
        AND (token.expires_at IS NULL OR token.expires_at > $2::bigint))
    FROM fieldvault.member AS member JOIN fieldvault.account AS account USING (account_id) WHERE member.name = $1::text
    """)
  static let insertUser = Statement(
    """
    INSERT INTO fieldvault.member (account_id, name, created_at)
    SELECT account_id, $1::text, $3::bigint FROM fieldvault.account WHERE name = $2::text
    """)

  /// Adds a user with a first token, or gives a user without a valid token a new one.
  public func addUser(
    _ name: String, account: String?, role: TokenRole, expires: Date?, record: String?
  ) throws -> (account: String, token: String) {
    try Self.check(name, "user")
    if let account { try Self.check(account, "account") }
    try Self.check(expires, at: database.environment.date)
    let now = database.environment.now
    return try change { connection in
      let own = try connection.run(Self.userAccount(.text(name), .integer(now))).first { ($0.text(0), $0.flag(1)) }
      if let own, let account, own.0 != account { throw ServerError.otherAccount(name) }
      if own?.1 == true { throw ServerError.userExists(name) }
      let target = own?.0 ?? account ?? Self.defaultAccount
      try makeAccount(target, connection)
      if own == nil { _ = try connection.run(Self.insertUser(.text(name), .text(target), .integer(now))) }
      if let record { _ = try connection.run(Self.setRecord(.text(name), .text(record))) }
      try note(.added(user: name, to: target, role, expires: expires?.sqlText, record: record), connection)
      return (target, try add(to: name, role, label: nil, expires, connection).token)
    }
  }

  private static let allUsers = Statement(
    """
    SELECT member.name, account.name, member.created_at,
      CASE WHEN bool_and(token.revoked_at IS NOT NULL) THEN max(token.revoked_at) END, member.record_uuid
    FROM fieldvault.member AS member JOIN fieldvault.account AS account USING (account_id)
      LEFT JOIN fieldvault.token AS token USING (account_id, user_id)
    GROUP BY member.account_id, member.user_id, member.name, account.name, member.created_at, member.record_uuid
    ORDER BY member.name COLLATE "C"
    """)

  /// Returns all users, by name.
  public func users() throws -> [ListedUser] {
    try run { connection in
      try connection.run(Self.allUsers()).map { row in
        ListedUser(
          name: row.text(0), account: row.text(1), createdAt: Self.time(row.integer(2)),
          revokedAt: row.optionalInteger(3).map(Self.time), record: row.optionalText(4))
      }
    }
  }

  private static let revokeAll = Statement(
    """
    UPDATE fieldvault.token AS token SET revoked_at = $2::bigint FROM fieldvault.member AS member
    WHERE member.name = $1::text AND token.account_id = member.account_id AND token.user_id = member.user_id
      AND token.revoked_at IS NULL
    """)

  /// Revokes the tokens of a user at once.
  public func revokeUser(_ name: String) throws -> Int {
    try change { connection in
      try checkUser(name, connection)
      let count = try connection.run(Self.revokeAll(.text(name), .integer(database.environment.now))).changedCount
      if count > 0 { try note(.revoked(user: name, tokens: count), connection) }
      return count
    }
  }

  func checkUser(_ name: String, _ connection: PostgresConnection) throws {
    let found = try connection.run(Self.userAccount(.text(name), .integer(0)))
    guard found.count == 1 else { throw ServerError.noSuchUser(name) }
  }

  // MARK: Tokens

  private func add(
    to user: String, _ role: TokenRole, label: String?, _ expires: Date?, _ connection: PostgresConnection
  ) throws -> (id: Int64, token: String) {
    let token = AccessToken.make()
    return (try insert(AccessToken.hash(of: token), user, role, label: label, expires, connection), token)
  }

  /// Adds a token for a user.
  public func addToken(
    to user: String, role: TokenRole, label: String?, expires: Date?
  ) throws -> (id: Int64, token: String) {
    if let label { try Self.check(label, "token") }
    try Self.check(expires, at: database.environment.date)
    return try change { connection in
      try checkUser(user, connection)
      let new = try add(to: user, role, label: label, expires, connection)
      try note(.added(token: new.id, of: user, role, label: label, expires: expires?.sqlText), connection)
      return new
    }
  }

  static let tokenColumns = """
    SELECT token.token_id, member.name, account.name, token.role, token.label, token.created_at, token.expires_at,
      token.revoked_at, token.last_used_at
    FROM fieldvault.token AS token
    JOIN fieldvault.member AS member USING (account_id, user_id)
    JOIN fieldvault.account AS account USING (account_id)
    """
  private static let listTokens = Statement(
    "\(tokenColumns) WHERE $1::text IS NULL OR member.name = $1::text ORDER BY token.token_id")

  /// Returns the tokens of a user, or of all users.
  public func tokens(of user: String?) throws -> [ListedToken] {
    try run { connection in
      if let user { try checkUser(user, connection) }
      return try connection.run(Self.listTokens(.optional(user))).map(Self.listedToken).compactMap { $0 }
    }
  }

  /// - Parameter row: a row of ``tokenColumns``.
  static func listedToken(_ row: PostgresRow) -> ListedToken? {
    TokenRole(rawValue: row.text(3)).map { role in
      ListedToken(
        id: row.integer(0), user: row.text(1), account: row.text(2), role: role, label: row.optionalText(4),
        createdAt: time(row.integer(5)), expiresAt: row.optionalInteger(6).map(time),
        revokedAt: row.optionalInteger(7).map(time), lastUsedAt: row.optionalInteger(8).map(time))
    }
  }

  private static let tokenUser = Statement(
    """
    SELECT member.name FROM fieldvault.token AS token JOIN fieldvault.member AS member USING (account_id, user_id)
    WHERE token.token_id = $1::bigint
    """)
  private static let revokeOne = Statement(
    "UPDATE fieldvault.token SET revoked_at = $2::bigint WHERE token_id = $1::bigint AND revoked_at IS NULL")

  /// Revokes a token at once.
  public func revokeToken(_ id: Int64) throws -> Bool {
    try change { connection in
      guard let user = try connection.run(Self.tokenUser(.integer(id))).first({ $0.text(0) }) else {
        throw ServerError.noSuchToken(id)
      }
      let isNew = try connection.run(Self.revokeOne(.integer(id), .integer(database.environment.now))).changedCount == 1
      if isNew { try note(.revoked(token: id, of: user), connection) }
      return isNew
    }
  }

  static func time(_ milliseconds: Int64) -> String {
    Date(timeIntervalSince1970: Double(milliseconds) / 1_000).sqlText
  }

  // MARK: Schemas

  private static let servedSchemas = Statement(
    "SELECT name, folder, files FROM fieldvault.served_schema ORDER BY position")
  private static let storeSchema = Statement(
    """
    INSERT INTO fieldvault.served_schema (name, folder, files) VALUES ($1::text, $2::text, $3::text)
    ON CONFLICT (name) DO UPDATE SET folder = excluded.folder, files = excluded.files
    """)

  static func storedSchemas(_ connection: PostgresConnection) throws -> [ServedSchemas.Row] {
    try connection.run(servedSchemas()).map { row in
      ServedSchemas.Row(
        name: row.text(0), folder: row.optionalText(1), files: try SchemaSet.files(parsing: row.text(2)))
    }
  }

  /// Adds schemas to the served ones, and returns all.
  public func schemas(
    adding new: [(source: SchemaSource, schema: Schema)], shipped: [Schema]
  ) throws -> [Schema] {
    try change { connection in
      let known = try Self.storedSchemas(connection)
      let served = try ServedSchemas(known, adding: new, shipped: shipped)
      for row in served.rows where !known.contains(row) {
        _ = try connection.run(
          Self.storeSchema(.text(row.name), .optional(row.folder), .text(SchemaSet.json(row.files).json)))
      }
      return served.schemas
    }
  }

  // MARK: Retention

  private static let retentionTime = Statement("SELECT retention_time FROM fieldvault.server")
  private static let storeTime = Statement(
    "UPDATE fieldvault.server SET retention_time = greatest(coalesce(retention_time, $1::bigint), $1::bigint)")

  /// Returns the stored time of retention.
  public func retentionTime() throws -> Int64? {
    try run { connection in try connection.run(Self.retentionTime()).first { $0.optionalInteger(0) } ?? nil }
  }

  /// Stores the time of retention.
  public func storeRetentionTime(_ time: Int64) throws {
    try run { connection in _ = try connection.run(Self.storeTime(.integer(time))) }
  }

  private static let takeRetention = Statement(
    """
    UPDATE fieldvault.server SET retention_owner = $1::text, retention_owned_until = $3::bigint
    WHERE retention_owner IS NULL OR retention_owner = $1::text OR retention_owned_until < $2::bigint
    """)

  /// Returns whether this node removes old data until a time.
  public func ownsRetention(at now: Int64, until end: Int64) throws -> Bool {
    try run { try $0.run(Self.takeRetention(.text(node), .integer(now), .integer(end))).changedCount == 1 }
  }
}
