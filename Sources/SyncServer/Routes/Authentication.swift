import HTTPServer
import Platform
import ServerStorage

/// The settings of sign-in with tokens of an identity provider.
public struct SignInSettings: Sendable {
  /// The provider, and how its tokens name users.
  public var provider: IdentityProvider
  /// Where its keys are.
  public var keys: ProviderKeySource

  /// Creates settings.
  public init(provider: IdentityProvider, keys: ProviderKeySource) { (self.provider, self.keys) = (provider, keys) }
}

/// Turns the token of a request into its user. It is the only owner of this rule: the directory decides about tokens of this
/// server and about users, and ``IdentityProvider`` about tokens of the provider.
struct Authentication: Sendable {
  let directory: any AccountDirectory
  let provider: IdentityProvider?
  let keys: ProviderKeys?
  let clock: Clock
  /// Is told of the number of each token that was used.
  let used: @Sendable (Int64) -> Void

  /// Returns the user of a token; `nil` for an invalid token of this server.
  /// - Throws: ``HTTPProblem`` for a refused token of the provider.
  func member(token: String) throws -> Member? {
    let member =
      if let provider, let keys, JSONWebToken.isToken(token) {
        try signIn(token, provider, keys)
      } else {
        try directory.member(token: token)
      }
    if let member { used(member.tokenId) }
    return member
  }

  private func signIn(_ token: String, _ provider: IdentityProvider, _ keys: ProviderKeys) throws -> Member {
    let identity: Identity
    do throws(TokenRefusal) {
      let token = try JSONWebToken(token)
      guard let current = keys.current else { throw .unknownKey(id: token.keyId) }
      identity = try provider.identity(of: token, keys: current, at: clock.now())
    } catch {
      if case .unknownKey(let id) = error, let seconds = keys.secondsToWait(forKey: id) {
        throw HTTPProblem.waitingForKeys(retryAfter: seconds)
      }
      throw HTTPProblem.invalidToken(error.message)
    }
    do {
      return try directory.member(identity)
    } catch let error as ServerError where [.signInRefused, .badName].contains(error.code) {
      throw HTTPProblem(403, "The user has no access", error.message)
    }
  }
}

extension HTTPProblem {
  fileprivate static func waitingForKeys(retryAfter: Int) -> HTTPProblem {
    HTTPProblem(
      503, "The token cannot be verified now", "the keys of the identity provider are being fetched",
      retryAfter: retryAfter)
  }
}
