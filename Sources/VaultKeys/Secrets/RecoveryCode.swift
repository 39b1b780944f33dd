import Platform

/// A recovery code: 160 random bits in a form that a user can write down, with check characters that find mistakes.
///
/// Eight groups of five characters of Crockford's base32, such as `000GD-40R4X-0M300-E209K-185G3-R38ED-1W811-24GKZ`.
/// The first four characters of a group are 20 bits of the secret, the fifth is the group's check character.
public struct RecoveryCode: Sendable {
  /// The 20 secret bytes.
  let secret: SecureBytes

  /// The number of bytes of the secret.
  static let secretCount = 20
  /// The number of groups in a code.
  static let groupCount = 8
  /// The number of characters of a code with its hyphens.
  static let textCount = 47

  private init(secret: SecureBytes) {
    self.secret = secret
  }

  /// Returns a new code.
  public static func random(from randomness: RandomSource = .system) throws(KeyError) -> RecoveryCode {
    RecoveryCode(secret: try .random(count: secretCount, from: randomness))
  }

  /// Parses a code as a user types it: upper or lower case, with or without spaces, hyphens and line ends. The letter
  /// O is read as 0, and I and L as 1.
  ///
  /// - Throws: ``KeyError`` `badRecoveryCode`, naming the group with the mistake. Does not try any key.
  public init(parsing text: SecureBytes) throws(KeyError) {
    let values = try RecoveryCode.values(in: text)
    secret = try SecureBytes(
      count: RecoveryCode.secretCount,
      writing: { bytes throws(KeyError) in
        try values.withUnsafeBytes { characters throws(KeyError) in
          for group in 0..<RecoveryCode.groupCount {
            let digits = UnsafeRawBufferPointer(rebasing: characters[(group * 5)..<(group * 5 + 5)])
            guard RecoveryAlphabet.check(of: digits, group: group) == digits[4] else {
              throw .badRecoveryCode("group \(group + 1) of the recovery code is mistyped")
            }
            RecoveryCode.store(digits, group: group, into: bytes)
          }
        }
      })
  }

  /// Returns the code in eight groups with hyphens, 47 characters, in guarded memory.
  public func text() throws(KeyError) -> SecureBytes {
    try SecureBytes(
      count: RecoveryCode.textCount,
      filling: { text in
        for group in 0..<RecoveryCode.groupCount {
          let digits = UnsafeMutableRawBufferPointer(rebasing: text[(group * 6)..<(group * 6 + 5)])
          secret.withUnsafeBytes { RecoveryCode.load(group: group, from: $0, into: digits) }
          digits[4] = RecoveryAlphabet.check(of: UnsafeRawBufferPointer(digits), group: group)
          for index in 0..<5 { digits[index] = RecoveryAlphabet.character(digits[index]) }
          if group > 0 { text[group * 6 - 1] = UInt8(ascii: "-") }
        }
      })
  }

  /// Returns the secret for ``Keyring/unlock(with:)`` and for a new slot.
  public func unlockSecret() throws(KeyError) -> UnlockSecret {
    .recoveryCode(try text())
  }

  /// Returns the 40 values of the characters, 0...31 each.
  private static func values(in text: SecureBytes) throws(KeyError) -> SecureBytes {
    var found = 0
    let values = try SecureBytes(
      count: groupCount * 5,
      writing: { values throws(KeyError) in
        try text.withUnsafeBytes { characters throws(KeyError) in
          for character in characters where !RecoveryAlphabet.isSeparator(character) {
            guard let value = RecoveryAlphabet.value(of: character) else {
              throw .badRecoveryCode("character \(found + 1) of the recovery code is not in its alphabet")
            }
            if found < groupCount * 5 { values[found] = value }
            found += 1
          }
        }
      })
    guard found == groupCount * 5 else {
      throw .badRecoveryCode("a recovery code must have \(groupCount * 5) characters; this code has \(found)")
    }
    return values
  }

  // Two groups are five bytes: the bits run through from the first byte's highest to the last byte's lowest.

  private static func store(_ digits: UnsafeRawBufferPointer, group: Int, into bytes: UnsafeMutablePointer<UInt8>) {
    for index in 0..<20 {
      let bit = (digits[index / 5] >> UInt8(4 - index % 5)) & 1
      let position = group * 20 + index
      bytes[position / 8] |= bit << UInt8(7 - position % 8)
    }
  }

  private static func load(group: Int, from bytes: UnsafeRawBufferPointer, into digits: UnsafeMutableRawBufferPointer) {
    for index in 0..<20 {
      let position = group * 20 + index
      let bit = (bytes[position / 8] >> UInt8(7 - position % 8)) & 1
      digits[index / 5] |= bit << UInt8(4 - index % 5)
    }
  }
}

extension KeyError {
  static func badRecoveryCode(_ what: String) -> KeyError {
    KeyError(.badRecoveryCode, what, hint: "compare it with your written copy, group by group")
  }
}
