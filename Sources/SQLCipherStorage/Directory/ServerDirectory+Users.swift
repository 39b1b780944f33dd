import CipherSQL
import ServerStorage
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension ServerDirectory {
  /// Adds a user with a first token, or gives a user without a valid token a new one.
  public func addUser(
    _ name: String, account: String?, role: TokenRole = .device, expires: Date? = nil, record: String? = nil
  ) throws -> (account: String, token: String) {
    try Self.check(name, "user")
    if let account { try Self.check(account, "account") }
    let now = environment.date
    try Self.check(expires, at: now)
    let lock = try folder.lockForMaking()
    defer { withExtendedLifetime(lock) {} }
    return try database.write { connection in
      let own = try connection.fetchOne(
        "SELECT Account.name FROM Member JOIN Account USING (accountId) WHERE Member.name = \(name)", as: String.self)
      if let own, let account, own != account {
        throw ServerError.otherAccount(name)
      }
      let valid = try connection.fetchOne(
        """
        SELECT count(*) FROM Token JOIN Member USING (userId)
        WHERE name = \(name) AND revokedAt IS NULL AND (expiresAt IS NULL OR expiresAt > \(now))
        """, as: Int.self)
      guard valid == 0 else {
        throw ServerError.userExists(name)
      }
      let target = own ?? account ?? Self.defaultAccount
      try makeAccount(target, at: now, connection)
      try add(user: name, to: target, at: now, connection)
      if let record { try connection.execute("UPDATE Member SET recordUuid = \(record) WHERE name = \(name)") }
      let new = NewToken(role: role, label: nil, expires: expires)
      try note(.added(user: name, to: target, role, expires: expires?.sqlText, record: record), connection)
      return (target, try Self.add(new, to: name, at: now, connection).token)
    }
  }

  /// Adds a user unless its name exists.
  func add(user: String, to account: String, at now: Date, _ connection: WriteConnection) throws {
    try connection.execute(
      """
      INSERT INTO Member (accountId, name, createdAt)
      SELECT accountId, \(user), \(now) FROM Account WHERE name = \(account) ON CONFLICT (name) DO NOTHING
      """)
  }

  /// Creates an account unless its name exists. The databases come first, so that the directory never names an account
  /// without databases.
  func makeAccount(_ name: String, at now: Date, _ connection: WriteConnection) throws {
    if let isDeleted = try connection.fetchOne(
      "SELECT deletedAt IS NOT NULL FROM Account WHERE name = \(name)", as: Bool.self)
    {
      if isDeleted { throw ServerError.isBeingDeleted(name) }
      return
    }
    let account = try connection.fetchOne("SELECT lower(hex(randomblob(16)))", as: String.self) ?? ""
    try folder.makeAccount(account)
    try connection.execute("INSERT INTO Account (name, folder, createdAt) VALUES (\(name), \(account), \(now))")
  }

  /// Returns all users, by name.
  public func users() throws -> [ListedUser] {
    try database.read { connection in
      try connection.fetchRows(
        """
        SELECT Member.name, Account.name, Member.createdAt,
          CASE count(Token.hash) - count(revokedAt) WHEN 0 THEN max(revokedAt) END, recordUuid
        FROM Member JOIN Account USING (accountId) LEFT JOIN Token USING (userId)
        GROUP BY userId ORDER BY Member.name
        """, as: String.self, String.self, String.self, Optional<String>.self,
        Optional<String>.self)
    }.map { ListedUser(name: $0.0, account: $0.1, createdAt: $0.2, revokedAt: $0.3, record: $0.4) }
  }

  /// Returns all accounts with their users, by name.
  public func listedAccounts() throws -> [ListedAccount] {
    try database.read { connection in
      try connection.fetchRows(
        """
        SELECT Account.name, folder, count(userId), Account.createdAt, limitsToMembers
        FROM Account LEFT JOIN Member USING (accountId) WHERE deletedAt IS NULL
        GROUP BY accountId ORDER BY Account.name
        """, as: String.self, String.self, Int.self, String.self, Bool.self)
    }.map {
      ListedAccount(
        account: AccountName(name: $0.0, folder: $0.1), users: $0.2, createdAt: $0.3, limitsToMembers: $0.4)
    }
  }

  /// Connects a user with a record.
  public func linkUser(_ name: String, to record: String?) throws {
    try database.write { connection in
      try Self.checkUser(name, connection)
      try connection.execute("UPDATE Member SET recordUuid = \(record) WHERE name = \(name)")
      try note(.linked(user: name, to: record), connection)
    }
  }

  /// Sets whether an account limits devices to the projects of which their users are members.
  public func setMembership(_ isLimited: Bool, of account: String) throws -> [String] {
    try database.write { connection in
      let count = try connection.execute(
        "UPDATE Account SET limitsToMembers = \(isLimited) WHERE name = \(account) AND deletedAt IS NULL")
      guard count == 1 else { throw ServerError.noSuchAccount(account) }
      try note(.changedMembership(of: account, isLimited: isLimited), connection)
      return try connection.fetch(
        """
        SELECT Member.name FROM Member JOIN Account USING (accountId)
        WHERE Account.name = \(account) AND recordUuid IS NULL ORDER BY Member.name
        """, as: String.self)
    }
  }

  /// Revokes the tokens of a user at once.
  public func revokeUser(_ name: String) throws -> Int {
    try database.write { connection in
      try Self.checkUser(name, connection)
      let count = try connection.execute(
        """
        UPDATE Token SET revokedAt = \(environment.date)
        WHERE revokedAt IS NULL AND userId = (SELECT userId FROM Member WHERE name = \(name))
        """)
      if count > 0 { try note(.revoked(user: name, tokens: count), connection) }
      return count
    }
  }
}
