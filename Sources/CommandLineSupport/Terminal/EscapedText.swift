/// The text with everything that could drive a terminal made visible: `\n`, `\t`, `\x1B`, `\u202E`.
///
/// Control characters of both sets and the marks that reorder text for display are escaped; all else stays. Whatever
/// comes from data, files or the command line goes through here before a person sees it.
public func escaped(_ text: String) -> String {
  // Most text has nothing to escape, and a look at its bytes shows that.
  let isPlain = text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
  if isPlain || !text.unicodeScalars.contains(where: drivesTerminal) { return text }
  var result = ""
  for scalar in text.unicodeScalars {
    guard drivesTerminal(scalar) else {
      result.unicodeScalars.append(scalar)
      continue
    }
    switch scalar {
    case "\n": result += "\\n"
    case "\r": result += "\\r"
    case "\t": result += "\\t"
    default:
      let digits = String(scalar.value, radix: 16, uppercase: true)
      let short = scalar.value <= 0xFF
      result += (short ? "\\x" : "\\u") + String(repeating: "0", count: (short ? 2 : 4) - digits.count) + digits
    }
  }
  return result
}

/// Whether a terminal would obey the character and not show it.
func drivesTerminal(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.value {
  case 0..<0x20, 0x7F..<0xA0: true
  case 0x200E, 0x200F, 0x061C: true  // marks of direction
  case 0x2028, 0x2029: true  // line and paragraph separators
  case 0x202A...0x202E, 0x2066...0x2069: true  // embeddings, overrides and isolates
  default: false
  }
}
