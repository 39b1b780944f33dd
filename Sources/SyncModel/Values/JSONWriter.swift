/// Writes JSON. The ordinary and the canonical form differ in how a REAL is written.
struct JSONWriter {
  let isCanonical: Bool
  /// The written text in UTF-8.
  private(set) var bytes: [UInt8] = []

  init(isCanonical: Bool) { self.isCanonical = isCanonical }

  mutating func write(_ value: SyncValue) {
    switch value {
    case .null: put("null")
    case .bool(let flag): put(flag ? "true" : "false")
    case .integer(let integer): put(String(integer))
    case .real(let real): put(isCanonical ? real.canonicalText : real.text)
    case .number(let number): put(isCanonical ? number.canonicalText : number.text)
    case .text(let string): write(string)
    case .array(let elements):
      put(byte: "[")
      for (index, element) in elements.enumerated() {
        if index > 0 { put(byte: ",") }
        write(element)
      }
      put(byte: "]")
    case .object(let object):
      put(byte: "{")
      for (index, member) in object.members.enumerated() {
        if index > 0 { put(byte: ",") }
        write(member.name)
        put(byte: ":")
        write(member.value)
      }
      put(byte: "}")
    }
  }

  /// Writes an object, with other content in place of one value.
  mutating func write(
    _ object: SyncValue, replacing name: String,
    by content: (inout JSONWriter) throws(SyncModelError) -> Void
  ) throws(SyncModelError) {
    guard case .object(let object) = object else { return write(object) }
    put(byte: "{")
    for (index, member) in object.members.enumerated() {
      if index > 0 { put(byte: ",") }
      write(member.name)
      put(byte: ":")
      if member.name == name { try content(&self) } else { write(member.value) }
    }
    put(byte: "}")
  }

  /// Writes an array.
  mutating func write<Element>(
    _ elements: [Element], _ content: (Element, inout JSONWriter) throws(SyncModelError) -> Void
  ) throws(SyncModelError) {
    put(byte: "[")
    for (index, element) in elements.enumerated() {
      if index > 0 { put(byte: ",") }
      try content(element, &self)
    }
    put(byte: "]")
  }

  /// Makes room for a text.
  mutating func reserve(_ count: Int) { bytes.reserveCapacity(count) }

  /// Writes JSON.
  mutating func put(_ json: some Collection<UInt8>) { bytes.append(contentsOf: json) }

  /// Writes a string. Escapes only the characters that JSON requires, in the forms of RFC 8785, section 3.2.2.2. All of
  /// them are ASCII, so bytes are compared instead of characters, and the text between them is copied at once.
  private mutating func write(_ string: String) {
    put(byte: "\"")
    var string = string
    string.withUTF8 { text in
      var written = 0
      var index = 0
      while index < text.count {
        let byte = text[index]
        if byte < 0x20 || byte == 0x22 || byte == 0x5C {
          bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[written..<index]))
          put(Self.escape(byte))
          written = index + 1
        }
        index += 1
      }
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[written...]))
    }
    put(byte: "\"")
  }

  private static func escape(_ byte: UInt8) -> String {
    switch byte {
    case UInt8(ascii: "\""): "\\\""
    case UInt8(ascii: "\\"): "\\\\"
    case 0x8: "\\b"
    case 0xC: "\\f"
    case UInt8(ascii: "\n"): "\\n"
    case UInt8(ascii: "\r"): "\\r"
    case UInt8(ascii: "\t"): "\\t"
    default: (byte < 16 ? "\\u000" : "\\u00") + String(byte, radix: 16)
    }
  }

  private mutating func put(_ text: String) {
    bytes.append(contentsOf: text.utf8)
  }

  mutating func put(byte character: Unicode.Scalar) {
    bytes.append(UInt8(ascii: character))
  }
}
