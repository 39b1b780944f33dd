import FuzzSupport
import SyncModel

@testable import ServerStorage

/// A set of keys is refused with the member, or each of its keys is usable. A token is refused with a reason without its content,
/// and none is accepted without a signature of the keys.
@main
enum FuzzIdentityTokens: FuzzTarget {
  /// The key of RFC 8037, appendix A.
  private static let known = Array(
    #"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#.utf8)

  static func run(_ bytes: [UInt8]) {
    do throws(JSONWebKeyError) {
      let set = try JSONWebKeySet(parsing: bytes)
      require(!set.keys.isEmpty && set.keys.count <= JSONWebKeySet.greatestCount, "\(set.keys.count) keys")
      for key in set.keys { require(key.material.isUsable && !key.algorithms.isEmpty, "\(key)") }
    } catch {
      require(!error.message.isEmpty && error.message.utf8.count < 200, error.message)
    }
    checkToken(String(decoding: bytes, as: UTF8.self))
    checkClaims(bytes)
  }

  /// The input as the claims of a token whose signature is valid.
  private static func checkClaims(_ bytes: [UInt8]) {
    guard case .object(let claims)? = try? SyncValue(parsing: bytes) else { return }
    let now: Int64 = 1_764_000_000_000
    var provider = IdentityProvider(issuer: "i", audience: "a")
    (provider.accountClaim, provider.roleClaim) = ("org", "role")
    do throws(TokenRefusal) {
      let identity = try provider.identity(of: claims, at: now)
      require(claims["iss"] == "i" && claims.text("sub") == identity.user, "the user of \(claims)")
      require(claims.text("org") == identity.account && identity.expiresAt > now, "the account of \(claims)")
    } catch {
      require(!error.message.isEmpty && error.message.utf8.count < 200, error.message)
    }
  }

  private static func checkToken(_ text: String) {
    do throws(TokenRefusal) {
      let token = try JSONWebToken(text)
      require(text.utf8.count <= JSONWebToken.greatestBytes, "\(text.utf8.count) bytes")
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      require(
        parts.count == 3 && token.signed.elementsEqual((parts[0] + "." + parts[1]).utf8), "the signed bytes of \(text)")
      guard let keys = try? JSONWebKeySet(parsing: known) else { fatalError("the known key is not read") }
      _ = try IdentityProvider(issuer: "i", audience: "a").identity(of: token, keys: keys, at: 0)
      fatalError("a forged token is accepted: \(text)")
    } catch {
      require(!error.message.isEmpty && error.message.utf8.count < 200, error.message)
    }
  }
}
