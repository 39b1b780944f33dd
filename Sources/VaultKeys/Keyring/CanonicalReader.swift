import Platform

/// Parses the one text that the writer produces. Any other text is damage.
struct CanonicalReader {
  private let bytes: ArraySlice<UInt8>
  private var position: Int

  init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    position = bytes.startIndex
  }

  /// Skips `text` if it is next. Returns whether it was.
  mutating func skip(_ text: String) -> Bool {
    guard bytes[position...].starts(with: text.utf8) else { return false }
    position += text.utf8.count
    return true
  }

  mutating func expect(_ text: String, as field: String) throws(KeyError) {
    guard skip(text) else { throw unexpected(field) }
  }

  func expectEnd() throws(KeyError) {
    guard position == bytes.endIndex else { throw unexpected("the end") }
  }

  /// Reads an integer of up to 18 digits, without a sign and without leading zeros.
  mutating func number(_ field: String) throws(KeyError) -> Int {
    let digits = bytes[position...].prefix { (0x30...0x39).contains($0) }
    guard (1...18).contains(digits.count), digits.count == 1 || digits.first != 0x30 else { throw unexpected(field) }
    position = digits.endIndex
    return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
  }

  /// Reads a string in quotation marks, with the escapes `\"` and `\\`.
  mutating func string(_ field: String, where isAcceptable: (String) -> Bool) throws(KeyError) -> String {
    var content: [UInt8] = []
    try expect("\"", as: field)
    while position < bytes.endIndex, bytes[position] != UInt8(ascii: "\"") {
      if bytes[position] == UInt8(ascii: "\\") { position += 1 }
      guard position < bytes.endIndex else { throw unexpected(field) }
      content.append(bytes[position])
      position += 1
    }
    try expect("\"", as: field)
    guard let text = String(validating: content, as: UTF8.self), isAcceptable(text) else { throw unexpected(field) }
    return text
  }

  /// Reads exactly `count` bytes in base64.
  mutating func base64(_ field: String, count: Int) throws(KeyError) -> [UInt8] {
    try expect("\"", as: field)
    let text = bytes[position...].prefix { $0 != UInt8(ascii: "\"") }
    guard let decoded = Base64.bytes(text, count: count) else { throw unexpected(field) }
    position = text.endIndex
    try expect("\"", as: field)
    return decoded
  }

  private func unexpected(_ field: String) -> KeyError {
    .damaged("\(field) is malformed near byte \(position)")
  }
}
