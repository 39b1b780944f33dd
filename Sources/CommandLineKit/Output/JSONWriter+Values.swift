/// A number that JSON cannot say: not a number, or infinite.
public struct JSONNumberError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The error.
  public var description: String { "JSON has no numbers that are infinite or not a number" }
}

extension JSONWriter {
  /// A text.
  public mutating func value(_ text: String) { put { appendJSONString(text, to: &$0) } }

  /// Writes UTF-8 text from memory. Invalid bytes become U+FFFD.
  public mutating func value(utf8 text: UnsafeBufferPointer<UInt8>) { put { appendJSONString(utf8: text, to: &$0) } }

  /// A whole number, with all of its 64 bits.
  public mutating func value(_ number: Int64) { put { appendDecimal(number, to: &$0) } }

  /// A whole number.
  public mutating func value(_ number: Int) { value(Int64(number)) }

  /// Writes a number that is JSON already.
  public mutating func value(jsonNumber text: String) { put { $0.append(contentsOf: text.utf8) } }

  /// A number as the shortest text that reads back as the same number. Always with a fraction or an exponent: `21.0`.
  public mutating func value(_ number: Double) throws(JSONNumberError) {
    guard number.isFinite else { throw JSONNumberError() }
    put { $0.append(contentsOf: number.description.utf8) }
  }

  /// `true` or `false`.
  public mutating func value(_ flag: Bool) { put { $0.append(contentsOf: (flag ? "true" : "false").utf8) } }

  /// `null`.
  public mutating func null() { put { $0.append(contentsOf: "null".utf8) } }

  /// Bytes as a text in base64, with padding (RFC 4648, section 4).
  public mutating func base64(_ data: UnsafeRawBufferPointer) { put { appendBase64(data, to: &$0) } }

  /// Bytes as a text in base64.
  public mutating func base64(_ data: [UInt8]) { data.withUnsafeBytes { base64($0) } }

  /// Writes a text that is one JSON value already, such as a stored payload, without a check.
  public mutating func raw(_ json: String) { put { $0.append(contentsOf: json.utf8) } }
}

extension JSONWriter {
  /// A key with a text, or `null`.
  public mutating func member(_ name: String, _ text: String?) {
    key(name)
    if let text { value(text) } else { null() }
  }

  /// A key with a whole number, or `null`.
  public mutating func member(_ name: String, _ number: Int?) {
    key(name)
    if let number { value(number) } else { null() }
  }

  /// A key with a number.
  public mutating func member(_ name: String, _ number: Double) throws(JSONNumberError) {
    key(name)
    try value(number)
  }

  /// A key with a flag.
  public mutating func member(_ name: String, _ flag: Bool) {
    key(name)
    value(flag)
  }
}
