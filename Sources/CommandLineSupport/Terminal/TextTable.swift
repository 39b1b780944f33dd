/// Rows in aligned columns, for people.
///
/// On a terminal the widest columns are cut until a row fits into a line; in a file or a pipe nothing is cut. Columns
/// that hold only numbers are aligned at the right. Columns that a person copies from can be kept whole. Whatever the
/// cells hold, the terminal is not driven by it.
///
/// ```swift
/// var table = TextTable(["id", "entity", "status"])
/// table.add(["7", "AtmosphericLog", "failed"])
/// output.write(table.text(for: terminal))
/// ```
public struct TextTable: Sendable {
  /// The headings.
  public let titles: [String]
  /// Where the cells of each column stand; nil lets the cells decide.
  public var alignments: [Alignment?]
  /// The titles of columns that are never cut.
  public let whole: Set<String>
  private var rows: [[String]] = []

  /// Where a cell stands in its column.
  public enum Alignment: Sendable {
    /// At the left.
    case left
    /// At the right.
    case right
  }

  /// An empty table.
  public init(_ titles: [String], alignments: [Alignment?] = [], whole: Set<String> = []) {
    self.titles = titles.map(escaped)
    self.alignments = alignments
    self.whole = whole
  }

  /// Whether there are no rows.
  public var isEmpty: Bool { rows.isEmpty }

  /// Adds a row. Missing cells are empty, cells beyond the last title are left out.
  public mutating func add(_ cells: [String]) {
    rows.append(titles.indices.map { $0 < cells.count ? escaped(cells[$0]) : "" })
  }

  /// The table in lines, the titles first. The style of a row is asked for by its number.
  public func text(for terminal: Terminal, style: (Int) -> Style? = { _ in nil }) -> String {
    let widths = columnWidths(for: terminal)
    let right = titles.indices.map(isRight)
    var result = terminal.styled(line(titles, widths, right), .bold) + "\n"
    for (number, row) in rows.enumerated() {
      let line = line(row, widths, right)
      result += (style(number).map { terminal.styled(line, $0) } ?? line) + "\n"
    }
    return result
  }

  private func line(_ cells: [String], _ widths: [Int], _ right: [Bool]) -> String {
    var line = ""
    for (column, cell) in cells.enumerated() {
      let shown = truncated(cell, to: widths[column])
      let space = String(repeating: " ", count: widths[column] - displayWidth(shown))
      if column > 0 { line += "  " }
      line += right[column] ? space + shown : shown + space
    }
    return String(line.reversed().drop { $0 == " " }.reversed())
  }

  private func isRight(_ column: Int) -> Bool {
    if column < alignments.count, let alignment = alignments[column] { return alignment == .right }
    let cells = rows.lazy.map { $0[column] }.filter { !$0.isEmpty }
    return !cells.isEmpty && cells.allSatisfy { Double($0)?.isFinite == true }
  }

  private func columnWidths(for terminal: Terminal) -> [Int] {
    var widths = titles.indices.map { column in
      rows.reduce(displayWidth(titles[column])) { max($0, displayWidth($1[column])) }
    }
    guard terminal.isTerminal else { return widths }
    var excess = widths.reduce(2 * (widths.count - 1), +) - terminal.width
    // The widest column gives way until it is as wide as the next, and so on, so that narrow ones stay whole.
    let cuttable = titles.indices.filter { !whole.contains(titles[$0]) }
    while excess > 0, let widest = cuttable.map({ widths[$0] }).max(), widest > 4 {
      let next = max(cuttable.map { widths[$0] }.filter { $0 < widest }.max() ?? 4, 4)
      let columns = cuttable.filter { widths[$0] == widest }
      let cut = max(1, min(widest - next, excess / columns.count))
      for column in columns where excess > 0 {
        widths[column] -= cut
        excess -= cut
      }
    }
    return widths
  }
}
