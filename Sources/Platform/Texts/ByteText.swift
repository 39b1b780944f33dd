import CSodium

/// Hexadecimal digits of bytes that are not secret.
@usableFromInline
package enum HexText {
  /// Returns two lowercase digits for each byte.
  package static func text(_ bytes: some Sequence<UInt8>) -> String {
    var digits: [UInt8] = []
    for byte in bytes {
      digits.append(digit(byte >> 4))
      digits.append(digit(byte & 15))
    }
    return String(decoding: digits, as: UTF8.self)
  }

  /// Returns the lowercase digit of 0...15.
  @inlinable
  package static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }

  /// Returns 0...15 for a digit in either case, and 255 for any other character.
  @inlinable
  package static func value(_ character: UInt8) -> UInt8 {
    switch character {
    case 0x30...0x39: character - 0x30
    case 0x61...0x66: character - 0x57
    case 0x41...0x46: character - 0x37
    default: 255
    }
  }
}

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
