import CSodium
import SyncModel

/// An algorithm of a signature (RFC 7518, RFC 8037). Algorithms with a shared secret and `none` are absent, so no token can
/// select them.
package enum SignatureAlgorithm: String, Sendable, CaseIterable {
  case rs256 = "RS256"
  case rs384 = "RS384"
  case rs512 = "RS512"
  case ps256 = "PS256"
  case ps384 = "PS384"
  case ps512 = "PS512"
  case es256 = "ES256"
  case es384 = "ES384"
  case es512 = "ES512"
  case edDSA = "EdDSA"
  /// The newer name of the same algorithm (RFC 9864).
  case ed25519 = "Ed25519"
}

/// A public key of an identity provider (RFC 7517).
package struct JSONWebKey: Equatable, Sendable {
  /// A curve of a key.
  package enum Curve: String, Sendable {
    case p256 = "P-256"
    case p384 = "P-384"
    case p521 = "P-521"

    /// The number of bytes of a coordinate, and of each half of a signature.
    package var coordinateBytes: Int {
      switch self {
      case .p256: 32
      case .p384: 48
      case .p521: 66
      }
    }
  }

  /// The type of a key with its numbers, most significant byte first.
  package enum Material: Equatable, Sendable {
    case rsa(modulus: [UInt8], exponent: [UInt8])
    case ec(Curve, x: [UInt8], y: [UInt8])
    case ed25519([UInt8])
  }

  /// The id by which tokens choose the key; `nil` for a key without one.
  package let id: String?
  /// The type of the key with its numbers.
  package let material: Material
  /// The algorithms that the key may verify. The type of the key decides, and the member `alg` may restrict it to one.
  package let algorithms: Set<SignatureAlgorithm>

  /// The algorithms of a type of key.
  static func algorithms(of material: Material) -> Set<SignatureAlgorithm> {
    switch material {
    case .rsa: [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512]
    case .ec(.p256, _, _): [.es256]
    case .ec(.p384, _, _): [.es384]
    case .ec(.p521, _, _): [.es512]
    case .ed25519: [.edDSA, .ed25519]
    }
  }
}

/// The reason why a set of keys is refused. It names the member, such as `keys[1].n`.
package struct JSONWebKeyError: Error, Equatable, Sendable {
  /// The reason.
  package let message: String
}

/// The public keys of an identity provider (RFC 7517, section 5).
///
/// Keys of unknown types, for encryption, or of an unsuitable size are left out, as the RFC requires. A key that lacks a member
/// or is malformed refuses the whole set, so that an operator notices it.
package struct JSONWebKeySet: Equatable, Sendable {
  /// The usable keys.
  package let keys: [JSONWebKey]

  /// The largest set, in bytes.
  package static let greatestBytes = 256 << 10
  /// The largest number of keys.
  package static let greatestCount = 100
  /// The sizes of RSA keys, in bits. Shorter keys are not secure, and longer ones take too long.
  static let rsaBits = 2_048...8_192

  /// Parses a set. It is a pure function of the bytes.
  package init(parsing bytes: [UInt8]) throws(JSONWebKeyError) {
    guard bytes.count <= Self.greatestBytes else {
      throw JSONWebKeyError(message: "the set has more than \(Self.greatestBytes >> 10) KiB")
    }
    let value: SyncValue
    do throws(SyncModelError) { value = try SyncValue(parsing: bytes) } catch {
      throw JSONWebKeyError(message: "not JSON: \(error)")
    }
    guard case .object(let set) = value, case .array(let elements)? = set["keys"] else {
      throw JSONWebKeyError(message: "the member keys is not a list")
    }
    guard elements.count <= Self.greatestCount else {
      throw JSONWebKeyError(message: "keys has more than \(Self.greatestCount) elements")
    }
    var keys: [JSONWebKey] = []
    for (index, element) in elements.enumerated() {
      guard case .object(let members) = element else {
        throw JSONWebKeyError(message: "keys[\(index)] is not an object")
      }
      guard let key = try KeyReader(members: members, place: "keys[\(index)]").key() else { continue }
      // Two keys that a token cannot tell apart.
      let isKnown = keys.contains { other in
        other.id.map { Array($0.utf8) } == key.id.map { Array($0.utf8) }
          && !other.algorithms.isDisjoint(with: key.algorithms)
      }
      guard key.id == nil || !isKnown else { throw JSONWebKeyError(message: "keys[\(index)].kid is not unique") }
      keys.append(key)
    }
    guard !keys.isEmpty else { throw JSONWebKeyError(message: "keys has no key that verifies signatures") }
    self.keys = keys
  }

  /// Returns the keys that an algorithm and the id of a token select.
  /// - Parameter id: `nil` for a token without the id of a key.
  package func keys(for algorithm: SignatureAlgorithm, id: String?) -> [JSONWebKey] {
    keys.filter { key in
      guard key.algorithms.contains(algorithm) else { return false }
      guard let id else { return true }
      return key.id.map { $0.utf8.elementsEqual(id.utf8) } ?? false
    }
  }
}

/// Reads a key.
private struct KeyReader {
  let members: SyncObject
  let place: String

  /// Returns the key; `nil` if its type, use or size is not supported.
  func key() throws(JSONWebKeyError) -> JSONWebKey? {
    // The file or the address of public keys must not publish a private key.
    if members["kty"] != .text("oct"), members["d"] != nil {
      throw JSONWebKeyError(message: "\(place) is a private key; only public keys belong here")
    }
    if let use = members["use"], use != .text("sig") { return nil }
    if let operations = members["key_ops"] {
      guard case .array(let names) = operations, names.contains(.text("verify")) else { return nil }
    }
    guard let type = members["kty"] else { throw JSONWebKeyError(message: "\(place).kty is missing") }
    guard let material = try material(type) else { return nil }
    guard material.isUsable else { throw JSONWebKeyError(message: "\(place) is not a valid public key") }
    var algorithms = JSONWebKey.algorithms(of: material)
    if let name = members["alg"] {
      guard case .text(let name) = name, let algorithm = SignatureAlgorithm(rawValue: name) else { return nil }
      guard algorithms.contains(algorithm) else {
        throw JSONWebKeyError(message: "\(place).alg does not fit the type of the key")
      }
      algorithms = [algorithm]
    }
    return JSONWebKey(id: try optionalText("kid"), material: material, algorithms: algorithms)
  }

  private func material(_ type: SyncValue) throws(JSONWebKeyError) -> JSONWebKey.Material? {
    switch type {
    case "RSA":
      let modulus = try number("n")
      let exponent = try number("e")
      guard JSONWebKeySet.rsaBits.contains(modulus.bits) else { return nil }
      guard exponent.count <= 8, exponent != [1], exponent.last.map({ $0 % 2 == 1 }) ?? false else {
        throw JSONWebKeyError(message: "\(place).e is not a valid exponent")
      }
      return .rsa(modulus: modulus, exponent: exponent)
    case "EC":
      guard let curve = JSONWebKey.Curve(rawValue: try text("crv")) else { return nil }
      return .ec(curve, x: try bytes("x", curve.coordinateBytes), y: try bytes("y", curve.coordinateBytes))
    case "OKP":
      guard try text("crv") == "Ed25519" else { return nil }
      return .ed25519(try bytes("x", 32))
    case .text: return nil
    default: throw JSONWebKeyError(message: "\(place).kty is not a text")
    }
  }

  private func optionalText(_ name: String) throws(JSONWebKeyError) -> String? {
    guard let value = members[name] else { return nil }
    guard case .text(let text) = value else { throw JSONWebKeyError(message: "\(place).\(name) is not a text") }
    return text
  }

  private func text(_ name: String) throws(JSONWebKeyError) -> String {
    guard let text = try optionalText(name) else { throw JSONWebKeyError(message: "\(place).\(name) is missing") }
    return text
  }

  private func bytes(_ name: String) throws(JSONWebKeyError) -> [UInt8] {
    guard let bytes = Base64URL.bytes(Array(try text(name).utf8)) else {
      throw JSONWebKeyError(message: "\(place).\(name) is not base64url")
    }
    return bytes
  }

  private func bytes(_ name: String, _ count: Int) throws(JSONWebKeyError) -> [UInt8] {
    let bytes = try bytes(name)
    guard bytes.count == count else { throw JSONWebKeyError(message: "\(place).\(name) does not have \(count) bytes") }
    return bytes
  }

  /// Returns a number without leading zeros.
  private func number(_ name: String) throws(JSONWebKeyError) -> [UInt8] {
    Array(try bytes(name).drop { $0 == 0 })
  }
}

extension [UInt8] {
  /// The bits of a number without leading zeros.
  fileprivate var bits: Int { first.map { count * 8 - $0.leadingZeroBitCount } ?? 0 }
}

/// Base64url without padding (RFC 7515, section 2).
package enum Base64URL {
  /// Returns the bytes of a text; `nil` for another alphabet, padding, or bits behind the last byte, so that bytes have one
  /// text.
  package static func bytes(_ text: [UInt8]) -> [UInt8]? {
    guard !text.isEmpty else { return [] }
    var count = 0
    var isValid = false
    let bytes = [UInt8](unsafeUninitializedCapacity: text.count) { buffer, initializedCount in
      isValid = text.withUnsafeBytes { text in
        var end: UnsafePointer<CChar>?
        let source = text.bindMemory(to: CChar.self)
        guard let start = source.baseAddress, let target = buffer.baseAddress else { return false }
        let status = sodium_base642bin(
          target, buffer.count, start, source.count, nil, &count, &end,
          sodium_base64_VARIANT_URLSAFE_NO_PADDING)
        return status == 0 && end == start + source.count
      }
      initializedCount = isValid ? count : 0
    }
    return isValid ? bytes : nil
  }
}
