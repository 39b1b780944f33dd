import SyncModel

/// The reason why a token of an identity provider is refused. Its text contains no part of the token.
package enum TokenRefusal: Error, Equatable, Sendable {
  case tooLong
  case malformed(String)
  case algorithm
  /// No key of the provider has the id and the type.
  case unknownKey(id: String?)
  case signature
  case issuer
  case audience
  case expired
  case notYetValid
  case issuedLater
  case claim(String)
  case role

  /// The reason for the client.
  package var message: String {
    switch self {
    case .tooLong: "the token has more than \(JSONWebToken.greatestBytes) bytes"
    case .malformed(let detail): "the token is malformed: \(detail)"
    case .algorithm: "the algorithm of the token is not allowed"
    case .unknownKey: "the identity provider has no such key"
    case .signature: "the signature of the token is invalid"
    case .issuer: "the token is from another issuer"
    case .audience: "the token is for another audience"
    case .expired: "the token has expired"
    case .notYetValid: "the token is not valid yet"
    case .issuedLater: "the token was issued in the future"
    case .claim(let name): "the claim \(name) of the token is missing or has a wrong type"
    case .role: "the role in the token is unknown"
    }
  }
}

/// A token of an identity provider: a JWS in its compact form (RFC 7515, RFC 7519) whose signature is not verified yet.
package struct JSONWebToken: Equatable, Sendable {
  /// The algorithm of the signature.
  package let algorithm: SignatureAlgorithm
  /// The id of the key.
  package let keyId: String?
  /// The bytes that are signed: both first parts with their dot.
  let signed: [UInt8]
  let payload: [UInt8]
  let signature: [UInt8]

  /// The greatest length of a token. Longer ones are refused before they are read.
  package static let greatestBytes = 8_192

  /// Returns whether a text has the form of such a token. A token of this server has no dot.
  package static func isToken(_ text: String) -> Bool { text.utf8.contains(UInt8(ascii: ".")) }

  /// Parses a token. It is a pure function of the text.
  package init(_ text: String) throws(TokenRefusal) {
    guard text.utf8.count <= Self.greatestBytes else { throw .tooLong }
    let bytes = Array(text.utf8)
    let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3 else { throw .malformed("it does not have three parts") }
    let header = try Self.object(in: try Self.bytes(parts[0], "header"), "header")
    guard case .text(let name)? = header["alg"] else { throw .malformed("the header has no algorithm") }
    guard let algorithm = SignatureAlgorithm(rawValue: name) else { throw .algorithm }
    if header["crit"] != nil { throw .malformed("the header has the member crit") }
    if let type = header["typ"] {
      guard case .text(let type) = type, Self.types.contains(type.lowercased()) else {
        throw .malformed("the type is not JWT or at+jwt")
      }
    }
    switch header["kid"] {
    case nil: keyId = nil
    case .text(let id)?: keyId = id
    default: throw .malformed("the id of the key is not a text")
    }
    self.algorithm = algorithm
    signed = Array(bytes[..<parts[1].endIndex])
    payload = try Self.bytes(parts[1], "payload")
    signature = try Self.bytes(parts[2], "signature")
  }

  /// Media types, whose case does not matter, with and without their first part (RFC 7515, section 4.1.9).
  private static let types: Set = ["jwt", "at+jwt", "application/jwt", "application/at+jwt"]

  private static func bytes(_ text: ArraySlice<UInt8>, _ part: String) throws(TokenRefusal) -> [UInt8] {
    guard let bytes = Base64URL.bytes(Array(text)) else { throw .malformed("the \(part) is not base64url") }
    return bytes
  }

  /// Parses a JSON object, which has each name once.
  private static func object(in bytes: [UInt8], _ part: String) throws(TokenRefusal) -> SyncObject {
    let value: SyncValue
    do throws(SyncModelError) { value = try SyncValue(parsing: bytes) } catch {
      throw .malformed("the \(part) is not JSON")
    }
    guard case .object(let object) = value else { throw .malformed("the \(part) is not an object") }
    return object
  }

  /// Returns the claims after the signature was verified with one of the keys.
  package func claims(verifiedBy keys: JSONWebKeySet) throws(TokenRefusal) -> SyncObject {
    let candidates = keys.keys(for: algorithm, id: keyId)
    // Without an id, only a single key can be meant.
    guard candidates.count == 1, let key = candidates.first else { throw .unknownKey(id: keyId) }
    guard SignatureCheck.isValid(signature, of: signed, algorithm, by: key) else { throw .signature }
    return try Self.object(in: payload, "payload")
  }
}
