import CSodium

/// Base64 of RFC 4648 section 4, with padding, for bytes that are no secret.
package enum Base64 {
  private static let variant = sodium_base64_VARIANT_ORIGINAL

  package static func text(_ bytes: [UInt8]) -> String {
    let count = sodium_base64_encoded_len(bytes.count, variant)
    var text = [CChar](repeating: 0, count: count)
    _ = sodium_bin2base64(&text, count, bytes, bytes.count, variant)
    return String(decoding: text.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Exactly `count` bytes, or nil.
  package static func bytes(_ text: ArraySlice<UInt8>, count: Int) -> [UInt8]? {
    bytes(text).flatMap { $0.count == count ? $0 : nil }
  }

  /// Returns `nil` for text that is not base64.
  package static func bytes(_ text: some Collection<UInt8>) -> [UInt8]? {
    let characters = text.map { CChar(bitPattern: $0) }
    var bytes = [UInt8](repeating: 0, count: characters.count / 4 * 3 + 3)
    var count = 0
    let status = sodium_base642bin(&bytes, bytes.count, characters, characters.count, nil, &count, nil, variant)
    return status == 0 ? Array(bytes.prefix(count)) : nil
  }
}
