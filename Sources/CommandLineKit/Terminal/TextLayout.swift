/// Returns the text in lines of at most the width, broken at spaces. Lines after the first are indented.
///
/// `first` precedes the text and may contain styles. It is at most as wide as the indent. A word that is wider than a
/// line is not broken, so that it can be copied. Line breaks in the text stay.
func wrap(_ text: String, width: Int, first: String = "", indent: Int = 0) -> String {
  let margin = String(repeating: " ", count: indent)
  var lines: [String] = []
  for paragraph in text.split(separator: "\n", omittingEmptySubsequences: false) {
    var line = ""
    for word in paragraph.split(separator: " ") {
      if !line.isEmpty, indent + displayWidth(line) + 1 + displayWidth(String(word)) > width {
        lines.append(line)
        line = ""
      }
      line += (line.isEmpty ? "" : " ") + word
    }
    lines.append(line)
  }
  var result = first + (lines.first ?? "")
  for line in lines.dropFirst() { result += "\n" + (line.isEmpty ? "" : margin + line) }
  return result
}

/// A usage line in lines that are not broken within brackets.
func wrapUsage(_ line: String, width: Int, first: String, indent: Int) -> String {
  let text = wrap(unbroken(line), width: width, first: first, indent: indent)
  return String(text.map { $0 == "\u{A0}" ? " " : $0 })
}

/// Returns a usage line with no-break spaces within brackets.
func unbroken(_ line: String) -> String {
  var depth = 0
  return String(
    line.map { character -> Character in
      if character == "[" || character == "(" { depth += 1 }
      if character == "]" || character == ")" { depth -= 1 }
      return depth > 0 && character == " " ? "\u{A0}" : character
    })
}

/// Returns rows of a name and its description in two columns. The description of a name that is too wide is below it.
///
/// The first column is as wide as its widest name, and not narrower than requested.
func twoColumns(
  _ rows: [(name: String, text: String)], width: Int, terminal: Terminal, atLeast: Int = 0, atMost: Int = 26
) -> String {
  let column = rows.map { displayWidth($0.name) }.filter { $0 <= atMost }.reduce(atLeast, max)
  let indent = 2 + column + 2
  var result = ""
  for row in rows {
    let used = displayWidth(row.name)
    let isWide = used > column
    let gap = isWide ? "\n" + String(repeating: " ", count: indent) : String(repeating: " ", count: indent - 2 - used)
    let name = "  " + terminal.styled(row.name, .bold)
    result += row.text.isEmpty ? name : wrap(row.text, width: width, first: name + gap, indent: indent)
    result += "\n"
  }
  return result
}

/// Returns rows of a name and its description in two columns, in the width of running text. The descriptions may have
/// line breaks.
public func twoColumns(_ rows: [(name: String, text: String)], for terminal: Terminal) -> String {
  twoColumns(rows, width: terminal.textWidth, terminal: terminal)
}

/// Returns the number of terminal columns of a text: 2 for wide East Asian characters and emoji, 0 for combining marks.
///
/// The text must not contain control characters; see ``escaped(_:)``.
public func displayWidth(_ text: String) -> Int {
  if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
  return text.reduce(0) { $0 + displayWidth($1) }
}

/// Returns the columns of one grapheme cluster.
func displayWidth(_ character: Character) -> Int {
  if character.isASCII { return 1 }
  var width = 0
  for scalar in character.unicodeScalars {
    // The variation selector requests the emoji form of the character before it.
    if isWide(scalar) || scalar.value == 0xFE0F { return 2 }
    if !isZeroWidth(scalar) { width = 1 }
  }
  return width
}

/// Returns the beginning of the text that fits into the columns, with `…` after a cut.
func truncated(_ text: String, to columns: Int) -> String {
  if displayWidth(text) <= columns { return text }
  if columns < 1 { return "" }
  var result = ""
  var width = 1
  for character in text {
    width += displayWidth(character)
    if width > columns { break }
    result.append(character)
  }
  return result + "…"
}

private func isZeroWidth(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.properties.generalCategory {
  case .nonspacingMark, .enclosingMark, .format: scalar.value != 0xAD
  default: false
  }
}

/// Returns whether a character is in Unicode's wide and full-width blocks, as in wcwidth, with some adjacent blocks.
private func isWide(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.value {
  case 0..<0x1100: false
  case 0x1100...0x115F, 0x231A...0x231B, 0x2329...0x232A, 0x23E9...0x23EC, 0x25FD...0x25FE: true
  case 0x2614...0x2615, 0x2648...0x2653, 0x26AA...0x26AB, 0x26BD...0x26BE, 0x26C4...0x26C5: true
  case 0x267F, 0x2693, 0x26A1, 0x26CE, 0x26D4, 0x26EA, 0x26F2...0x26F3, 0x26F5, 0x26FA, 0x26FD: true
  case 0x2705, 0x270A...0x270B, 0x2728, 0x274C, 0x274E, 0x2753...0x2755, 0x2757, 0x2795...0x2797: true
  case 0x27B0, 0x27BF, 0x2B1B...0x2B1C, 0x2B50, 0x2B55: true
  case 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF: true
  case 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F: true
  case 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18CFF, 0x1AFF0...0x1B2FF: true
  case 0x1F004, 0x1F0CF, 0x1F18E, 0x1F191...0x1F19A, 0x1F1E6...0x1F202, 0x1F210...0x1F265: true
  case 0x1F300...0x1F320, 0x1F32D...0x1F335, 0x1F337...0x1F37C, 0x1F37E...0x1F393: true
  case 0x1F3A0...0x1F3CA, 0x1F3CF...0x1F3D3, 0x1F3E0...0x1F3F0, 0x1F3F4, 0x1F3F8...0x1F43E: true
  case 0x1F440, 0x1F442...0x1F4FC, 0x1F4FF...0x1F53D, 0x1F54B...0x1F567, 0x1F57A: true
  case 0x1F595...0x1F596, 0x1F5A4, 0x1F5FB...0x1F64F, 0x1F680...0x1F6C5, 0x1F6CC: true
  case 0x1F6D0...0x1F6D2, 0x1F6D5...0x1F6D7, 0x1F6DC...0x1F6DF, 0x1F6EB...0x1F6EC: true
  case 0x1F6F4...0x1F6FC, 0x1F7E0...0x1F7EB, 0x1F90C...0x1F9FF, 0x1FA70...0x1FAFF: true
  case 0x20000...0x3FFFD: true
  default: false
  }
}
