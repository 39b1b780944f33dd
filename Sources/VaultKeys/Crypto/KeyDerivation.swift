import CSodium

/// The cost of turning a passphrase into a key with Argon2id version 1.3.
///
/// libsodium runs one lane (parallelism 1). The default, 64 MiB and 3 passes, is the memory and the passes of the
/// second recommendation of RFC 9106, which is for machines that cannot spare 2 GiB.
public struct KeyDerivation: Sendable, Equatable {
  /// The passes over the memory, 1...64.
  public let opsLimit: Int
  /// The memory in bytes, 8 MiB...1 GiB, a multiple of 1024.
  public let memLimitBytes: Int

  /// The accepted passes.
  public static let opsRange = 1...64
  /// The accepted memory, in bytes.
  public static let memoryRange = (8 << 20)...(1 << 30)

  /// Creates parameters within the accepted ranges.
  ///
  /// - Throws: ``KeyError`` `unacceptableParameters`, naming the field and its range.
  public init(opsLimit: Int, memLimitBytes: Int) throws(KeyError) {
    guard KeyDerivation.opsRange.contains(opsLimit) else {
      throw KeyDerivation.refusal("opsLimit", opsLimit, "1...64 passes")
    }
    guard KeyDerivation.memoryRange.contains(memLimitBytes), memLimitBytes.isMultiple(of: 1024) else {
      throw KeyDerivation.refusal("memLimitBytes", memLimitBytes, "8388608...1073741824 bytes in whole KiB")
    }
    self.init(trusted: opsLimit, memLimitBytes)
  }

  private init(trusted opsLimit: Int, _ memLimitBytes: Int) {
    self.opsLimit = opsLimit
    self.memLimitBytes = memLimitBytes
  }

  /// The default: 64 MiB and 3 passes, about 0.15 s on a laptop.
  public static let standard = KeyDerivation(trusted: 3, 64 << 20)
  /// The lowest accepted cost for tests: 8 MiB and 1 pass.
  public static let smallest = KeyDerivation(trusted: 1, 8 << 20)

  /// Returns whether either parameter is lower than that of `other`.
  public func isWeaker(than other: KeyDerivation) -> Bool {
    opsLimit < other.opsLimit || memLimitBytes < other.memLimitBytes
  }

  /// Returns the higher value of both for each parameter.
  func raised(to other: KeyDerivation) -> KeyDerivation {
    KeyDerivation(trusted: max(opsLimit, other.opsLimit), max(memLimitBytes, other.memLimitBytes))
  }

  private static func refusal(_ field: String, _ value: Int, _ allowed: String) -> KeyError {
    KeyError(
      .unacceptableParameters, "the Argon2id parameter \(field) is \(value); the allowed range is \(allowed)",
      hint: "another program wrote this value; restore the keyring from a backup")
  }

  /// Returns the 32-byte key of a passphrase.
  func key(of passphrase: SecureBytes, salt: [UInt8]) throws(KeyError) -> SecureBytes {
    let status: (UnsafeMutablePointer<UInt8>) -> Int32 = { key in
      passphrase.withPointer { secret in
        secret.withMemoryRebound(to: CChar.self, capacity: passphrase.count) { characters in
          crypto_pwhash(
            key, 32, characters, UInt64(passphrase.count), salt, UInt64(opsLimit), memLimitBytes,
            crypto_pwhash_ALG_ARGON2ID13)
        }
      }
    }
    return try SecureBytes(
      count: 32,
      writing: { key throws(KeyError) in
        guard status(key) == 0 else { throw .outOfMemory("Argon2id, which needs \(memLimitBytes >> 20) MiB") }
      })
  }
}
