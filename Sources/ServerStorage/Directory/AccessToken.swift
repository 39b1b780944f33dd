import CSodium

/// The token of a client: 256 random bits after a prefix that users and secret scanners recognise.
package enum AccessToken {
  static let prefix = "fv_"

  /// Returns a new token.
  package static func make() -> String { prefix + makeSecret() }

  /// Returns 256 random bits as text for addresses and cookies: letters, digits, hyphens and underscores.
  package static func makeSecret() -> String {
    _ = sodium_init()
    var bytes = [UInt8](repeating: 0, count: 32)
    randombytes_buf(&bytes, bytes.count)
    let variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING
    var text = [CChar](repeating: 0, count: sodium_base64_encoded_len(bytes.count, variant))
    _ = sodium_bin2base64(&text, text.count, bytes, bytes.count, variant)
    sodium_memzero(&bytes, bytes.count)
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Returns the stored form of a token. A plain hash suffices, because 256 random bits cannot be guessed.
  package static func hash(of token: String) -> [UInt8] {
    let bytes = Array(token.utf8)
    var hash = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
    _ = crypto_hash_sha256(&hash, bytes, UInt64(bytes.count))
    return hash
  }
}
