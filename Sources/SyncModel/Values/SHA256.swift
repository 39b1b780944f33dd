import CSodium

/// SHA-256 over parts.
package struct SHA256 {
  private var state = crypto_hash_sha256_state()

  package init() { _ = crypto_hash_sha256_init(&state) }

  package mutating func add(_ bytes: UnsafeRawBufferPointer) {
    _ = crypto_hash_sha256_update(&state, bytes.bindMemory(to: UInt8.self).baseAddress, UInt64(bytes.count))
  }

  package mutating func add(_ text: String) {
    var text = text
    text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
  }

  /// The digest of the bytes added so far.
  package var digest: [UInt8] {
    var state = state
    var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
    _ = crypto_hash_sha256_final(&state, &digest)
    return digest
  }

  /// The digest as 64 lowercase hexadecimal digits.
  package var hexDigest: String {
    let digest = digest
    return String(unsafeUninitializedCapacity: digest.count * 2) { text in
      for (index, byte) in digest.enumerated() {
        text[index * 2] = Self.digit(byte >> 4)
        text[index * 2 + 1] = Self.digit(byte & 15)
      }
      return digest.count * 2
    }
  }

  /// Returns whether a text has the form of ``hexDigest``.
  package static func isHexDigest(_ text: String) -> Bool {
    text.utf8.count == 64 && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
  }

  private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 48 + value : 87 + value }
}
