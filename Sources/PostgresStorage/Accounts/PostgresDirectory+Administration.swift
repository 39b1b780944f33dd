import ServerStorage
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

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
    FROM fieldvault.account AS account WHERE account.deleted_at IS NULL ORDER BY account.name COLLATE "C"
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
    "UPDATE fieldvault.account SET limits_to_members = $2::boolean WHERE name = $1::text AND deleted_at IS NULL")
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
  public func note(_ event: AuditEvent, by member: Member?) throws {
    try change { try note(event, by: member?.auditName, $0) }
  }

  /// - Parameter actor: the acting user; `nil` for the system's user.
  func note(_ event: AuditEvent, by actor: String? = nil, _ connection: PostgresConnection) throws {
    _ = try connection.run(
      Self.insertEntry(
        .integer(database.environment.now), .text(actor ?? database.settings.actor), .text(event.action.rawValue),
        .optional(event.user), .text(event.details)))
  }

  static let auditColumns = "SELECT number, time, actor, action, user_name, details FROM fieldvault.audit_entry"
  private static let entries = Statement(
    "\(auditColumns) WHERE time >= $1::bigint ORDER BY time DESC, number DESC LIMIT $2::bigint")

  /// Returns the newest entries of the audit log, oldest first.
  public func auditLog(since: Int64?, atMost limit: Int) throws -> [AuditEntry] {
    try run { connection in
      try connection.run(Self.entries(.integer(since ?? .min), .integer(Int64(limit)))).map(Self.auditEntry).reversed()
    }
  }

  /// - Parameter row: a row of ``auditColumns``.
  static func auditEntry(_ row: PostgresRow) -> AuditEntry {
    AuditEntry(
      number: row.integer(0), time: row.integer(1), actor: row.text(2), action: row.text(3), user: row.optionalText(4),
      details: row.text(5))
  }

  private static let lastEntry = Statement(
    "SELECT time FROM fieldvault.audit_entry WHERE action = $1::text ORDER BY time DESC LIMIT 1")

  /// Returns the time of the last event of a kind.
  public func lastTime(of action: AuditEvent.Action) throws -> Int64? {
    try run { connection in try connection.run(Self.lastEntry(.text(action.rawValue))).first { $0.integer(0) } }
  }
}

extension PostgresDirectory {
  /// The devices are ordered, so that two nodes lock the rows in the same order. A row that the statement inserts has no `xmax`.
  private static let storeContacts = Statement(
    """
    INSERT INTO fieldvault.device_contact AS device
      (account_id, device_id, token_id, version, first_seen_at, last_seen_at, position, told_at)
    SELECT account.account_id, seen.device_id, seen.token_id, seen.version, seen.time, seen.time, seen.position,
      CASE WHEN seen.is_refused THEN seen.time END
    FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::boolean[])
      AS seen (account_id, device_id, token_id, version, time, position, is_refused)
    JOIN fieldvault.account AS account ON account.account_id = seen.account_id::uuid AND account.deleted_at IS NULL
    ORDER BY 1, 2
    ON CONFLICT (account_id, device_id) DO UPDATE SET token_id = excluded.token_id,
      version = coalesce(excluded.version, device.version),
      last_seen_at = greatest(device.last_seen_at, excluded.last_seen_at),
      position = coalesce(excluded.position, device.position), told_at = coalesce(device.told_at, excluded.told_at)
    RETURNING account_id::text, xmax = 0
    """)
  /// The devices of the account are counted first, and ordered only if there are too many.
  static let forgetDevices = Statement(
    """
    DELETE FROM fieldvault.device_contact WHERE account_id = $1::text::uuid AND revoked_at IS NULL AND device_id = ANY (ARRAY (
      SELECT device_id FROM fieldvault.device_contact WHERE account_id = $1::text::uuid
        AND (SELECT count(*) FROM fieldvault.device_contact WHERE account_id = $1::text::uuid) > $2::bigint
      ORDER BY last_seen_at DESC, device_id OFFSET $2::bigint))
    """)

  /// Stores the last requests of devices.
  public func note(_ contacts: [DeviceContact.Key: DeviceContact]) throws {
    let all = Array(contacts)
    try run { connection in
      let stored = try connection.run(
        Self.storeContacts(
          .texts(all.map(\.key.account.folder)), .texts(all.map(\.key.deviceId)), .integers(all.map(\.value.tokenId)),
          .texts(all.map(\.value.version)), .integers(all.map(\.value.time)), .integers(all.map(\.value.position)),
          .flags(all.map(\.value.isRefused))))
      let grown = Set(stored.map { $0.flag(1) ? $0.text(0) : nil }.compactMap(\.self))
      guard !grown.isEmpty else { return }
      _ = try connection.run(
        grown.sorted().map { Self.forgetDevices(.text($0), .integer(Int64(DeviceContact.most))) })
    }
  }

  static let deviceColumns = """
    SELECT device.device_id, account.name, replace(account.account_id::text, '-', ''), member.name, device.token_id,
      device.version, device.first_seen_at, device.last_seen_at, device.position, device.revoked_at, device.told_at
    FROM fieldvault.device_contact AS device JOIN fieldvault.account AS account USING (account_id)
      LEFT JOIN fieldvault.token AS token ON token.account_id = device.account_id AND token.token_id = device.token_id
      LEFT JOIN fieldvault.member AS member ON member.account_id = token.account_id AND member.user_id = token.user_id
    """
  private static let listDevices = Statement(
    """
    \(deviceColumns) WHERE account.deleted_at IS NULL AND ($1::text IS NULL OR account.name = $1::text)
    ORDER BY account.name COLLATE "C", device.last_seen_at DESC, device.device_id
    """)

  /// Returns the devices of an account, or of all accounts, by account and last request.
  public func devices(of account: String?) throws -> [ListedDevice] {
    try run { connection in
      if let account, try connection.run(Self.accountByName(.text(account))).first({ !$0.flag(0) }) != true {
        throw ServerError.noSuchAccount(account)
      }
      return try connection.run(Self.listDevices(.optional(account))).map(Self.listedDevice)
    }
  }

  /// - Parameter row: a row of ``deviceColumns``.
  static func listedDevice(_ row: PostgresRow) -> ListedDevice {
    ListedDevice(
      id: row.text(0), account: AccountName(name: row.text(1), folder: row.text(2)), user: row.optionalText(3),
      tokenId: row.integer(4), version: row.optionalText(5), firstSeenAt: row.integer(6), lastSeenAt: row.integer(7),
      position: row.optionalInteger(8), revokedAt: row.optionalInteger(9), toldAt: row.optionalInteger(10))
  }

  private static let usersOfDevice = Statement(
    """
    SELECT member.name FROM fieldvault.device_contact AS device
      LEFT JOIN fieldvault.token AS token USING (account_id, token_id)
      LEFT JOIN fieldvault.member AS member USING (account_id, user_id) WHERE device.device_id = $1::text
    ORDER BY member.name COLLATE "C" NULLS LAST
    """)
  private static let revokeDevice = Statement(
    """
    UPDATE fieldvault.device_contact SET revoked_at = $2::bigint WHERE device_id = $1::text AND revoked_at IS NULL
    """)

  /// Revokes a device in all accounts that know it.
  public func revokeDevice(_ id: String) throws -> Bool {
    try change { connection in
      guard let user = try connection.run(Self.usersOfDevice(.text(id))).first({ $0.optionalText(0) }) else {
        throw ServerError.noSuchDevice(id)
      }
      let isNew =
        try connection.run(Self.revokeDevice(.text(id), .integer(database.environment.now))).changedCount > 0
      if isNew { try note(.revoked(device: id, of: user), connection) }
      return isNew
    }
  }

  private static let lastChange = Statement(
    "SELECT last_sequence FROM fieldvault.account WHERE account_id = $1::uuid")

  /// Returns the number of the last change of an account.
  public func lastSequence(of account: AccountName) throws -> Int64 {
    try run { connection in
      try connection.run(Self.lastChange(AccountRow.key(account))).first { $0.integer(0) } ?? 0
    }
  }
}

extension PostgresDirectory {
  private static let insertToken = Statement(
    """
    INSERT INTO fieldvault.token (hash, account_id, user_id, role, label, created_at, expires_at)
    SELECT $1::bytea, account_id, user_id, $3::text, $4::text, $5::bigint, $6::bigint
    FROM fieldvault.member WHERE name = $2::text RETURNING token_id
    """)

  /// Adds the row of a token or of a sign-in.
  func insert(
    _ hash: [UInt8], _ user: String, _ role: TokenRole, label: String?, _ expires: Date?,
    _ connection: PostgresConnection
  ) throws -> Int64 {
    let end = expires.map { Int64(($0.timeIntervalSince1970 * 1_000).rounded()) }
    let id = try connection.run(
      Self.insertToken(
        .bytes(hash), .text(user), .text(role.rawValue), .optional(label), .integer(database.environment.now),
        end.map { .integer($0) } ?? .null)
    ).first { $0.integer(0) }
    return id ?? 0
  }

  private static let tokensOfUser = Statement(
    """
    SELECT token.created_at, token.revoked_at, token.hash = $2::bytea, token.label IS NOT DISTINCT FROM $3::text
    FROM fieldvault.token AS token JOIN fieldvault.member AS member USING (account_id, user_id)
    WHERE member.name = $1::text
    """)
  private static let renewToken = Statement(
    """
    UPDATE fieldvault.token SET revoked_at = NULL, created_at = $2::bigint WHERE hash = $1::bytea RETURNING token_id
    """)

  /// Returns the holder of a verified token of an identity provider. The first one of a user adds the user to the account.
  public func member(_ identity: Identity) throws -> Member {
    if let known = try member(hash: identity.hash) { return identity.holder(known) }
    try Self.check(identity.user, "user")
    try Self.check(identity.account, "account")
    try change { connection in
      try signIn(identity, SignIn(identity, try Self.facts(about: identity, connection)), connection)
    }
    guard let new = try member(hash: identity.hash) else { throw ServerError(.signInRefused, "the user was revoked") }
    return identity.holder(new)
  }

  private static func facts(about identity: Identity, _ connection: PostgresConnection) throws -> SignIn.Facts {
    SignIn.Facts(
      userAccount: try connection.run(userAccount(.text(identity.user), .integer(0))).first { $0.text(0) },
      hasAccount: try connection.run(accountByName(.text(identity.account))).count == 1,
      tokens: try connection.run(tokensOfUser(.text(identity.user), .bytes(identity.hash), .text(SignIn.label))).map {
        row in
        SignIn.Facts.Token(
          createdAt: time(row.integer(0)), revokedAt: row.optionalInteger(1).map(time), isOwn: row.flag(2),
          isSignIn: row.flag(3))
      })
  }

  private func signIn(_ identity: Identity, _ signIn: SignIn, _ connection: PostgresConnection) throws {
    let now = database.environment.now
    if signIn.addsUser {
      try makeAccount(identity.account, connection)
      _ = try connection.run(Self.insertUser(.text(identity.user), .text(identity.account), .integer(now)))
    }
    let id =
      try signIn.renews
      ? connection.run(Self.renewToken(.bytes(identity.hash), .integer(now))).first { $0.integer(0) } ?? 0
      : insert(identity.hash, identity.user, identity.role, label: SignIn.label, nil, connection)
    try note(.signedIn(identity, signIn, token: id), by: Member.auditName(identity.user), connection)
  }
}
