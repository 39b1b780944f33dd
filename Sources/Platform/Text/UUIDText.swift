#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The text form of RFC 9562, section 4, read and written byte by byte.
@usableFromInline
package enum UUIDText {
  /// Reads 36 characters in lower or upper case; `nil` if they are no UUID.
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

  /// Writes the lower-case form to a buffer of 36 bytes.
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

  /// Returns the lower-case form.
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

  /// Returns whether the text is a UUID in lower case.
  package static func isCanonical(_ text: some StringProtocol) -> Bool {
    parse(text) != nil && !text.utf8.contains { (0x41...0x46).contains($0) }
  }
}
