import CipherSQL
import ServerStorage
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The properties of a new token.
struct NewToken {
  let role: TokenRole
  let label: String?
  let expires: Date?
}

extension ServerDirectory {
  /// Adds a token for a user.
  public func addToken(
    to user: String, role: TokenRole = .device, label: String? = nil, expires: Date? = nil
  ) throws -> (id: Int64, token: String) {
    if let label { try Self.check(label, "token") }
    let now = environment.date
    try Self.check(expires, at: now)
    return try database.write { connection in
      try Self.checkUser(user, connection)
      let new = try Self.add(NewToken(role: role, label: label, expires: expires), to: user, at: now, connection)
      try note(.added(token: new.id, of: user, role, label: label, expires: expires?.sqlText), connection)
      return new
    }
  }

  /// Returns the tokens of a user, or of all users.
  public func tokens(of user: String? = nil) throws -> [ListedToken] {
    try database.read { connection in
      if let user { try Self.checkUser(user, connection) }
      let belongs: SQL = user.map { "Member.name = \($0)" } ?? "1"
      return try Self.listedTokens("\(Self.tokenColumns) WHERE \(belongs) ORDER BY tokenId", connection)
    }
  }

  static let tokenColumns: SQL = """
    SELECT tokenId, Member.name, Account.name, role, label, Token.createdAt, expiresAt, revokedAt, lastUsedAt
    FROM Token JOIN Member USING (userId) JOIN Account USING (accountId)
    """

  /// - Parameter sql: a query of ``tokenColumns``.
  static func listedTokens(_ sql: SQL, _ connection: Connection) throws -> [ListedToken] {
    var tokens: [ListedToken] = []
    try connection.forEach(sql) { row in
      guard let role = TokenRole(rawValue: try row.decode(at: 3)) else { return }
      tokens.append(
        ListedToken(
          id: try row.decode(at: 0), user: try row.decode(at: 1), account: try row.decode(at: 2), role: role,
          label: try row.decode(at: 4), createdAt: try row.decode(at: 5), expiresAt: try row.decode(at: 6),
          revokedAt: try row.decode(at: 7), lastUsedAt: try row.decode(at: 8)))
    }
    return tokens
  }

  /// Stores when tokens were last used.
  public func noteUse(of times: [Int64: Int64]) throws {
    try database.write { connection in
      for (id, time) in times {
        let text = Date(millisecondsSince1970: time)
        try connection.execute(
          """
          UPDATE Token SET lastUsedAt = \(text) WHERE tokenId = \(id) AND (lastUsedAt IS NULL OR lastUsedAt < \(text))
          """)
      }
    }
  }

  /// Revokes a token at once.
  public func revokeToken(_ id: Int64) throws -> Bool {
    try database.write { connection in
      let user = try connection.fetchOne(
        "SELECT name FROM Token JOIN Member USING (userId) WHERE tokenId = \(id)", as: String.self)
      guard let user else { throw ServerError.noSuchToken(id) }
      let isNew =
        try connection.execute(
          "UPDATE Token SET revokedAt = \(environment.date) WHERE tokenId = \(id) AND revokedAt IS NULL") == 1
      if isNew { try note(.revoked(token: id, of: user), connection) }
      return isNew
    }
  }

  static func add(
    _ new: NewToken, to user: String, at now: Date, _ connection: WriteConnection
  ) throws -> (id: Int64, token: String) {
    let token = AccessToken.make()
    let id = try insert(hash: AccessToken.hash(of: token), new, of: user, at: now, connection)
    return (id ?? 0, token)
  }

  static func insert(
    hash: [UInt8], _ new: NewToken, of user: String, at now: Date, _ connection: WriteConnection
  ) throws -> Int64? {
    try connection.fetchOne(
      """
      INSERT INTO Token (hash, userId, role, label, createdAt, expiresAt)
      SELECT \(hash), userId, \(new.role.rawValue), \(new.label.sqlArgument), \(now), \(new.expires.sqlArgument)
      FROM Member WHERE name = \(user) RETURNING tokenId
      """, as: Int64.self)
  }

  static func checkUser(_ name: String, _ connection: Connection) throws {
    guard try connection.fetchOne("SELECT 1 FROM Member WHERE name = \(name)", as: Int.self) != nil else {
      throw ServerError.noSuchUser(name)
    }
  }
}
