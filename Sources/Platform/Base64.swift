import CSodium

/// Base64 of RFC 4648 section 4, with padding, for bytes that are not secret.
package enum Base64 {
  private static let variant = sodium_base64_VARIANT_ORIGINAL

  package static func text(_ bytes: [UInt8]) -> String {
    let count = sodium_base64_encoded_len(bytes.count, variant)
    var text = [CChar](repeating: 0, count: count)
    _ = sodium_bin2base64(&text, count, bytes, bytes.count, variant)
    return String(decoding: text.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Decodes exactly `count` bytes; `nil` for any other text.
  package static func bytes(_ text: ArraySlice<UInt8>, count: Int) -> [UInt8]? {
    bytes(text).flatMap { $0.count == count ? $0 : nil }
  }

  /// Decodes a text; `nil` if it is not base64.
  package static func bytes(_ text: some Collection<UInt8>) -> [UInt8]? {
    let characters = text.map { CChar(bitPattern: $0) }
    var bytes = [UInt8](repeating: 0, count: characters.count / 4 * 3 + 3)
    var count = 0
    let status = sodium_base642bin(&bytes, bytes.count, characters, characters.count, nil, &count, nil, variant)
    return status == 0 ? Array(bytes.prefix(count)) : nil
  }
}
