import FileServer
import Foundation
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import ServerStorage

/// The verification of tokens of an identity provider.
@Suite struct JSONWebTokenTests {
  static let now: Int64 = 1_764_000_000_000
  static let seconds = now / 1_000
  static let signers: [TokenSigner.Kind: TokenSigner] = {
    do {
      return try Dictionary(
        uniqueKeysWithValues: TokenSigner.Kind.allCases.map { ($0, try TokenSigner($0, id: "key \($0)")) })
    } catch {
      return [:]
    }
  }()

  static let provider: IdentityProvider = {
    var provider = IdentityProvider(issuer: "https://id.example.org", audience: "fieldvault")
    provider.accountClaim = "account"
    provider.roleClaim = "role"
    provider.defaultAccount = "water"
    return provider
  }()

  private let keys: JSONWebKeySet

  init() throws {
    keys = try JSONWebKeySet(parsing: Array(keySet(TokenSigner.Kind.allCases.compactMap { Self.signers[$0] }).utf8))
  }

  private func signer(_ kind: TokenSigner.Kind) throws -> TokenSigner { try #require(Self.signers[kind]) }

  private func verify(
    _ token: String, by provider: IdentityProvider = Self.provider, keys: JSONWebKeySet? = nil, at now: Int64 = Self.now
  ) -> Result<Identity, TokenRefusal> {
    Result { () throws(TokenRefusal) in
      try provider.identity(of: try JSONWebToken(token), keys: keys ?? self.keys, at: now)
    }
  }

  private func refusal(
    _ token: String, by provider: IdentityProvider = Self.provider, keys: JSONWebKeySet? = nil, at now: Int64 = Self.now
  ) -> TokenRefusal? {
    if case .failure(let refusal) = verify(token, by: provider, keys: keys, at: now) { refusal } else { nil }
  }

  @Test("A token of each algorithm names its user", arguments: SignatureAlgorithm.allCases)
  func algorithms(_ algorithm: SignatureAlgorithm) throws {
    let kind = try #require(TokenSigner.Kind.allCases.first { $0.algorithms.contains(algorithm) })
    let token = try signer(kind).token(claims(of: "ada", at: Self.now), algorithm: algorithm)
    let identity = try verify(token).get()
    #expect(identity.user == "ada" && identity.account == "water" && identity.role == .device)
    #expect(identity.issuer == "https://id.example.org")
    #expect(identity.expiresAt == Self.now + 660_000, "600 s and the leeway")
  }

  @Test(
    "The examples of RFC 7515 and RFC 8037 have valid signatures, and none of their changes has",
    arguments: [
      (
        #"{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"}"#,
        "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
      ),
      (
        #"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#,
        "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
      ),
      (
        #"{"kty":"EC","crv":"P-521","x":"AekpBQ8ST8a8VcfVOTNl353vSrDCLLJXmPk06wTjxrrjcBpXp5EOnYG_NjFZ6OvLFV1jSfS9tsz4qUxcWceqwQGk","y":"ADSmRA43Z1DSNx_RvcLI87cdL07l6jQyyBXMoxVg_l2Th-x3S1WDhjDly79ajL4Kkd0AZMaZmh9ubmf63e3kyMj2"}"#,
        "eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA.AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPWROc-mZZqwqT2SI-KGDKB34XO0aw_7XdtAG8GaSwFKdCAPZgoXD2YBJZCPEX3xKpRwcdOO8KpEHwJjyqOgzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn"
      ),
      (
        #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
        "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
      ),
    ])
  func examples(key: String, text: String) throws {
    let keys = try JSONWebKeySet(parsing: Array(#"{"keys":[\#(key)]}"#.utf8))
    let token = try JSONWebToken(text)
    func isValid(_ signature: [UInt8], _ message: [UInt8]) -> Bool {
      SignatureCheck.isValid(signature, of: message, token.algorithm, by: keys.keys[0])
    }
    #expect(isValid(token.signature, token.signed))
    for place in token.signature.indices {
      var signature = token.signature
      signature[place] ^= 1 << UInt8(place % 8)
      #expect(!isValid(signature, token.signed), "byte \(place)")
    }
    // A zero that changes no number.
    for place in 0...token.signature.count {
      var signature = token.signature
      signature.insert(0, at: place)
      #expect(!isValid(signature, token.signed), "a zero at \(place)")
    }
    #expect(!isValid(token.signature, token.signed + [0]))
    #expect(!isValid(token.signature + [0], token.signed) && !isValid([0] + token.signature, token.signed))
    #expect(!isValid(Array(token.signature.dropLast()), token.signed) && !isValid([], token.signed))
    #expect(!isValid([UInt8](repeating: 0, count: token.signature.count), token.signed))
  }

  @Test("A change of any byte refuses a token", arguments: TokenSigner.Kind.allCases)
  func changedBytes(_ kind: TokenSigner.Kind) throws {
    let token = Array(try signer(kind).token(claims(of: "ada", at: Self.now)).utf8)
    #expect(refusal(String(decoding: token, as: UTF8.self)) == nil)
    var random = Seeded(7)
    for place in token.indices {
      for change in [1, 2, 0x20, UInt8.random(in: 1...127, using: &random)] {
        var changed = token
        changed[place] ^= change
        #expect(refusal(String(decoding: changed, as: UTF8.self)) != nil, "byte \(place) with \(change)")
      }
      var shorter = token
      shorter.remove(at: place)
      #expect(refusal(String(decoding: shorter, as: UTF8.self)) != nil, "without byte \(place)")
      #expect(refusal(String(decoding: token[..<place], as: UTF8.self)) != nil, "only \(place) bytes")
    }
  }

  @Test("A token with wrong claims is refused with the reason")
  func badClaims() throws {
    let signer = try signer(.p256)
    let now = Self.seconds
    func refusal(_ more: SyncObject, without name: String? = nil) throws -> TokenRefusal? {
      var claims = claims(of: "ada", at: Self.now, more)
      if let name { claims[name] = nil }
      return self.refusal(try signer.token(claims))
    }
    // Times, with a leeway of 60 s.
    #expect(try refusal(["exp": .integer(now - 60)]) == .expired)
    #expect(try refusal(["exp": .integer(now - 59)]) == nil)
    #expect(try refusal(["nbf": .integer(now + 61)]) == .notYetValid)
    #expect(try refusal(["nbf": .integer(now + 60)]) == nil)
    #expect(try refusal(["iat": .integer(now + 61)]) == .issuedLater)
    #expect(try refusal(["iat": .integer(now + 60)]) == nil)
    #expect(try refusal([:], without: "iat") == nil)
    #expect(try refusal([:], without: "exp") == .claim("exp"))
    for name in ["exp", "nbf", "iat"] {
      for value: SyncValue in [
        .text("\(now + 100)"), .null, true, [.integer(now + 100)], .integer(.max), .integer(-1),
        .integer(253_402_300_800), [:],
      ] { #expect(try refusal([name: value]) == .claim(name), "\(name) = \(value.json)") }
      for number in ["1764000100.5", "1e400", "1e9", "99999999999999999999", "-0.5"] {
        let text = SyncValue.object(claims(of: "ada", at: Self.now, [name: "@"])).json
          .replacing("\"@\"", with: number)
        #expect(self.refusal(try signer.token(payload: text)) == .claim(name), "\(name) = \(number)")
      }
    }
    // The issuer and the audience, byte by byte.
    #expect(try refusal(["iss": "https://id.example.org/"]) == .issuer)
    #expect(try refusal(["iss": ["https://id.example.org"]]) == .issuer)
    #expect(try refusal([:], without: "iss") == .issuer)
    #expect(try refusal(["aud": "other"]) == .audience)
    #expect(try refusal(["aud": ["other", 1]]) == .audience)
    #expect(try refusal(["aud": ["other", "fieldvault"]]) == nil)
    #expect(try refusal(["aud": []]) == .audience)
    #expect(try refusal(["aud": ["fieldvault": true]]) == .audience)
    #expect(try refusal([:], without: "aud") == .audience)
    // The user, the account and the role.
    #expect(try refusal([:], without: "sub") == .claim("sub"))
    #expect(try refusal(["sub": 7]) == .claim("sub"))
    #expect(try refusal(["account": 7]) == .claim("account"))
    #expect(try refusal(["account": .null]) == .claim("account"))
    for role: SyncValue in [
      "owner", "Device", "", .null, 1, [], ["device", "admin"], [["device"]], ["role": "device"],
    ] {
      #expect(try refusal(["role": role]) == .role, "\(role.json)")
    }
  }

  @Test("The settings decide which claims name the user, the account and the role")
  func mapping() throws {
    let signer = try signer(.ed25519)
    let token = try signer.token(
      claims(of: "ada", at: Self.now, ["account": "fire", "role": ["service"], "email": "ada@example.org"]))
    var identity = try verify(token).get()
    #expect(identity.account == "fire" && identity.role == .service && identity.user == "ada")
    var provider = Self.provider
    (provider.userClaim, provider.accountClaim, provider.roleClaim) = ("email", nil, nil)
    provider.createsAccounts = true
    identity = try verify(token, by: provider).get()
    #expect(identity.account == "water" && identity.role == .device && identity.user == "ada@example.org")
    #expect(identity.createsAccount)
    // Without a default, each token needs the claim.
    provider = Self.provider
    provider.defaultAccount = nil
    let without = try signer.token(claims(of: "ada", at: Self.now))
    #expect(refusal(without, by: provider) == .claim("account"))
    #expect(refusal(token, by: provider) == nil)
  }

  @Test("A token with a wrong form is refused before its signature is checked")
  func badForm() throws {
    let signer = try signer(.p256)
    let good = try signer.token(claims(of: "ada", at: Self.now))
    let parts = good.split(separator: ".").map(String.init)
    for text in [
      "", ".", "..", "...", "a.b.c", good + ".", "." + good, good + "." + parts[2], parts[0] + "." + parts[1],
      good + "=", good.replacing(".", with: ".="), " " + good, good + "\n", parts[0] + "..", "é" + good,
      parts[0] + "." + parts[1] + "." + "+/+/",
    ] {
      guard case .malformed? = refusal(text) else {
        // An empty signature is well-formed.
        #expect(refusal(text) == .signature && text == parts[0] + "..", "\(text)")
        continue
      }
    }
    func header(_ text: String) -> String { base64URL(Array(text.utf8)) + "." + parts[1] + "." + parts[2] }
    for text in [
      "{}", "[]", "null", #"{"alg":1}"#, #"{"alg":"ES256","alg":"ES256"}"#, #"{"alg":"ES256","crit":["exp"],"exp":1}"#,
      #"{"alg":"ES256","crit":[]}"#, #"{"alg":"ES256","typ":"JWE"}"#, #"{"alg":"ES256","typ":1}"#,
      #"{"alg":"ES256","kid":1}"#, #"{"alg":"ES256"}x"#, #"{"alg":"ES256""#, "{\"alg\":\"ES256\",\"a\":\"\u{0}\"}",
    ] {
      guard case .malformed? = refusal(header(text)) else {
        Issue.record("\(text): \(String(describing: refusal(header(text))))")
        continue
      }
    }
    for type in ["JWT", "jwt", "at+jwt", "application/at+jwt"] {
      #expect(refusal(try signer.token(claims(of: "ada", at: Self.now), header: ["typ": .text(type)])) == nil)
    }
    #expect(refusal(try signer.token(claims(of: "ada", at: Self.now), header: ["typ": .null])) == nil)
    // Signed, but not readable.
    for payload in [
      "", "[]", "{", #"{"sub":"a","sub":"b"}"#, #"{"a":"\ud800"}"#, String(repeating: "[", count: 100),
    ] {
      guard case .malformed? = refusal(try signer.token(payload: payload)) else {
        Issue.record("\(payload)")
        continue
      }
    }
    let invalid = parts[0] + "." + base64URL([0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D])
    let signature = base64URL(try signer.signature(Array(invalid.utf8), .es256))
    #expect(refusal(invalid + "." + signature) == .malformed("the payload is not JSON"))
  }

  @Test("A token of more than 8 KiB is refused before it is read")
  func size() throws {
    let signer = try signer(.ed25519)
    let empty = try signer.token(claims(of: "ada", at: Self.now, ["x": ""])).utf8.count
    let room = (JSONWebToken.greatestBytes - empty) * 3 / 4
    let fitting = try signer.token(
      claims(of: "ada", at: Self.now, ["x": .text(String(repeating: "x", count: room - 2))]))
    let long = try signer.token(claims(of: "ada", at: Self.now, ["x": .text(String(repeating: "x", count: room + 2))]))
    #expect(fitting.utf8.count <= 8_192 && fitting.utf8.count > 8_180 && refusal(fitting) == nil)
    #expect(long.utf8.count > 8_192 && refusal(long) == .tooLong)
    #expect(refusal(String(repeating: ".", count: 100_000)) == .tooLong)
  }

  @Test("The type of the key decides the algorithm")
  func confusion() throws {
    let (rsa, p256, p384) = (try signer(.rsa), try signer(.p256), try signer(.p384))
    let claims = claims(of: "ada", at: Self.now)
    // Shared secrets and no signature at all are never accepted, in any spelling.
    for name in ["none", "None", "nOnE", "NONE", "HS256", "HS384", "HS512", "RS1", "ES256K", "Ed448", "", "rs256"] {
      #expect(refusal(try rsa.token(claims, header: ["alg": .text(name)])) == .algorithm, "\(name)")
      let unsigned = try rsa.token(claims, header: ["alg": .text(name)]).split(separator: ".").prefix(2)
      #expect(refusal(unsigned.joined(separator: ".") + ".") == .algorithm)
    }
    // The public key as a secret.
    let header = base64URL(Array(#"{"alg":"HS256","kid":"key rsa"}"#.utf8))
    let signed = header + "." + base64URL(SyncValue.object(claims).jsonBytes)
    for secret in [SyncValue.object(rsa.key).json, rsa.key.text("n") ?? ""] {
      let code = Array(secret.utf8).withUnsafeBytes { HMAC.sha256(signed, keyed: $0) }
      #expect(refusal(signed + "." + base64URL(code)) == .algorithm)
    }
    // The algorithm of another type, with the id of a key.
    for (signer, algorithm) in [(rsa, SignatureAlgorithm.es256), (p256, .rs256), (p256, .es384), (p384, .es256)] {
      let token = try signer.token(claims, header: ["alg": .text(algorithm.rawValue)])
      #expect(refusal(token) == .unknownKey(id: signer.id), "\(signer.kind) \(algorithm)")
    }
    // A signature of a right type with the algorithm of another hash.
    #expect(refusal(try rsa.token(claims, algorithm: .rs256, header: ["alg": "RS512"])) == .signature)
    #expect(refusal(try rsa.token(claims, algorithm: .rs256, header: ["alg": "PS256"])) == .signature)
    // A key that is restricted to one algorithm.
    var key = rsa.key
    key["alg"] = "RS512"
    let restricted = try JSONWebKeySet(parsing: SyncValue.object(["keys": [.object(key)]]).jsonBytes)
    #expect(refusal(try rsa.token(claims, algorithm: .rs512), keys: restricted) == nil)
    #expect(refusal(try rsa.token(claims, algorithm: .rs256), keys: restricted) == .unknownKey(id: rsa.id))
    // The key within a token, and its address, are ignored.
    let foreign = try TokenSigner(.rsa, id: "key rsa")
    #expect(
      refusal(
        try foreign.token(claims, header: ["jwk": .object(foreign.key), "jku": "http://127.0.0.1/", "x5u": "http://x"]))
        == .signature)
  }

  @Test("The id of a token chooses the key; without an id, the only key of the type does")
  func keyIds() throws {
    let claims = claims(of: "ada", at: Self.now)
    let signer = try signer(.p256)
    #expect(refusal(try signer.token(claims, header: ["kid": "other"])) == .unknownKey(id: "other"))
    #expect(refusal(try signer.token(claims, header: ["kid": "key rsa"])) == .unknownKey(id: "key rsa"))
    #expect(refusal(try signer.token(claims, header: ["kid": .null])) == nil)
    let second = try TokenSigner(.p256, id: "second")
    let both = try JSONWebKeySet(parsing: Array(keySet([signer, second]).utf8))
    #expect(refusal(try signer.token(claims, header: ["kid": .null]), keys: both) == .unknownKey(id: nil))
    #expect(refusal(try second.token(claims), keys: both) == nil)
    #expect(refusal(try signer.token(claims, header: ["kid": "second"]), keys: both) == .signature)
    let nameless = try TokenSigner(.p256, id: nil)
    let one = try JSONWebKeySet(parsing: Array(keySet([nameless]).utf8))
    #expect(refusal(try nameless.token(claims), keys: one) == nil)
    #expect(refusal(try nameless.token(claims, header: ["kid": "x"]), keys: one) == .unknownKey(id: "x"))
  }

  @Test("The reason of a refusal contains no part of the token")
  func reasons() throws {
    let secret = "5ecret-value"
    let signer = try signer(.p256)
    for token in [
      try signer.token(claims(of: secret, at: Self.now, ["role": .text(secret)])),
      try signer.token(claims(of: secret, at: Self.now, ["iss": .text(secret)])),
      try signer.token(claims(of: secret, at: Self.now), header: ["kid": .text(secret)]),
      try signer.token(claims(of: secret, at: Self.now), header: ["alg": .text(secret)]),
      try signer.token(payload: secret), secret + ".a.b",
    ] {
      let refusal = try #require(self.refusal(token))
      #expect(!refusal.message.contains(secret) && !refusal.message.isEmpty)
    }
  }
}
