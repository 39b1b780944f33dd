import Foundation
import Platform
import Synchronization
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

/// What is in it; only tests look.
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
    let next = Mutex<UInt8>(0)
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

/// A folder that is there for one test.
final class TemporaryFolder {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "/vaultkeys-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> String { path + "/" + name }

  func write(_ bytes: [UInt8], to name: String) throws -> String {
    try Data(bytes).write(to: URL(fileURLWithPath: file(name)))
    return file(name)
  }

  var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() } }

  func mode(_ name: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: file(name))[.posixPermissions] as? Int
  }
}

/// A generator that a printed seed brings back.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
