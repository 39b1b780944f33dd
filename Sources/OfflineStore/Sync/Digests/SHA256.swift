import CSodium

/// SHA-256 over parts.
struct SHA256 {
  private var state = crypto_hash_sha256_state()

  init() { _ = crypto_hash_sha256_init(&state) }

  mutating func add(_ text: String) {
    var text = text
    text.withUTF8 { _ = crypto_hash_sha256_update(&state, $0.baseAddress, UInt64($0.count)) }
  }

  /// The digest of what was added, as 64 lower-case hexadecimal digits. Nothing can be added afterwards.
  mutating func hexDigest() -> String {
    var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
    _ = crypto_hash_sha256_final(&state, &digest)
    return Self.hex(digest)
  }

  static func hex(_ bytes: [UInt8]) -> String {
    String(unsafeUninitializedCapacity: bytes.count * 2) { text in
      for (index, byte) in bytes.enumerated() {
        text[index * 2] = digit(byte >> 4)
        text[index * 2 + 1] = digit(byte & 15)
      }
      return bytes.count * 2
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 48 + value : 87 + value }
}
