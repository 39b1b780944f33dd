import SyncModel

/// The identity provider whose tokens a server accepts, and how the claims of a token name a user.
public struct IdentityProvider: Equatable, Sendable {
  /// The value that the claim `iss` of a token must have.
  public let issuer: String
  /// A value that the claim `aud` of a token must contain.
  public let audience: String
  /// The claim with the name of the user.
  public var userClaim = "sub"
  /// The claim with the name of the account; `nil` for one account for all users.
  public var accountClaim: String?
  /// The claim with the role; `nil` for devices only.
  public var roleClaim: String?
  /// The account of a token without the claim; `nil` refuses such a token.
  public var defaultAccount: String?
  /// Whether a token may name an account that does not exist, which is created then.
  public var createsAccounts = false

  /// The difference of the clocks of server and provider that is tolerated, in milliseconds.
  package static let leeway: Int64 = 60_000

  /// Creates a provider with the usual claims.
  public init(issuer: String, audience: String) { (self.issuer, self.audience) = (issuer, audience) }

  /// Verifies a token and returns the user that it names. It is a pure function of its arguments.
  /// - Parameter now: the wall time, in milliseconds since 1970-01-01 UTC.
  package func identity(
    of token: JSONWebToken, keys: JSONWebKeySet, at now: Int64
  ) throws(TokenRefusal) -> Identity {
    try identity(of: try token.claims(verifiedBy: keys), at: now)
  }

  /// Checks the claims of a token whose signature is valid.
  func identity(of claims: SyncObject, at now: Int64) throws(TokenRefusal) -> Identity {
    guard claims["iss"] == .text(issuer) else { throw .issuer }
    guard try audiences(claims).contains(.text(audience)) else { throw .audience }
    guard let expiry = try time("exp", claims) else { throw .claim("exp") }
    guard now < expiry + Self.leeway else { throw .expired }
    if let start = try time("nbf", claims), start > now + Self.leeway { throw .notYetValid }
    if let issued = try time("iat", claims), issued > now + Self.leeway { throw .issuedLater }
    guard let user = try text(userClaim, claims) else { throw .claim(userClaim) }
    let named = try accountClaim.map { name throws(TokenRefusal) in try text(name, claims) } ?? nil
    guard let account = named ?? defaultAccount else { throw .claim(accountClaim ?? "account") }
    return Identity(
      issuer: issuer, account: account, user: user, role: try role(claims), expiresAt: expiry + Self.leeway,
      createsAccount: createsAccounts)
  }

  private func audiences(_ claims: SyncObject) throws(TokenRefusal) -> [SyncValue] {
    switch claims["aud"] {
    case .text(let text)?: return [.text(text)]
    case .array(let values)?: return values
    default: throw .audience
    }
  }

  /// The times of claims that are not refused, in seconds: from 1970 to 9999.
  private static let times: ClosedRange<Int64> = 0...253_402_300_799

  /// Returns the time of a claim in milliseconds. Only whole seconds are accepted.
  private func time(_ name: String, _ claims: SyncObject) throws(TokenRefusal) -> Int64? {
    guard let value = claims[name] else { return nil }
    guard case .integer(let seconds) = value, Self.times.contains(seconds) else { throw .claim(name) }
    return seconds * 1_000
  }

  private func text(_ name: String, _ claims: SyncObject) throws(TokenRefusal) -> String? {
    switch claims[name] {
    case nil: return nil
    case .text(let text)?: return text
    default: throw .claim(name)
    }
  }

  /// Returns the role. Some providers write roles as a list, which must have one element.
  private func role(_ claims: SyncObject) throws(TokenRefusal) -> TokenRole {
    guard let roleClaim, let value = claims[roleClaim] else { return .device }
    var word = value
    if case .array(let values) = value {
      guard values.count == 1, let only = values.first else { throw .role }
      word = only
    }
    guard case .text(let text) = word, let role = TokenRole(rawValue: text) else { throw .role }
    return role
  }
}
