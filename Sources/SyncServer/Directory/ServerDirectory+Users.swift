import CipherSQL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A user as `user list` shows it.
public struct ListedUser: Sendable, Equatable {
  /// The name, unique on the server.
  public let name: String
  /// The account whose records the user sees.
  public let account: String
  /// When the user was added, ISO 8601.
  public let createdAt: String
  /// When the last valid token was revoked; nil while one is valid.
  public let revokedAt: String?
}

extension ServerDirectory {
  /// The account of a user for whom none is named.
  public static let defaultAccount = "default"

  /// Adds a user, or gives a user whose token was revoked a new one.
  /// - Parameter account: made when there is none of that name; nil for the user's own, or else ``defaultAccount``.
  /// - Returns: the account, and the token, which is kept nowhere.
  /// - Throws: ``ServerError`` with `userExists` while the user has a valid token or belongs to another account, with
  ///   `badName`.
  public func addUser(_ name: String, account: String?) throws -> (account: String, token: String) {
    try Self.check(name, "user")
    if let account { try Self.check(account, "account") }
    let token = AccessToken.make()
    return try database.write { connection in
      let now = Date.nowInMilliseconds()
      let own = try connection.fetchOne(
        "SELECT Account.name FROM Member JOIN Account USING (accountId) WHERE Member.name = \(name)", as: String.self)
      if let own, let account, own != account {
        throw ServerError(.userExists, "the user \(name) belongs to another account", hint: "choose another name")
      }
      let valid = try connection.fetchOne(
        "SELECT count(*) FROM Token JOIN Member USING (userId) WHERE name = \(name) AND revokedAt IS NULL", as: Int.self
      )
      guard valid == 0 else {
        throw ServerError(
          .userExists, "there is a user \(name) already",
          hint: "fieldvault-server user revoke \(name) ends the token that is out there; then add the user again")
      }
      let target = own ?? account ?? Self.defaultAccount
      try connection.execute(
        """
        INSERT INTO Account (name, folder, createdAt)
        VALUES (\(target), lower(hex(randomblob(16))), \(now)) ON CONFLICT (name) DO NOTHING
        """)
      try connection.execute(
        """
        INSERT INTO Member (accountId, name, createdAt)
        SELECT accountId, \(name), \(now) FROM Account WHERE name = \(target) ON CONFLICT (name) DO NOTHING
        """)
      try connection.execute(
        """
        INSERT INTO Token (hash, userId, createdAt)
        SELECT \(AccessToken.hash(of: token)), userId, \(now) FROM Member WHERE name = \(name)
        """)
      return (target, token)
    }
  }

  /// All users, by name.
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

  /// Ends the tokens of a user, at once.
  /// - Returns: how many were valid.
  /// - Throws: ``ServerError`` with `noSuchUser`.
  public func revokeUser(_ name: String) throws -> Int {
    try database.write { connection in
      guard try connection.fetchOne("SELECT userId FROM Member WHERE name = \(name)", as: Int64.self) != nil else {
        throw ServerError(.noSuchUser, "there is no user \(name)", hint: "fieldvault-server user list shows them")
      }
      return try connection.execute(
        """
        UPDATE Token SET revokedAt = \(Date.nowInMilliseconds())
        WHERE revokedAt IS NULL AND userId = (SELECT userId FROM Member WHERE name = \(name))
        """)
    }
  }

  private static func check(_ name: String, _ what: String) throws(ServerError) {
    let isPlain = name.unicodeScalars.allSatisfy { scalar in
      scalar.value >= 0x20 && scalar.value != 0x7F && !(0x80...0x9F).contains(scalar.value)
    }
    guard isPlain, (1...100).contains(name.count), name.first != " ", name.last != " " else {
      throw ServerError(
        .badName, "a name of a \(what) has 1 to 100 characters, no control characters and no space at its ends")
    }
  }
}
