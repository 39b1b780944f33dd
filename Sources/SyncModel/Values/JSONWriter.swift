/// Writes JSON. The ordinary and the canonical form differ in how a REAL is written.
struct JSONWriter {
  let isCanonical: Bool
  private(set) var text = ""

  init(isCanonical: Bool) { self.isCanonical = isCanonical }

  mutating func write(_ value: SyncValue) {
    switch value {
    case .null: text += "null"
    case .bool(let flag): text += flag ? "true" : "false"
    case .integer(let integer): text += String(integer)
    case .real(let real): text += isCanonical ? real.canonicalText : real.text
    case .text(let string): write(string)
    case .array(let elements):
      text += "["
      for (index, element) in elements.enumerated() {
        if index > 0 { text += "," }
        write(element)
      }
      text += "]"
    case .object(let object):
      text += "{"
      for (index, member) in object.members.enumerated() {
        if index > 0 { text += "," }
        write(member.name)
        text += ":"
        write(member.value)
      }
      text += "}"
    }
  }

  /// Escapes what JSON demands and nothing else, in the forms of RFC 8785, section 3.2.2.2.
  private mutating func write(_ string: String) {
    text += "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\u{8}": text += "\\b"
      case "\u{C}": text += "\\f"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case "\u{0}"..."\u{1F}":
        text += (scalar.value < 16 ? "\\u000" : "\\u00") + String(scalar.value, radix: 16)
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }
}
