import CSodium
import Platform

/// The hashes of the keyring.
enum Digest {
  /// SHA-256, as 64 lower-case hexadecimal digits.
  static func sha256Hex(_ bytes: ArraySlice<UInt8>) -> String {
    var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
    _ = crypto_hash_sha256(&digest, Array(bytes), UInt64(bytes.count))
    return HexText.text(digest)
  }

  /// BLAKE2b with 32 bytes of output under a key of 16...64 bytes. The output is no secret.
  static func mac(_ message: [UInt8], key: SecureBytes) -> [UInt8] {
    var mac = [UInt8](repeating: 0, count: 32)
    key.withPointer { keyBytes in
      _ = crypto_generichash(&mac, 32, message, UInt64(message.count), keyBytes, key.count)
    }
    return mac
  }

  /// BLAKE2b with 32 bytes of output under a key of 16...64 bytes. The output is a secret.
  static func secret(_ message: [UInt8], key: SecureBytes) throws(KeyError) -> SecureBytes {
    try SecureBytes(
      count: 32,
      writing: { output in
        key.withPointer { keyBytes in
          _ = crypto_generichash(output, 32, message, UInt64(message.count), keyBytes, key.count)
        }
      })
  }

  /// Plain BLAKE2b with 32 bytes of output over a secret.
  static func secret(of content: SecureBytes) throws(KeyError) -> SecureBytes {
    try SecureBytes(
      count: 32,
      writing: { output in
        content.withPointer { bytes in
          _ = crypto_generichash(output, 32, bytes, UInt64(content.count), nil, 0)
        }
      })
  }

  /// Whether both are the same, in constant time.
  static func isEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.count == other.count && sodium_memcmp(one, other, one.count) == 0
  }
}
