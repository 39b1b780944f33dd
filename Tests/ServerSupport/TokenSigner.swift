import CCrypto
import Foundation
import ServerStorage
import SyncModel
import TestSupport

/// A key pair of an identity provider, which signs tokens.
package final class TokenSigner: @unchecked Sendable {
  /// The type of a pair.
  package enum Kind: CaseIterable, Sendable {
    case rsa, p256, p384, p521, ed25519

    /// The algorithms of the type.
    package var algorithms: [SignatureAlgorithm] {
      switch self {
      case .rsa: [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512]
      case .p256: [.es256]
      case .p384: [.es384]
      case .p521: [.es512]
      case .ed25519: [.edDSA, .ed25519]
      }
    }
  }

  package let kind: Kind
  package let id: String?
  // `@unchecked Sendable` holds because the pair is not changed after its creation.
  private let pair: OpaquePointer

  /// Creates a pair.
  /// - Parameter bits: the size of an RSA key.
  package init(_ kind: Kind, id: String?, bits: Int32 = 2_048) throws {
    (self.kind, self.id) = (kind, id)
    let name =
      switch kind {
      case .rsa: "RSA"
      case .ed25519: "ED25519"
      default: "EC"
      }
    guard let context = EVP_PKEY_CTX_new_from_name(nil, name, nil) else { throw Unexpected("no context") }
    defer { EVP_PKEY_CTX_free(context) }
    guard EVP_PKEY_keygen_init(context) == 1 else { throw Unexpected("no key generation") }
    switch kind {
    case .rsa: _ = EVP_PKEY_CTX_set_rsa_keygen_bits(context, bits)
    case .p256: _ = EVP_PKEY_CTX_set_group_name(context, "P-256")
    case .p384: _ = EVP_PKEY_CTX_set_group_name(context, "P-384")
    case .p521: _ = EVP_PKEY_CTX_set_group_name(context, "P-521")
    case .ed25519: break
    }
    var made: OpaquePointer?
    guard EVP_PKEY_generate(context, &made) == 1, let made else { throw Unexpected("no key") }
    pair = made
  }

  deinit { EVP_PKEY_free(pair) }

  /// The public key as a JWK.
  package var key: SyncObject {
    var key: SyncObject
    switch kind {
    case .rsa:
      key = ["kty": "RSA", "n": .text(base64URL(number("n"))), "e": .text(base64URL(number("e")))]
    case .ed25519:
      var bytes = [UInt8](repeating: 0, count: 32)
      var count = bytes.count
      _ = EVP_PKEY_get_raw_public_key(pair, &bytes, &count)
      key = ["kty": "OKP", "crv": "Ed25519", "x": .text(base64URL(bytes))]
    default:
      let curve = kind == .p256 ? "P-256" : kind == .p384 ? "P-384" : "P-521"
      let half = kind == .p256 ? 32 : kind == .p384 ? 48 : 66
      let (x, y) = (number("qx"), number("qy"))
      func padded(_ bytes: [UInt8]) -> [UInt8] { [UInt8](repeating: 0, count: half - bytes.count) + bytes }
      key = [
        "kty": "EC", "crv": .text(curve), "x": .text(base64URL(padded(x))), "y": .text(base64URL(padded(y))),
      ]
    }
    if let id { key["kid"] = .text(id) }
    return key
  }

  private func number(_ name: String) -> [UInt8] {
    var number: OpaquePointer?
    guard EVP_PKEY_get_bn_param(pair, name, &number) == 1, let number else { return [] }
    defer { BN_free(number) }
    var bytes = [UInt8](repeating: 0, count: Int(BN_num_bits(number) + 7) / 8)
    _ = BN_bn2bin(number, &bytes)
    return bytes
  }

  /// Returns a token.
  /// - Parameter header: replaces members of the usual header; a null removes one.
  package func token(
    _ claims: SyncObject, algorithm: SignatureAlgorithm? = nil, header changes: SyncObject = [:]
  ) throws -> String {
    try token(payload: SyncValue.object(claims).json, algorithm: algorithm, header: changes)
  }

  /// Returns a token with any text as its payload.
  package func token(
    payload: String, algorithm: SignatureAlgorithm? = nil, header changes: SyncObject = [:]
  ) throws -> String {
    let algorithm = algorithm ?? kind.algorithms[0]
    var header: SyncObject = ["alg": .text(algorithm.rawValue), "typ": "JWT"]
    if let id { header["kid"] = .text(id) }
    for member in changes.members { header[member.name] = member.value == .null ? nil : member.value }
    let signed = base64URL(SyncValue.object(header).jsonBytes) + "." + base64URL(Array(payload.utf8))
    return signed + "." + base64URL(try signature(Array(signed.utf8), algorithm))
  }

  /// Returns the signature of a message as RFC 7518 writes it.
  package func signature(_ message: [UInt8], _ algorithm: SignatureAlgorithm) throws -> [UInt8] {
    guard let context = EVP_MD_CTX_new() else { throw Unexpected("no context") }
    defer { EVP_MD_CTX_free(context) }
    var details: OpaquePointer?
    let digest: OpaquePointer? =
      switch algorithm.rawValue.suffix(3) {
      case "256": EVP_sha256()
      case "384": EVP_sha384()
      case "512": EVP_sha512()
      default: nil
      }
    guard EVP_DigestSignInit(context, &details, digest, nil, pair) == 1 else { throw Unexpected("no signing") }
    if algorithm.rawValue.hasPrefix("PS") {
      _ = EVP_PKEY_CTX_set_rsa_padding(details, RSA_PKCS1_PSS_PADDING)
      _ = EVP_PKEY_CTX_set_rsa_pss_saltlen(details, RSA_PSS_SALTLEN_DIGEST)
    }
    var count = 0
    guard EVP_DigestSign(context, nil, &count, message, message.count) == 1 else { throw Unexpected("no signature") }
    var bytes = [UInt8](repeating: 0, count: count)
    guard EVP_DigestSign(context, &bytes, &count, message, message.count) == 1 else { throw Unexpected("no signature") }
    bytes = Array(bytes.prefix(count))
    guard algorithm.rawValue.hasPrefix("ES") else { return bytes }
    let half = algorithm == .es256 ? 32 : algorithm == .es384 ? 48 : 66
    return try bytes.withUnsafeBufferPointer { bytes in
      var place = bytes.baseAddress
      guard let pair = d2i_ECDSA_SIG(nil, &place, bytes.count) else { throw Unexpected("no DER") }
      defer { ECDSA_SIG_free(pair) }
      return [ECDSA_SIG_get0_r(pair), ECDSA_SIG_get0_s(pair)].flatMap { number in
        var bytes = [UInt8](repeating: 0, count: half)
        _ = BN_bn2binpad(number, &bytes, Int32(half))
        return bytes
      }
    }
  }
}

/// Returns the text of bytes in base64url.
package func base64URL(_ bytes: [UInt8]) -> String {
  Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
}

/// Returns a JWKS document.
package func keySet(_ signers: [TokenSigner]) -> String {
  SyncValue.object(["keys": .array(signers.map { .object($0.key) })]).json
}

/// Returns claims of a token for the issuer `https://id.example.org` and the audience `fieldvault`, valid for ten minutes.
/// - Parameter now: in milliseconds since 1970.
package func claims(of user: String, at now: Int64, _ more: SyncObject = [:]) -> SyncObject {
  let seconds = now / 1_000
  let usual: SyncObject = [
    "iss": "https://id.example.org", "aud": "fieldvault", "sub": .text(user), "iat": .integer(seconds),
    "exp": .integer(seconds + 600),
  ]
  return usual.overlaid(with: more)
}
