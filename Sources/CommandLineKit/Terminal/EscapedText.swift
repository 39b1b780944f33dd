/// Returns the text with visible escapes for characters that a terminal would interpret or not show: `\\n`, `\\x1B`,
/// `\\u202E`, `\\u200B`.
///
/// Escapes control characters of both sets, the marks that reorder text for display, and characters without a glyph.
/// Two texts that differ in such a character therefore do not look equal. The result is one line.
///
/// ``Output`` escapes all text that it writes. Call this for a value within a line, whose line breaks must be visible
/// too, and before its width is measured.
public func escaped(_ text: String) -> String { escape(text, keeping: { _, _ in 0 }) }

/// Returns the text in the form that ``Output`` writes: escaped, except for its line breaks and, on a terminal with
/// colours, the sequences of ``Style``.
func presentable(_ text: String, hasColours: Bool) -> String {
  escape(text) { scalars, place in
    if scalars[place] == "\n" { return 1 }
    return hasColours && scalars[place] == "\u{1B}" ? Style.length(of: scalars[place...]) : 0
  }
}

/// - Parameter keeping: returns the number of scalars from a position on that stay unescaped.
private func escape(
  _ text: String, keeping: (String.UnicodeScalarView, String.UnicodeScalarView.Index) -> Int
) -> String {
  let scalars = text.unicodeScalars
  var result = ""
  // Text before this place is in the result.
  var copied = scalars.startIndex
  var place = copied
  // Most text has nothing to escape, and a look at its bytes shows that.
  while let next = indexOfCandidate(in: text, from: place) {
    let scalar = scalars[next]
    place = scalars.index(after: next)
    guard isHidden(scalar), !joinsEmoji(scalars, next) else { continue }
    let kept = keeping(scalars, next)
    if kept > 0 {
      place = scalars.index(next, offsetBy: kept)
    } else {
      result += text[copied..<next]
      result += visible(scalar)
      copied = place
    }
  }
  return copied == scalars.startIndex ? text : result + text[copied...]
}

/// Returns the next character from a position on whose first byte can begin a hidden character.
private func indexOfCandidate(in text: String, from place: String.Index) -> String.Index? {
  let rest = text.utf8[place...]
  let offset = rest.withContiguousStorageIfAvailable { bytes in bytes.firstIndex(where: canBeginHidden) }
  guard let offset else { return rest.firstIndex(where: canBeginHidden) }
  return offset.map { rest.index(place, offsetBy: $0) }
}

/// Returns whether the character joins two emoji to a visible one.
private func joinsEmoji(_ scalars: String.UnicodeScalarView, _ place: String.UnicodeScalarView.Index) -> Bool {
  guard scalars[place].value == 0x200D, place > scalars.startIndex else { return false }
  let next = scalars.index(after: place)
  func isPicture(_ scalar: Unicode.Scalar) -> Bool { scalar.value > 0xFF && scalar.properties.isEmoji }
  guard next < scalars.endIndex, isPicture(scalars[next]) else { return false }
  var last = scalars.index(before: place)
  if scalars[last].value == 0xFE0F, last > scalars.startIndex { last = scalars.index(before: last) }
  return isPicture(scalars[last])
}

private func visible(_ scalar: Unicode.Scalar) -> String {
  switch scalar {
  case "\n": return "\\n"
  case "\r": return "\\r"
  case "\t": return "\\t"
  default:
    let digits = String(scalar.value, radix: 16, uppercase: true)
    if scalar.value > 0xFFFF { return "\\u{\(digits)}" }
    let short = scalar.value <= 0xFF
    return (short ? "\\x" : "\\u") + String(repeating: "0", count: (short ? 2 : 4) - digits.count) + digits
  }
}

/// Returns the text with every character beyond printable ASCII escaped, and with doubled backslashes. Different texts
/// never have the same result, even with letters that look alike.
public func asciiEscaped(_ text: String) -> String {
  text.unicodeScalars.map { scalar in
    switch scalar.value {
    case 0x5C: "\\\\"
    case 0x20..<0x7F: String(scalar)
    default: visible(scalar)
    }
  }.joined()
}

/// Returns the text as a reader sees it: without characters that have no glyph, with plain spaces, and without spaces
/// at the end.
public func appearance(_ text: String) -> String {
  var result = ""
  for scalar in text.unicodeScalars where !scalar.properties.isDefaultIgnorableCodePoint {
    if scalar.properties.generalCategory == .spaceSeparator {
      result += " "
    } else {
      result.unicodeScalars.append(scalar)
    }
  }
  while result.last == " " { result.removeLast() }
  return result
}

/// Returns whether a character for which ``isHidden(_:)`` is `true` can begin with the byte. Western text with accents
/// does not contain such bytes.
private func canBeginHidden(_ byte: UInt8) -> Bool {
  switch byte {
  case 0..<0x20, 0x7F, 0xC2, 0xCD, 0xD8, 0xE1, 0xE2, 0xE3, 0xEF, 0xF3: true
  default: false
  }
}

/// Returns whether a terminal interprets the character or does not show it.
private func isHidden(_ scalar: Unicode.Scalar) -> Bool {
  if drivesTerminal(scalar) { return true }
  switch scalar.value {
  case 0xFE0F: return false  // asks for the form of an emoji, which is shown
  case 0..<0xAD: return false
  // Soft hyphen, zero-width spaces and joiners, word joiner, byte order mark, fillers, tags.
  default: return scalar.properties.isDefaultIgnorableCodePoint
  }
}

/// Returns whether a terminal interprets the character instead of showing it.
func drivesTerminal(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.value {
  case 0..<0x20, 0x7F..<0xA0: true
  case 0x200E, 0x200F, 0x061C: true  // marks of direction
  case 0x2028, 0x2029: true  // line and paragraph separators
  case 0x202A...0x202E, 0x2066...0x2069: true  // embeddings, overrides and isolates
  default: false
  }
}
