/// The text in lines of at most the width, broken at spaces. Lines after the first are indented.
///
/// `first` stands before the text, and may hold styles; it is as wide as the indent or narrower. A word that is wider
/// than a line stays whole, so that it can be copied. Line breaks in the text stay.
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

/// Rows of a name and its description in two columns; a name that is too wide has its description below.
func twoColumns(_ rows: [(name: String, text: String)], width: Int, terminal: Terminal, widest: Int = 26) -> String {
  let column = rows.map { displayWidth($0.name) }.filter { $0 <= widest }.max() ?? 0
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
