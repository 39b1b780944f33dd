import CSodium
import Platform

/// The hashes of the keyring.
enum Digest {
  /// Returns the SHA-256 as 64 lowercase hexadecimal digits.
  static func sha256Hex(_ bytes: ArraySlice<UInt8>) -> String {
    var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
    _ = crypto_hash_sha256(&digest, Array(bytes), UInt64(bytes.count))
    return HexText.text(digest)
  }

  /// Returns BLAKE2b with 32 bytes of output under a key of 16...64 bytes. The output is not secret.
  static func mac(_ message: [UInt8], key: SecureBytes) -> [UInt8] {
    var mac = [UInt8](repeating: 0, count: 32)
    key.withPointer { keyBytes in
      _ = crypto_generichash(&mac, 32, message, UInt64(message.count), keyBytes, key.count)
    }
    return mac
  }

  /// Returns BLAKE2b with 32 bytes of output under a key of 16...64 bytes. The output is secret.
  static func secret(_ message: [UInt8], key: SecureBytes) throws(KeyError) -> SecureBytes {
    try SecureBytes(
      count: 32,
      writing: { output in
        key.withPointer { keyBytes in
          _ = crypto_generichash(output, 32, message, UInt64(message.count), keyBytes, key.count)
        }
      })
  }

  /// Returns plain BLAKE2b of a secret, with 32 bytes of output.
  static func secret(of content: SecureBytes) throws(KeyError) -> SecureBytes {
    try SecureBytes(
      count: 32,
      writing: { output in
        content.withPointer { bytes in
          _ = crypto_generichash(output, 32, bytes, UInt64(content.count), nil, 0)
        }
      })
  }

  /// Compares two byte sequences in constant time.
  static func isEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.count == other.count && sodium_memcmp(one, other, one.count) == 0
  }
}
