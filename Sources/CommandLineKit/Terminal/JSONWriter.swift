/// Writes JSON to a growing buffer of bytes, without building a tree.
///
/// The same calls always produce the same bytes: keys stay in the given order. Pretty for a user at a terminal,
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

  /// A writer of one document, or of several one after the other.
  public init(pretty: Bool = false) {
    isPretty = pretty
  }

  /// A writer that is pretty when the output is a terminal.
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

  /// The key of the value that comes next.
  public mutating func key(_ name: String) {
    assert(levels.last?.isObject == true && !hasKey, "a key stands in an object, before its value")
    separate()
    appendJSONString(name, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
    if isPretty { bytes.append(UInt8(ascii: " ")) }
    hasKey = true
  }

  /// Ends a document with a line feed; another may follow, as in NDJSON.
  public mutating func endDocument() {
    assert(levels.isEmpty, "the document is not complete")
    bytes.append(UInt8(ascii: "\n"))
  }

  /// Hands the bytes to the output once there are enough of them, or all of them when the document is complete.
  public mutating func drain(to output: Output) throws(OutputError) {
    guard bytes.count >= 64 * 1024 || levels.isEmpty else { return }
    try output.write(takeBytes())
  }

  /// The bytes so far, which are the caller's from now on.
  public mutating func takeBytes() -> [UInt8] {
    var taken: [UInt8] = []
    taken.reserveCapacity(min(bytes.capacity, 128 * 1024))
    swap(&taken, &bytes)
    return taken
  }

  /// Puts one value where the next one belongs.
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
    assert(levels.last?.isObject == isObject && !hasKey, "what ends is not what began")
    let level = levels.popLast()
    if level?.isEmpty == false { breakLine() }
    bytes.append(bracket)
  }

  private mutating func beginValue() {
    if hasKey {
      hasKey = false
    } else {
      assert(levels.last?.isObject != true, "a value in an object has a key")
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
