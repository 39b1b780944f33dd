/// Parses JSON byte by byte.
///
/// Foundation's `JSONSerialization` is not suitable. For a duplicate name it silently uses the last value. It writes
/// 1.0 as 1, which turns a REAL into an INTEGER. It rounds integers over 64 bits, and its errors name no place.
struct JSONParser {
  let bytes: [UInt8]
  var offset = 0
  private var depth = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func document() throws(SyncModelError) -> SyncValue {
    skipWhiteSpace()
    let value = try value()
    skipWhiteSpace()
    guard offset == bytes.count else {
      throw SyncModelError(.trailingText, "unexpected text after the JSON value", byteOffset: offset)
    }
    return value
  }

  private mutating func value() throws(SyncModelError) -> SyncValue {
    switch try peek() {
    case UInt8(ascii: "{"): try nested { parser throws(SyncModelError) in try parser.object() }
    case UInt8(ascii: "["): try nested { parser throws(SyncModelError) in try parser.array() }
    case UInt8(ascii: "\""): .text(try string())
    case UInt8(ascii: "t"): try word("true", .bool(true))
    case UInt8(ascii: "f"): try word("false", .bool(false))
    case UInt8(ascii: "n"): try word("null", .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
    default: throw unexpected()
    }
  }

  private mutating func nested(
    _ read: (inout JSONParser) throws(SyncModelError) -> SyncValue
  ) throws(SyncModelError) -> SyncValue {
    guard depth < SyncValue.greatestTextDepth else {
      throw SyncModelError(
        .tooDeep, "JSON is nested more than \(SyncValue.greatestTextDepth) deep", byteOffset: offset)
    }
    depth += 1
    offset += 1
    let value = try read(&self)
    depth -= 1
    return value
  }

  private mutating func array() throws(SyncModelError) -> SyncValue {
    var elements: [SyncValue] = []
    skipWhiteSpace()
    if try take("]") { return .array(elements) }
    while true {
      skipWhiteSpace()
      elements.append(try value())
      skipWhiteSpace()
      if try take("]") { return .array(elements) }
      try expect(",")
    }
  }

  private mutating func object() throws(SyncModelError) -> SyncValue {
    var members: [SyncObject.Member] = []
    var offsets: [Int] = []
    // Most texts come from a program that writes the names in order.
    var isOrdered = true
    skipWhiteSpace()
    if try take("}") { return .object(SyncObject()) }
    while true {
      skipWhiteSpace()
      offsets.append(offset)
      guard try peek() == UInt8(ascii: "\"") else { throw unexpected() }
      let name = try string()
      skipWhiteSpace()
      try expect(":")
      skipWhiteSpace()
      if isOrdered, let last = members.last { isOrdered = UTF16Order.compare(last.name, name) == .before }
      members.append(SyncObject.Member(name: name, value: try value()))
      skipWhiteSpace()
      if try take("}") {
        return .object(isOrdered ? SyncObject(ordered: members) : try Self.ordered(members, offsets))
      }
      try expect(",")
    }
  }

  private static func ordered(
    _ members: [SyncObject.Member], _ offsets: [Int]
  ) throws(SyncModelError) -> SyncObject {
    let sorted = members.indices.sorted { left, right in
      switch UTF16Order.compare(members[left].name, members[right].name) {
      case .before: true
      case .same: left < right
      case .after: false
      }
    }
    let repeated = zip(sorted, sorted.dropFirst()).filter {
      UTF16Order.compare(members[$0].name, members[$1].name) == .same
    }
    if let first = repeated.map(\.1).min() {
      throw SyncModelError(.duplicateName, "a name appears twice in one JSON object", byteOffset: offsets[first])
    }
    return SyncObject(ordered: sorted.map { members[$0] })
  }

  // MARK: Bytes

  func peek() throws(SyncModelError) -> UInt8 {
    guard offset < bytes.count else {
      throw SyncModelError(.unexpectedEnd, "the JSON ends too early", byteOffset: bytes.count)
    }
    return bytes[offset]
  }

  mutating func take(_ character: Unicode.Scalar) throws(SyncModelError) -> Bool {
    guard try peek() == UInt8(ascii: character) else { return false }
    offset += 1
    return true
  }

  private mutating func expect(_ character: Unicode.Scalar) throws(SyncModelError) {
    guard try take(character) else { throw unexpected() }
  }

  private mutating func word(_ word: String, _ value: SyncValue) throws(SyncModelError) -> SyncValue {
    for byte in word.utf8 {
      guard try peek() == byte else { throw unexpected() }
      offset += 1
    }
    return value
  }

  private mutating func skipWhiteSpace() {
    while offset < bytes.count {
      switch bytes[offset] {
      case 0x20, 0x0A, 0x0D, 0x09: offset += 1
      default: return
      }
    }
  }

  func unexpected() -> SyncModelError {
    guard offset < bytes.count else {
      return SyncModelError(.unexpectedEnd, "the JSON ends too early", byteOffset: bytes.count)
    }
    return SyncModelError(.syntax, "invalid JSON", byteOffset: offset)
  }
}

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
    throw SyncModelError(.numberOutOfRange, "the exponent of the number has more than nine digits", byteOffset: start)
  }

  /// Returns whether a double can represent any number of this form: at most 15 digits and a point, without an exponent
  /// (IEEE 754).
  private func isShort(_ text: String) -> Bool {
    text.utf8.count <= 16 && !text.utf8.contains { $0 | 0x20 == UInt8(ascii: "e") }
  }

  private mutating func digits() throws(SyncModelError) {
    let start = offset
    while offset < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[offset]) { offset += 1 }
    if offset == start { throw unexpected() }
  }
}

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
      .invalidUTF8, "invalid UTF-8", byteOffset: start + validPrefix(of: start..<offset))
  }

  /// The number of bytes at the beginning of a range that are valid UTF-8.
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
    let lone = SyncModelError(.loneSurrogate, "unpaired surrogate", byteOffset: start)
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
