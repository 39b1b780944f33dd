import CipherSQL
import ServerStorage
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The data of a user for `user list`.
public struct ListedUser: Sendable, Equatable {
  /// The name, unique on the server.
  public let name: String
  /// The account whose records the user sees.
  public let account: String
  /// The creation time of the user, ISO 8601.
  public let createdAt: String
  /// The time when the last valid token was revoked; `nil` while a token is valid.
  public let revokedAt: String?
}

extension ServerDirectory {
  /// The default account of a user.
  public static let defaultAccount = "default"

  /// Adds a user with a first token, or gives a user without a valid token a new one.
  /// - Parameters:
  ///   - account: created if missing; `nil` for the user's existing account, otherwise ``defaultAccount``.
  ///   - expires: the expiry time; `nil` if the token does not expire.
  /// - Returns: the account, and the token, which is never stored.
  /// - Throws: ``ServerError`` with `userExists` while the user has a valid token or belongs to another account, with
  ///   `badName`, with `badExpiry`.
  public func addUser(
    _ name: String, account: String?, role: TokenRole = .device, expires: Date? = nil
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
        throw ServerError(.userExists, "the user \(name) belongs to another account", hint: "choose another name")
      }
      let valid = try connection.fetchOne(
        """
        SELECT count(*) FROM Token JOIN Member USING (userId)
        WHERE name = \(name) AND revokedAt IS NULL AND (expiresAt IS NULL OR expiresAt > \(now))
        """, as: Int.self)
      guard valid == 0 else {
        throw ServerError(
          .userExists, "the user \(name) already exists",
          remedy: .addToken(user: name))
      }
      let target = own ?? account ?? Self.defaultAccount
      try makeAccount(target, at: now, connection)
      try connection.execute(
        """
        INSERT INTO Member (accountId, name, createdAt)
        SELECT accountId, \(name), \(now) FROM Account WHERE name = \(target) ON CONFLICT (name) DO NOTHING
        """)
      let new = NewToken(role: role, label: nil, expires: expires)
      return (target, try Self.add(new, to: name, at: now, connection).token)
    }
  }

  /// Creates an account unless its name exists. The databases come first, so that the directory never names an account
  /// without databases.
  private func makeAccount(_ name: String, at now: Date, _ connection: WriteConnection) throws {
    guard try connection.fetchOne("SELECT 1 FROM Account WHERE name = \(name)", as: Int.self) == nil else { return }
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
          CASE count(Token.hash) - count(revokedAt) WHEN 0 THEN max(revokedAt) END
        FROM Member JOIN Account USING (accountId) LEFT JOIN Token USING (userId)
        GROUP BY userId ORDER BY Member.name
        """, as: String.self, String.self, String.self, Optional<String>.self)
    }.map { ListedUser(name: $0.0, account: $0.1, createdAt: $0.2, revokedAt: $0.3) }
  }

  /// Revokes the tokens of a user at once.
  /// - Returns: the number of tokens that were valid.
  /// - Throws: ``ServerError`` with `noSuchUser`.
  public func revokeUser(_ name: String) throws -> Int {
    try database.write { connection in
      try Self.checkUser(name, connection)
      return try connection.execute(
        """
        UPDATE Token SET revokedAt = \(environment.date)
        WHERE revokedAt IS NULL AND userId = (SELECT userId FROM Member WHERE name = \(name))
        """)
    }
  }

  static func check(_ name: String, _ what: String) throws(ServerError) {
    let isPlain = name.unicodeScalars.allSatisfy { scalar in
      scalar.value >= 0x20 && scalar.value != 0x7F && !(0x80...0x9F).contains(scalar.value)
    }
    guard isPlain, (1...100).contains(name.count), name.first != " ", name.last != " " else {
      throw ServerError(
        .badName, "the name of a \(what) must have 1 to 100 characters, no control characters and no space at its ends")
    }
  }
}
