extension JSONParser {
  /// Reads `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?` (RFC 8259, section 6).
  mutating func number() throws(SyncModelError) -> SyncValue {
    let start = offset
    var isInteger = true
    _ = try take("-")
    if try !take("0") {
      try digits()
    }
    if offset < bytes.count, try take(".") {
      isInteger = false
      try digits()
    }
    if offset < bytes.count, bytes[offset] | 0x20 == UInt8(ascii: "e") {
      isInteger = false
      offset += 1
      if try !take("+") { _ = try take("-") }
      try digits()
    }
    let text = String(decoding: bytes[start..<offset], as: UTF8.self)
    if isInteger, let integer = Int64(text) { return .integer(integer) }
    if let real = Double(text).flatMap(FiniteReal.init), isShort(text) || real.isSaid(by: text) { return .real(real) }
    if let number = DecimalNumber(text) { return .number(number) }
    throw SyncModelError(.numberOutOfRange, "the exponent of this number has more than nine digits", byteOffset: start)
  }

  /// Whether a double holds any number of this form: at most 15 digits and a point, without an exponent (IEEE 754).
  private func isShort(_ text: String) -> Bool {
    text.utf8.count <= 16 && !text.utf8.contains { $0 | 0x20 == UInt8(ascii: "e") }
  }

  private mutating func digits() throws(SyncModelError) {
    let start = offset
    while offset < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[offset]) { offset += 1 }
    if offset == start { throw unexpected() }
  }
}
