import CipherSQL
import ServerStorage
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension ServerDirectory {
  /// Returns the holder of a verified token of an identity provider. The first one of a user adds the user to the account.
  public func member(_ identity: Identity) throws -> Member {
    if let known = try member(hash: identity.hash) { return identity.holder(known) }
    try Self.check(identity.user, "user")
    try Self.check(identity.account, "account")
    let lock = try folder.lockForMaking()
    defer { withExtendedLifetime(lock) {} }
    try database.write { connection in
      try signIn(identity, SignIn(identity, try Self.facts(about: identity, connection)), connection)
    }
    guard let new = try member(hash: identity.hash) else { throw ServerError(.signInRefused, "the user was revoked") }
    return identity.holder(new)
  }

  private static func facts(about identity: Identity, _ connection: WriteConnection) throws -> SignIn.Facts {
    var tokens: [SignIn.Facts.Token] = []
    try connection.forEach(
      """
      SELECT Token.createdAt, revokedAt, hash = \(identity.hash), label IS \(SignIn.label) FROM Token JOIN Member USING (userId)
      WHERE name = \(identity.user)
      """
    ) { row in
      tokens.append(
        SignIn.Facts.Token(
          createdAt: try row.decode(at: 0), revokedAt: try row.decode(at: 1), isOwn: try row.decode(at: 2),
          isSignIn: try row.decode(at: 3)))
    }
    return SignIn.Facts(
      userAccount: try connection.fetchOne(
        "SELECT Account.name FROM Member JOIN Account USING (accountId) WHERE Member.name = \(identity.user)",
        as: String.self),
      hasAccount: try connection.fetchOne("SELECT 1 FROM Account WHERE name = \(identity.account)", as: Int.self)
        != nil,
      tokens: tokens)
  }

  private func signIn(_ identity: Identity, _ signIn: SignIn, _ connection: WriteConnection) throws {
    let now = environment.date
    if signIn.addsUser {
      try makeAccount(identity.account, at: now, connection)
      try add(user: identity.user, to: identity.account, at: now, connection)
    }
    let id =
      try signIn.renews
      ? connection.fetchOne(
        """
        UPDATE Token SET revokedAt = NULL, createdAt = \(now) WHERE hash = \(identity.hash) RETURNING tokenId
        """, as: Int64.self)
      : Self.insert(
        hash: identity.hash, NewToken(role: identity.role, label: SignIn.label, expires: nil), of: identity.user,
        at: now,
        connection)
    try note(.signedIn(identity, signIn, token: id ?? 0), by: Member.auditName(identity.user), connection)
  }
}
