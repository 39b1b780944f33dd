import CPlatform
import Platform

/// A type that provides the 32 bytes of a database key during a call.
///
/// The module with keys in guarded memory conforms to it, so that no copy exists longer than the call.
public protocol EncryptionKey: Sendable {
  /// Passes the key to a closure. The pointer is valid only during the closure.
  func withKeyBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result
}

/// A database key in ordinary memory, for tests, tools and databases in memory.
public struct PlainKey: EncryptionKey {
  private let bytes: [UInt8]

  /// Creates a key of exactly 32 bytes; `nil` for any other number.
  public init?(_ bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    self.bytes = bytes
  }

  /// Returns a fresh random key.
  public static func random() -> PlainKey { PlainKey(random: RandomSource.system.bytes(32)) }

  private init(random: [UInt8]) { bytes = random }

  /// Passes the 32 bytes to a closure. The pointer is valid during the closure only.
  public func withKeyBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result {
    try bytes.withUnsafeBytes(body)
  }
}

extension EncryptionKey {
  /// Passes the key in SQLCipher's form of a raw key, `x'64 hexadecimal digits'`, to a closure, and wipes it
  /// afterwards.
  func withRawKeyText<Result>(_ body: (UnsafeMutableBufferPointer<UInt8>) throws -> Result) throws -> Result {
    try withKeyBytes { key in
      guard key.count == 32 else {
        throw SQLError(.misuse, "a database key must have 32 bytes; this key has \(key.count)")
      }
      return try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 67) { text in
        defer { cplatform_wipe(text.baseAddress, text.count) }
        text[0] = UInt8(ascii: "x")
        text[1] = UInt8(ascii: "'")
        for index in 0..<32 {
          text[2 + index * 2] = HexText.digit(key[index] >> 4)
          text[3 + index * 2] = HexText.digit(key[index] & 15)
        }
        text[66] = UInt8(ascii: "'")
        return try body(text)
      }
    }
  }
}
