/// Crockford's base32 and the check character of a group.
enum RecoveryAlphabet {
  private static let characters = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

  static func character(_ value: UInt8) -> UInt8 { characters[Int(value & 31)] }

  static func isSeparator(_ character: UInt8) -> Bool {
    switch character {
    case UInt8(ascii: " "), UInt8(ascii: "-"), 0x09, 0x0A, 0x0D: true
    default: false
    }
  }

  /// Returns the value of a typed character, or `nil`.
  static func value(of typed: UInt8) -> UInt8? {
    let upper = (0x61...0x7A).contains(typed) ? typed - 0x20 : typed
    switch upper {
    case UInt8(ascii: "O"): return 0
    case UInt8(ascii: "I"), UInt8(ascii: "L"): return 1
    default: return characters.firstIndex(of: upper).map { UInt8($0) }
    }
  }

  /// Returns the check value of the first four values of a group, in the field of 32 elements (x^5 + x^2 + 1).
  ///
  /// Each value has a different weight (x, x^2, x^3, x^4), and the number of the group is added. This detects every
  /// single mistake, every swap of two characters of a group and every swap of two groups.
  static func check(of digits: UnsafeRawBufferPointer, group: Int) -> UInt8 {
    var sum = UInt8(group)
    for index in 0..<4 {
      var term = digits[index]
      for _ in 0...index { term = doubled(term) }
      sum ^= term
    }
    return sum
  }

  /// Multiplies by x in the field, without a branch on the value.
  private static func doubled(_ value: UInt8) -> UInt8 {
    ((value << 1) & 31) ^ ((value >> 4) & 1) * 0b00101
  }
}
