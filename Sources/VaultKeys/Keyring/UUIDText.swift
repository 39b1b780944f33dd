/// UUIDs as lower-case text.
enum UUIDText {
  /// A random UUID, version 4 of RFC 9562.
  static func random(from randomness: Randomness) -> String {
    var bytes = randomness.bytes(16)
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    let hex = Array(Digest.hex(bytes))
    let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(hex[$0]) }
    return groups.joined(separator: "-")
  }

  /// Whether the text is a UUID in lower case.
  static func isWellFormed(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard bytes.count == 36 else { return false }
    return bytes.enumerated().allSatisfy { index, byte in
      [8, 13, 18, 23].contains(index)
        ? byte == UInt8(ascii: "-") : (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
    }
  }
}
