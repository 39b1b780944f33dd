import CSodium
import Platform

extension SecureBytes {
  /// Returns fresh random bytes.
  public static func random(count: Int, from randomness: RandomSource = .system) throws(KeyError) -> SecureBytes {
    try SecureBytes(count: count, filling: { bytes in randomness.fill(bytes) })
  }

  /// Compares the bytes, in a time that depends only on their length.
  public func isEqual(to other: SecureBytes) -> Bool {
    count == other.count && withPointer { mine in other.withPointer { sodium_memcmp(mine, $0, count) == 0 } }
  }

  /// Returns the bytes as lowercase hexadecimal digits, two per byte, in guarded memory.
  public func hexText() throws(KeyError) -> SecureBytes {
    try SecureBytes(
      count: count * 2,
      writing: { text in
        withPointer { bytes in
          for index in 0..<count {
            text[2 * index] = SecureBytes.hexDigit(bytes[index] >> 4)
            text[2 * index + 1] = SecureBytes.hexDigit(bytes[index] & 15)
          }
        }
      })
  }

  /// Returns the bytes of hexadecimal digits in either case; `nil` for any other text.
  static func bytes(ofHex text: SecureBytes) throws(KeyError) -> SecureBytes? {
    guard text.count.isMultiple(of: 2) else { return nil }
    var isHex = true
    let bytes = try SecureBytes(
      count: text.count / 2,
      writing: { bytes in
        text.withPointer { digits in
          for index in 0..<text.count {
            let value = hexValue(digits[index])
            isHex = isHex && value < 16
            bytes[index / 2] |= (value & 15) << (index.isMultiple(of: 2) ? 4 : 0)
          }
        }
      })
    return isHex ? bytes : nil
  }

  /// Returns 0...15, or 16 for a byte that is not a digit, without a branch.
  private static func hexValue(_ digit: UInt8) -> UInt8 {
    let number = digit &- 0x30
    let letter = (digit | 0x20) &- 0x61
    let isNumber = UInt8(truncatingIfNeeded: (Int(number) - 10) >> 8)
    let isLetter = UInt8(truncatingIfNeeded: (Int(letter) - 6) >> 8)
    return (isNumber & number) | (isLetter & (letter &+ 10)) | (~(isNumber | isLetter) & 16)
  }

  /// Returns the digit of 0...15 by arithmetic, because the address of a table lookup would depend on the secret.
  private static func hexDigit(_ value: UInt8) -> UInt8 {
    value + 0x30 + ((9 &- value) >> 7) * 0x27
  }
}

extension SecureBytes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The number of bytes, never the bytes.
  public var description: String { "SecureBytes(\(count) bytes)" }
  /// The number of bytes, never the bytes.
  public var debugDescription: String { description }
  /// A mirror without children, so that `dump` shows no bytes.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
