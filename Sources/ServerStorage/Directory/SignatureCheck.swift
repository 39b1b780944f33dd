import CCrypto

/// Verifies signatures with libcrypto.
package enum SignatureCheck {
  /// Returns whether a signature of a message is valid. The algorithm must be one of the key.
  package static func isValid(
    _ signature: [UInt8], of message: [UInt8], _ algorithm: SignatureAlgorithm, by key: JSONWebKey
  ) -> Bool {
    guard key.algorithms.contains(algorithm), let signature = encoded(signature, for: key.material),
      let publicKey = PublicKey(key.material), let context = EVP_MD_CTX_new()
    else { return false }
    defer {
      EVP_MD_CTX_free(context)
      // The reason of a refusal would stay in the queue of the thread.
      ERR_clear_error()
    }
    var details: OpaquePointer?
    guard EVP_DigestVerifyInit(context, &details, algorithm.digest, nil, publicKey.key) == 1 else { return false }
    if algorithm.isPSS {
      // The salt has the length of the digest (RFC 7518, section 3.5).
      guard EVP_PKEY_CTX_set_rsa_padding(details, RSA_PKCS1_PSS_PADDING) == 1,
        EVP_PKEY_CTX_set_rsa_pss_saltlen(details, RSA_PSS_SALTLEN_DIGEST) == 1
      else { return false }
    }
    return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
  }

  /// Returns the signature in the form of libcrypto; `nil` for a wrong length. RFC 7518 writes both numbers of ECDSA in
  /// full length, libcrypto reads DER. It checks the length of other signatures itself.
  private static func encoded(_ signature: [UInt8], for material: JSONWebKey.Material) -> [UInt8]? {
    guard case .ec(let curve, _, _) = material else { return signature }
    let half = curve.coordinateBytes
    guard signature.count == 2 * half else { return nil }
    let numbers = integer(signature[..<half]) + integer(signature[half...])
    let length = numbers.count < 0x80 ? [UInt8(numbers.count)] : [0x81, UInt8(numbers.count)]
    return [0x30] + length + numbers
  }

  /// Returns an INTEGER of DER: without leading zeros, and with one in front of a first bit that is set.
  private static func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var digits = Array(bytes.drop { $0 == 0 })
    if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
    return [0x02, UInt8(digits.count)] + digits
  }
}

extension JSONWebKey.Material {
  /// Whether libcrypto accepts the key: its point is on the curve.
  package var isUsable: Bool {
    defer { ERR_clear_error() }
    return PublicKey(self) != nil
  }
}

/// A key of libcrypto.
private final class PublicKey {
  let key: OpaquePointer

  init?(_ material: JSONWebKey.Material) {
    let made: OpaquePointer? =
      switch material {
      case .rsa(let modulus, let exponent): Self.rsa(modulus, exponent)
      case .ec(let curve, let x, let y): Self.ec(curve, [0x04] + x + y)
      case .ed25519(let bytes): EVP_PKEY_new_raw_public_key_ex(nil, "ED25519", nil, bytes, bytes.count)
      }
    guard let made else { return nil }
    key = made
  }

  deinit { EVP_PKEY_free(key) }

  private static func rsa(_ modulus: [UInt8], _ exponent: [UInt8]) -> OpaquePointer? {
    // libcrypto reads numbers in the byte order of the processor, which is little-endian on all that Swift supports.
    var (modulus, exponent) = (Array(modulus.reversed()), Array(exponent.reversed()))
    return modulus.withUnsafeMutableBufferPointer { modulus in
      exponent.withUnsafeMutableBufferPointer { exponent in
        make(
          "RSA",
          [
            OSSL_PARAM_construct_BN(name("n"), modulus.baseAddress, modulus.count),
            OSSL_PARAM_construct_BN(name("e"), exponent.baseAddress, exponent.count),
          ])
      }
    }
  }

  private static func ec(_ curve: JSONWebKey.Curve, _ point: [UInt8]) -> OpaquePointer? {
    var (group, point) = (Array(curve.rawValue.utf8CString), point)
    return group.withUnsafeMutableBufferPointer { group in
      point.withUnsafeMutableBufferPointer { point in
        make(
          "EC",
          [
            OSSL_PARAM_construct_utf8_string(name("group"), group.baseAddress, 0),
            OSSL_PARAM_construct_octet_string(name("pub"), point.baseAddress, point.count),
          ])
      }
    }
  }

  /// Returns a text of the program, because parameters keep the addresses of their names. A string of Swift has an address during
  /// one call only.
  private static func name(_ text: StaticString) -> UnsafePointer<CChar> {
    UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
  }

  private static func make(_ type: String, _ parameters: [OSSL_PARAM]) -> OpaquePointer? {
    guard let context = EVP_PKEY_CTX_new_from_name(nil, type, nil) else { return nil }
    defer { EVP_PKEY_CTX_free(context) }
    var parameters = parameters + [OSSL_PARAM_construct_end()]
    var key: OpaquePointer?
    guard EVP_PKEY_fromdata_init(context) == 1,
      EVP_PKEY_fromdata(context, &key, Int32(ccrypto_public_key.rawValue), &parameters) == 1
    else { return nil }
    return key
  }
}

extension SignatureAlgorithm {
  /// The hash function; `nil` for Ed25519, which has its own.
  fileprivate var digest: OpaquePointer? {
    switch self {
    case .rs256, .ps256, .es256: EVP_sha256()
    case .rs384, .ps384, .es384: EVP_sha384()
    case .rs512, .ps512, .es512: EVP_sha512()
    case .edDSA, .ed25519: nil
    }
  }

  fileprivate var isPSS: Bool { [.ps256, .ps384, .ps512].contains(self) }
}
