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

/// Returns a count with its noun in the singular or the plural, such as `1 file` and `2 files`.
public func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
