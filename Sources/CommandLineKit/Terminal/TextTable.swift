/// Rows in aligned columns, for users.
///
/// On a terminal the widest columns are cut until a row fits into a line. In a file or a pipe no column is cut.
/// Columns with numbers only are aligned at the right. Columns that users copy can be excluded from cutting. Control
/// characters in cells are escaped.
///
/// ```swift
/// var table = TextTable(["id", "entity", "status"])
/// table.add(["7", "AtmosphericLog", "failed"])
/// output.write(table.text(for: terminal))
/// ```
public struct TextTable: Sendable {
  /// The headings.
  public let titles: [String]
  /// The alignment of each column; `nil` derives it from the cells.
  public var alignments: [Alignment?]
  /// The titles of columns that are never cut.
  public let whole: Set<String>
  private var rows: [[Cell]] = []
  // Of each column, kept while rows are added: the widest cell, and whether all cells that are not empty are numbers.
  private var widest: [Int]
  private var isNumeric: [Bool]
  private var hasContent: [Bool]

  private struct Cell {
    let text: String
    let width: Int

    init(_ text: String) { (self.text, width) = (text, displayWidth(text)) }
  }

  /// The alignment of a cell.
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
    widest = self.titles.map(displayWidth)
    isNumeric = titles.map { _ in true }
    hasContent = titles.map { _ in false }
  }

  /// Whether the table is empty.
  public var isEmpty: Bool { rows.isEmpty }

  /// Adds a row. Missing cells are empty, cells beyond the last title are left out.
  public mutating func add(_ cells: [String]) {
    var row: [Cell] = []
    row.reserveCapacity(titles.count)
    for column in titles.indices {
      let cell = Cell(column < cells.count ? escaped(cells[column]) : "")
      row.append(cell)
      guard !cell.text.isEmpty else { continue }
      hasContent[column] = true
      if cell.width > widest[column] { widest[column] = cell.width }
      if isNumeric[column] { isNumeric[column] = Self.isNumber(cell.text) }
    }
    rows.append(row)
  }

  /// Returns the lines of the table, the titles first. The style of a row is requested by its number.
  public func text(for terminal: Terminal, style: (Int) -> Style? = { _ in nil }) -> String {
    let widths = columnWidths(for: terminal)
    let right = titles.indices.map(isRight)
    var line: [UInt8] = []
    write(titles.map(Cell.init), widths, right, to: &line)
    var result = Array(terminal.styled(String(decoding: line, as: UTF8.self), .bold).utf8)
    result.append(UInt8(ascii: "\n"))
    for (number, row) in rows.enumerated() {
      if let style = style(number) {
        line.removeAll(keepingCapacity: true)
        write(row, widths, right, to: &line)
        result.append(contentsOf: terminal.styled(String(decoding: line, as: UTF8.self), style).utf8)
      } else {
        write(row, widths, right, to: &result)
      }
      result.append(UInt8(ascii: "\n"))
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// Appends a line without the spaces at its end.
  private func write(_ cells: [Cell], _ widths: [Int], _ right: [Bool], to text: inout [UInt8]) {
    let space = UInt8(ascii: " ")
    let start = text.count
    for (column, cell) in cells.enumerated() {
      let shown = cell.width > widths[column] ? Cell(truncated(cell.text, to: widths[column])) : cell
      if column > 0 { text.append(contentsOf: repeatElement(space, count: 2)) }
      let padding = repeatElement(space, count: widths[column] - shown.width)
      if right[column] { text.append(contentsOf: padding) }
      text.append(contentsOf: shown.text.utf8)
      if !right[column] { text.append(contentsOf: padding) }
    }
    while text.count > start, text[text.count - 1] == space { text.removeLast() }
  }

  private func isRight(_ column: Int) -> Bool {
    if column < alignments.count, let alignment = alignments[column] { return alignment == .right }
    return hasContent[column] && isNumeric[column]
  }

  private static func isNumber(_ text: String) -> Bool {
    // A quick look, because most cells are neither numbers nor begin like one.
    guard let first = text.utf8.first, (0x30...0x39).contains(first) || "+-.".utf8.contains(first) else { return false }
    return Double(text)?.isFinite == true
  }

  private func columnWidths(for terminal: Terminal) -> [Int] {
    var widths = widest
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
