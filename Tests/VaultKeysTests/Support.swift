import Foundation
import Platform
import Testing

@testable import VaultKeys

/// A secret from a literal.
func secure(_ text: String) -> SecureBytes { secure(bytes: Array(text.utf8)) }

func secure(bytes: [UInt8]) -> SecureBytes {
  var bytes = bytes
  do {
    return try SecureBytes(wiping: &bytes)
  } catch {
    fatalError("\(error)")
  }
}

/// Returns the content of guarded memory, for comparisons in tests.
func plain(_ bytes: SecureBytes) -> [UInt8] { bytes.withUnsafeBytes { Array($0) } }

func text(_ bytes: SecureBytes) -> String { String(decoding: plain(bytes), as: UTF8.self) }

func passphrase(_ text: String) -> UnlockSecret { .passphrase(secure(text)) }

/// A key file of 64 bytes that depend on a number.
func keyFile(_ number: Int) -> UnlockSecret {
  .keyFile(secure(bytes: (0..<64).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ number &* 13) }))
}

extension KeyringSettings {
  /// Real randomness at the lowest cost.
  static let cheap = KeyringSettings(derivation: .smallest)

  /// The lowest cost, random bytes 00, 01, 02 ... and a clock that stands at 2026-03-01T07:05:09.004Z.
  static func fixed() -> KeyringSettings {
    let next = Locked<UInt8>(0)
    return KeyringSettings(
      derivation: .smallest,
      randomness: RandomSource { bytes in
        next.withLock { next in
          for index in bytes.indices {
            bytes[index] = next
            next &+= 1
          }
        }
      }, now: { 1_772_348_709_004 })
  }
}

/// The code of the error that `body` throws, or nil.
func code(of body: () throws -> Void) -> KeyError.Code? {
  do {
    try body()
    return nil
  } catch {
    return (error as? KeyError)?.code
  }
}
