/// Writes JSON to a growing buffer of bytes, without building a tree.
///
/// The same calls always produce the same bytes: keys stay in the given order. The output is indented on a terminal and
/// compact otherwise. Characters that could control a terminal are escaped, so the text is safe to show.
///
/// ```swift
/// var json = JSONWriter()
/// json.beginObject()
/// json.member("pending", 3)
/// json.key("rows")
/// json.beginArray()
/// try json.value(21.0)
/// json.endArray()
/// json.endObject()
/// json.endDocument()  // {"pending":3,"rows":[21.0]}
/// ```
///
/// A long document is written in parts: call ``drain(to:)`` after each row. Calls in an invalid order, such as a
/// value without a key in an object, are programming errors and stop a debug build.
public struct JSONWriter: Sendable {
  /// The written bytes that were not drained yet.
  public private(set) var bytes: [UInt8] = []
  /// Whether lines are broken and indented.
  public let isPretty: Bool
  private var levels: [Level] = []
  private var hasKey = false

  private struct Level {
    let isObject: Bool
    var isEmpty = true
  }

  /// Creates a writer of one document, or of several documents in sequence.
  public init(pretty: Bool = false) {
    isPretty = pretty
  }

  /// Creates a writer that indents if the output is a terminal.
  public init(for output: Output) {
    self.init(pretty: output.terminal.isTerminal)
  }

  // MARK: Structure

  /// Begins an object: `{`.
  public mutating func beginObject() { begin(UInt8(ascii: "{"), isObject: true) }

  /// Ends the object: `}`.
  public mutating func endObject() { end(UInt8(ascii: "}"), isObject: true) }

  /// Begins an array: `[`.
  public mutating func beginArray() { begin(UInt8(ascii: "["), isObject: false) }

  /// Ends the array: `]`.
  public mutating func endArray() { end(UInt8(ascii: "]"), isObject: false) }

  /// Writes the key of the next value.
  public mutating func key(_ name: String) {
    assert(levels.last?.isObject == true && !hasKey, "a key must be in an object, before its value")
    separate()
    appendJSONString(name, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
    if isPretty { bytes.append(UInt8(ascii: " ")) }
    hasKey = true
  }

  /// Ends a document with a line feed. Another document may follow, as in NDJSON.
  public mutating func endDocument() {
    assert(levels.isEmpty, "the document is not complete")
    bytes.append(UInt8(ascii: "\n"))
  }

  /// Writes the bytes to the output if enough of them are collected, or if the document is complete.
  public mutating func drain(to output: Output) throws(OutputError) {
    guard bytes.count >= 64 * 1024 || levels.isEmpty else { return }
    try output.write(takeBytes())
  }

  /// Returns the bytes so far, and clears the buffer.
  public mutating func takeBytes() -> [UInt8] {
    var taken: [UInt8] = []
    taken.reserveCapacity(min(bytes.capacity, 128 * 1024))
    swap(&taken, &bytes)
    return taken
  }

  /// Writes one value at the current position.
  mutating func put(_ write: (inout [UInt8]) -> Void) {
    beginValue()
    write(&bytes)
  }

  private mutating func begin(_ bracket: UInt8, isObject: Bool) {
    beginValue()
    bytes.append(bracket)
    levels.append(Level(isObject: isObject))
  }

  private mutating func end(_ bracket: UInt8, isObject: Bool) {
    assert(levels.last?.isObject == isObject && !hasKey, "the end does not match the beginning")
    let level = levels.popLast()
    if level?.isEmpty == false { breakLine() }
    bytes.append(bracket)
  }

  private mutating func beginValue() {
    if hasKey {
      hasKey = false
    } else {
      assert(levels.last?.isObject != true, "a value in an object needs a key")
      separate()
    }
  }

  private mutating func separate() {
    guard let last = levels.indices.last else { return }
    if !levels[last].isEmpty { bytes.append(UInt8(ascii: ",")) }
    levels[last].isEmpty = false
    breakLine()
  }

  private mutating func breakLine() {
    guard isPretty else { return }
    bytes.append(UInt8(ascii: "\n"))
    bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * levels.count))
  }
}

/// A number that JSON cannot represent: not a number, or infinite.
public struct JSONNumberError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The message of the error.
  public var description: String { "JSON has no numbers that are infinite or not a number" }
}

extension JSONWriter {
  /// Writes a text.
  public mutating func value(_ text: String) { put { appendJSONString(text, to: &$0) } }

  /// Writes UTF-8 text from memory. Invalid bytes become U+FFFD.
  public mutating func value(utf8 text: UnsafeBufferPointer<UInt8>) { put { appendJSONString(utf8: text, to: &$0) } }

  /// Writes an integer with all of its 64 bits.
  public mutating func value(_ number: Int64) { put { appendDecimal(number, to: &$0) } }

  /// Writes an integer.
  public mutating func value(_ number: Int) { value(Int64(number)) }

  /// Writes a number that is already JSON.
  public mutating func value(jsonNumber text: String) { put { $0.append(contentsOf: text.utf8) } }

  /// Writes a number as the shortest text that reads back as the same number, always with a fraction or an exponent:
  /// `21.0`.
  public mutating func value(_ number: Double) throws(JSONNumberError) {
    guard number.isFinite else { throw JSONNumberError() }
    put { $0.append(contentsOf: number.description.utf8) }
  }

  /// Writes `true` or `false`.
  public mutating func value(_ flag: Bool) { put { $0.append(contentsOf: (flag ? "true" : "false").utf8) } }

  /// Writes `null`.
  public mutating func null() { put { $0.append(contentsOf: "null".utf8) } }

  /// Writes bytes as text in base64, with padding (RFC 4648, section 4).
  public mutating func base64(_ data: UnsafeRawBufferPointer) { put { appendBase64(data, to: &$0) } }

  /// Writes bytes as text in base64.
  public mutating func base64(_ data: [UInt8]) { data.withUnsafeBytes { base64($0) } }

  /// Writes a text that is already one JSON value, such as a stored payload, without a check.
  public mutating func raw(_ json: String) { put { $0.append(contentsOf: json.utf8) } }
}

extension JSONWriter {
  /// Writes a key with a text or `null`.
  public mutating func member(_ name: String, _ text: String?) {
    key(name)
    if let text { value(text) } else { null() }
  }

  /// Writes a key with an integer or `null`.
  public mutating func member(_ name: String, _ number: Int?) {
    key(name)
    if let number { value(number) } else { null() }
  }

  /// Writes a key with a number.
  public mutating func member(_ name: String, _ number: Double) throws(JSONNumberError) {
    key(name)
    try value(number)
  }

  /// Writes a key with a flag.
  public mutating func member(_ name: String, _ flag: Bool) {
    key(name)
    value(flag)
  }
}
