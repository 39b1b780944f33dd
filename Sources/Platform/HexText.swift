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
