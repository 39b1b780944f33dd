import Platform
import VaultKeys

/// A passphrase of 80 random bits: four groups of four characters, such as `7km2-x9pd-04th-wq8c`.
///
/// The characters are lower-case letters and digits without `i`, `l`, `o` and `u`, which are easily misread.
enum GeneratedPassphrase {
  private static let characters = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)
  private static let groups = 4
  private static let groupLength = 4

  /// Returns a new passphrase. Every character has 5 random bits, so that each is equally likely.
  ///
  /// - Throws: `KeyError` with `outOfMemory`.
  static func make(from randomness: RandomSource = .system) throws(KeyError) -> SecureBytes {
    let random = try SecureBytes.random(count: groups * groupLength, from: randomness)
    return try SecureBytes(
      count: groups * (groupLength + 1) - 1,
      filling: { text in
        random.withUnsafeBytes { bytes in
          for (index, byte) in bytes.enumerated() {
            let position = index + index / groupLength
            if index > 0, index.isMultiple(of: groupLength) { text[position - 1] = UInt8(ascii: "-") }
            text[position] = characters[Int(byte & 31)]
          }
        }
      })
  }

  /// Writes a passphrase and a line feed to a free path, with mode 0600, durably.
  ///
  /// - Throws: `KeyError` with `alreadyExists`, `noSpace` or `cannotWrite`.
  static func write(_ passphrase: SecureBytes, to path: String) throws(KeyError) {
    let line = try SecureBytes(
      count: passphrase.count + 1,
      filling: { target in
        passphrase.withUnsafeBytes { target.copyMemory(from: $0) }
        target[target.count - 1] = 0x0A
      })
    try AtomicFile(path).createSecret(line)
  }
}
