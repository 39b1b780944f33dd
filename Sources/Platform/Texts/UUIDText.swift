import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The text form of RFC 9562, section 4, read and written byte by byte.
@usableFromInline
package enum UUIDText {
  /// Parses 36 characters in lower or upper case; `nil` if they are not a UUID.
  @inlinable
  package static func parse(_ text: UnsafePointer<UInt8>) -> UUID? {
    var uuid: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    let valid = withUnsafeMutableBytes(of: &uuid) { bytes in
      var position = 0
      for byte in 0..<16 {
        if byte == 4 || byte == 6 || byte == 8 || byte == 10 {
          if text[position] != 0x2d { return false }
          position += 1
        }
        let high = HexText.value(text[position])
        let low = HexText.value(text[position + 1])
        if high | low > 15 { return false }
        bytes[byte] = high << 4 | low
        position += 2
      }
      return true
    }
    return valid ? UUID(uuid: uuid) : nil
  }

  /// Writes the lowercase form to a buffer of 36 bytes.
  @inlinable
  package static func write(_ value: UUID, to text: UnsafeMutableBufferPointer<UInt8>) {
    var uuid = value.uuid
    withUnsafeBytes(of: &uuid) { bytes in
      var position = 0
      for byte in 0..<16 {
        if byte == 4 || byte == 6 || byte == 8 || byte == 10 {
          text[position] = 0x2d
          position += 1
        }
        text[position] = HexText.digit(bytes[byte] >> 4)
        text[position + 1] = HexText.digit(bytes[byte] & 15)
        position += 2
      }
    }
  }

  /// Returns the lowercase form.
  package static func text(_ value: UUID) -> String {
    String(unsafeUninitializedCapacity: 36) { buffer in
      write(value, to: UnsafeMutableBufferPointer(rebasing: buffer[0..<36]))
      return 36
    }
  }

  /// Reads a text of 36 characters in lower or upper case; `nil` for any other text.
  package static func parse(_ text: some StringProtocol) -> UUID? {
    var copy = String(text)
    return copy.withUTF8 { bytes in
      guard bytes.count == 36, let start = bytes.baseAddress else { return nil }
      return parse(start)
    }
  }

  /// Returns whether the text is a lowercase UUID.
  package static func isCanonical(_ text: some StringProtocol) -> Bool {
    parse(text) != nil && !text.utf8.contains { (0x41...0x46).contains($0) }
  }
}

extension UUID {
  /// Creates a version 4 UUID (RFC 9562, section 5.4) from 122 random bits of a source.
  package static func version4(random: RandomSource) -> UUID {
    let bytes = random.bytes(16)
    return UUID(
      uuid: (
        bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6] & 0x0F | 0x40, bytes[7],
        bytes[8] & 0x3F | 0x80, bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
      ))
  }
}

extension UUID {
  /// Creates a version 7 UUID (RFC 9562, section 5.7): 48 bits of Unix time in milliseconds, then a counter, then 62
  /// random bits. Values of one process ascend, also within a millisecond and when the clock steps back.
  public static func version7() -> UUID { UUIDSource.system.next() }
}

/// A source of version 7 UUIDs. The values of one source ascend, also within a millisecond and when the clock steps
/// back (method 1 of RFC 9562, section 6.2: the counter continues, and carries into the time when it overflows).
package final class UUIDSource: Sendable {
  /// The source of ``Foundation/UUID/version7()``.
  package static let system = UUIDSource(clock: .system, random: .system)

  private let clock: Clock
  private let random: RandomSource
  // Time in the upper 48 bits, the 12-bit counter below.
  private let lastStamp = Atomic<UInt64>(0)

  /// Creates a source with the time of a clock and the bits of a random source.
  package init(clock: Clock, random: RandomSource) { (self.clock, self.random) = (clock, random) }

  /// Returns the next UUID.
  package func next() -> UUID {
    // A new millisecond starts its counter at 0.
    let now = UInt64(max(0, clock.now())) << 12
    var last = lastStamp.load(ordering: .relaxed)
    while true {
      let stamp = max(last + 1, now)
      let (isSet, found) = lastStamp.weakCompareExchange(expected: last, desired: stamp, ordering: .relaxed)
      if isSet { return UUID(stamp: stamp, random: random.number()) }
      last = found
    }
  }
}

extension UUID {
  fileprivate init(stamp: UInt64, random: UInt64) {
    let time = stamp >> 12
    let upper = time << 16 | 0x7000 | stamp & 0xfff
    let lower = 0x8000_0000_0000_0000 | random >> 2
    func byte(_ value: UInt64, _ shift: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: value >> shift) }
    self.init(
      uuid: (
        byte(upper, 56), byte(upper, 48), byte(upper, 40), byte(upper, 32),
        byte(upper, 24), byte(upper, 16), byte(upper, 8), byte(upper, 0),
        byte(lower, 56), byte(lower, 48), byte(lower, 40), byte(lower, 32),
        byte(lower, 24), byte(lower, 16), byte(lower, 8), byte(lower, 0)
      ))
  }
}
