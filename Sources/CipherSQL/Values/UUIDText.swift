import CSQLCipher

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension UUID: SQLValue {
  /// Reads the 36 characters of the text form, lower or upper case, without making a String.
  @inlinable
  @inline(__always)
  public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> UUID {
    // The parser accepts only the text of a UUID, so the type needs no check of its own.
    guard let start = sqlite3_column_text(row.handle, index), sqlite3_column_bytes(row.handle, index) == 36,
      let value = UUIDText.parse(start)
    else { throw row.mismatch(index, expected: "UUID as TEXT") }
    return value
  }

  /// Binds the lower-case text form as TEXT to a placeholder, counted from 1.
  /// - Throws: ``SQLError`` with `misuse` when the statement has no such placeholder.
  @inlinable
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    var failure: SQLError?
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 36) { buffer in
      UUIDText.write(self, to: buffer)
      do throws(SQLError) { try statement.bindText(UnsafeBufferPointer(buffer), at: index) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// The lower-case text form as TEXT.
  public var sqlArgument: SQLArgument { .text(sqlText) }

  /// The lower-case text form, the form of all UUIDs in the database and on the wire.
  public var sqlText: String {
    String(unsafeUninitializedCapacity: 36) { buffer in
      UUIDText.write(self, to: UnsafeMutableBufferPointer(rebasing: buffer[0..<36]))
      return 36
    }
  }

  /// Parses a text of 36 characters; `nil` for any other text.
  public init?(sqlText text: some StringProtocol) {
    var copy = String(text)
    let value = copy.withUTF8 { bytes in
      bytes.count == 36 ? bytes.baseAddress.flatMap { UUIDText.parse($0) } : nil
    }
    guard let value else { return nil }
    self = value
  }
}

/// The text form of RFC 9562, section 4, read and written byte by byte.
@usableFromInline
enum UUIDText {
  // For each of the 36 characters: the byte of the UUID it belongs to; 255 for the four hyphens.
  @inlinable
  static func parse(_ text: UnsafePointer<UInt8>) -> UUID? {
    var uuid: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    let valid = withUnsafeMutableBytes(of: &uuid) { bytes in
      var position = 0
      for byte in 0..<16 {
        if byte == 4 || byte == 6 || byte == 8 || byte == 10 {
          if text[position] != 0x2d { return false }
          position += 1
        }
        let high = nibble(text[position])
        let low = nibble(text[position + 1])
        if high | low > 15 { return false }
        bytes[byte] = high << 4 | low
        position += 2
      }
      return true
    }
    return valid ? UUID(uuid: uuid) : nil
  }

  @inlinable
  static func write(_ value: UUID, to text: UnsafeMutableBufferPointer<UInt8>) {
    var uuid = value.uuid
    withUnsafeBytes(of: &uuid) { bytes in
      var position = 0
      for byte in 0..<16 {
        if byte == 4 || byte == 6 || byte == 8 || byte == 10 {
          text[position] = 0x2d
          position += 1
        }
        text[position] = digit(bytes[byte] >> 4)
        text[position + 1] = digit(bytes[byte] & 15)
        position += 2
      }
    }
  }

  @inlinable
  static func nibble(_ character: UInt8) -> UInt8 {
    switch character {
    case 0x30...0x39: character - 0x30
    case 0x61...0x66: character - 0x57
    case 0x41...0x46: character - 0x37
    default: 255
    }
  }

  @inlinable
  static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }
}
