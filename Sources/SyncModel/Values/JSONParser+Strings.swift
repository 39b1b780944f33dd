extension JSONParser {
  /// Reads a string, from its opening to its closing quote.
  mutating func string() throws(SyncModelError) -> String {
    offset += 1
    var text = ""
    while true {
      let part = try plainText()
      switch try peek() {
      case UInt8(ascii: "\""):
        offset += 1
        return text.isEmpty ? part : text + part
      case UInt8(ascii: "\\"):
        text += part
        text.unicodeScalars.append(try escape())
      default:
        throw unexpected()
      }
    }
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
  }

  /// Reads up to a quote, an escape, or a byte that a string must not contain.
  private mutating func plainText() throws(SyncModelError) -> String {
    let start = offset
    var all: UInt8 = 0
    while offset < bytes.count, Self.isPlain(bytes[offset]) {
      all |= bytes[offset]
      offset += 1
    }
    // ASCII, which most texts are, needs no validation, and this way of making a string is quicker by far.
    if all < 0x80 { return String(decoding: bytes[start..<offset], as: UTF8.self) }
    if let text = String(validating: bytes[start..<offset], as: UTF8.self) { return text }
    throw SyncModelError(
      .invalidUTF8, "this is not UTF-8", byteOffset: start + validPrefix(of: start..<offset))
  }

  /// How many bytes at the beginning of a range are UTF-8.
  private func validPrefix(of range: Range<Int>) -> Int {
    var parser = Unicode.UTF8.ForwardParser()
    var iterator = bytes[range].makeIterator()
    var length = 0
    while case .valid(let scalar) = parser.parseScalar(from: &iterator) { length += scalar.count }
    return length
  }

  private mutating func escape() throws(SyncModelError) -> Unicode.Scalar {
    let start = offset
    offset += 1
    let letter = try peek()
    if letter == UInt8(ascii: "u") { return try unicodeEscape(from: start) }
    guard let scalar = Self.shortEscapes[letter] else { throw unexpected() }
    offset += 1
    return scalar
  }

  private static let shortEscapes: [UInt8: Unicode.Scalar] = [
    UInt8(ascii: "\""): "\"", UInt8(ascii: "\\"): "\\", UInt8(ascii: "/"): "/", UInt8(ascii: "b"): "\u{8}",
    UInt8(ascii: "f"): "\u{C}", UInt8(ascii: "n"): "\n", UInt8(ascii: "r"): "\r", UInt8(ascii: "t"): "\t",
  ]

  private mutating func unicodeEscape(from start: Int) throws(SyncModelError) -> Unicode.Scalar {
    let first = try codeUnit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    let lone = SyncModelError(.loneSurrogate, "half of a surrogate pair", byteOffset: start)
    guard first < 0xDC00, offset + 1 < bytes.count, bytes[offset] == UInt8(ascii: "\\"),
      bytes[offset + 1] == UInt8(ascii: "u")
    else { throw lone }
    offset += 1
    let second = try codeUnit()
    guard (0xDC00...0xDFFF).contains(second) else { throw lone }
    let code = 0x10000 + (UInt32(first - 0xD800) << 10) + UInt32(second - 0xDC00)
    guard let scalar = Unicode.Scalar(code) else { throw lone }
    return scalar
  }

  /// Reads the `u` and the four hexadecimal digits after it.
  private mutating func codeUnit() throws(SyncModelError) -> UInt16 {
    offset += 1
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard let digit = Character(Unicode.Scalar(try peek())).hexDigitValue else { throw unexpected() }
      unit = unit << 4 + UInt16(digit)
      offset += 1
    }
    return unit
  }
}
