import CSodium
import SyncModel

/// The user that a verified token of an identity provider names.
public struct Identity: Equatable, Sendable {
  /// The issuer of the token.
  public let issuer: String
  /// The name of the account.
  public let account: String
  /// The name of the user.
  public let user: String
  /// The role of the token.
  public let role: TokenRole
  /// The time from which the token is refused, in milliseconds since 1970-01-01 UTC.
  public let expiresAt: Int64
  /// Whether a missing account is created.
  public let createsAccount: Bool

  /// Creates an identity from its parts.
  package init(
    issuer: String, account: String, user: String, role: TokenRole, expiresAt: Int64, createsAccount: Bool = false
  ) {
    (self.issuer, self.account, self.user, self.role) = (issuer, account, user, role)
    (self.expiresAt, self.createsAccount) = (expiresAt, createsAccount)
  }

  /// The key of the sign-in in the directory: a keyed BLAKE2b-256, so that no token of this server has the same hash.
  package var hash: [UInt8] {
    let parts = [issuer, account, user, role.rawValue]
    // Each length is included, so that no two identities have the same bytes.
    let bytes = parts.flatMap { part in Array("\(part.utf8.count):".utf8) + Array(part.utf8) }
    let key = Array("FieldVault sign-in of a provider".utf8)
    var hash = [UInt8](repeating: 0, count: 32)
    _ = crypto_generichash(&hash, hash.count, bytes, UInt64(bytes.count), key, key.count)
    return hash
  }

  /// Returns the holder of the sign-in until the token expires.
  package func holder(_ member: Member) -> Member {
    var member = member
    member.expiresAt = expiresAt
    return member
  }
}

/// The first request of a user with a token of an identity provider.
///
/// The directory keeps a row of a token for each user and role that signed in, so that commands list and revoke sign-ins like
/// tokens. A revoked sign-in stays refused until the operator adds a token for the user.
package struct SignIn: Equatable, Sendable {
  /// The data of the directory about a user.
  package struct Facts: Sendable {
    /// A token or a sign-in of the user.
    package struct Token: Sendable {
      /// The time of its creation, ISO 8601.
      let createdAt: String
      /// The time of its revocation; `nil` for a valid one.
      let revokedAt: String?
      /// Whether it is the sign-in of this provider and role.
      let isOwn: Bool
      /// Whether it is a sign-in, which the user has made, and no token of the operator.
      let isSignIn: Bool

      package init(createdAt: String, revokedAt: String?, isOwn: Bool, isSignIn: Bool) {
        (self.createdAt, self.revokedAt, self.isOwn, self.isSignIn) = (createdAt, revokedAt, isOwn, isSignIn)
      }
    }

    /// The account of the user; `nil` for a new user.
    let userAccount: String?
    /// Whether the account of the token exists.
    let hasAccount: Bool
    let tokens: [Token]

    package init(userAccount: String?, hasAccount: Bool, tokens: [Token]) {
      (self.userAccount, self.hasAccount, self.tokens) = (userAccount, hasAccount, tokens)
    }
  }

  /// Whether the user is added to the directory.
  package let addsUser: Bool
  /// Whether a revoked sign-in becomes valid again, in place of a new one.
  package let renews: Bool

  /// The label of sign-ins in lists of tokens.
  package static let label = "identity provider"

  /// Decides how a user is let in.
  /// - Throws: ``ServerError`` with `signInRefused`.
  package init(_ identity: Identity, _ facts: Facts) throws(ServerError) {
    guard let account = facts.userAccount else {
      guard facts.hasAccount || identity.createsAccount else {
        throw ServerError(.signInRefused, "the account of the token does not exist")
      }
      (addsUser, renews) = (true, false)
      return
    }
    guard account.utf8.elementsEqual(identity.account.utf8) else {
      throw ServerError(.signInRefused, "the user of the token belongs to another account")
    }
    let own = facts.tokens.first(where: \.isOwn)
    let isAdmitted =
      facts.tokens.isEmpty
      || facts.tokens.contains { token in
        // Another sign-in of the user does not make a revoked one valid again.
        token.revokedAt == nil && (own?.revokedAt.map { $0 < token.createdAt && !token.isSignIn } ?? true)
      }
    guard isAdmitted else { throw ServerError(.signInRefused, "the user of the token was revoked") }
    (addsUser, renews) = (false, own != nil)
  }
}

extension AuditEvent {
  /// A user signed in for the first time, or again after a revocation.
  /// - Parameter id: the number of the sign-in among the tokens.
  package static func signedIn(_ identity: Identity, _ signIn: SignIn, token id: Int64) -> AuditEvent {
    signIn.addsUser
      ? added(user: identity.user, to: identity.account, identity.role, issuer: identity.issuer)
      : added(token: id, of: identity.user, identity.role, issuer: identity.issuer)
  }
}
