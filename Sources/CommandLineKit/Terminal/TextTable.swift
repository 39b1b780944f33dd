/// Rows in aligned columns, for users.
///
/// On a terminal the table takes the form that fits into a line: text is shortened, columns are left out, or each field
/// is a line; see ``TableLayout``. In a file or a pipe no column is cut. Columns with numbers only are aligned at the right.
/// Control characters in cells are escaped.
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
  /// The titles of columns that are never cut, in addition to ids, numbers and dates.
  public let whole: Set<String>
  /// The titles of columns that are left out before text becomes too short.
  public let optional: Set<String>
  /// Whether columns without a value are shown in every form. A program that leaves them out must name them.
  public var keepsEmptyColumns = true
  /// Whether all columns have their whole cells on a terminal too.
  public var keepsForm = false
  /// Whether each field is a line, whatever the width.
  public var isVertical = false
  private var rows: [(cells: [Cell], style: Style?)] = []
  private var byteCount = 0
  /// The number of rows that were written before, for the numbers of the vertical form.
  private var writtenRows = 0
  // Of each column, for all rows that were ever added: the widest cell, and the kind of the cells that are not empty.
  private var widest: [Int]
  private var isNumeric: [Bool]
  private var isFixed: [Bool]
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
  public init(
    _ titles: [String], alignments: [Alignment?] = [], whole: Set<String> = [], optional: Set<String> = []
  ) {
    self.titles = titles.map(escaped)
    self.alignments = alignments
    self.whole = whole
    self.optional = optional
    widest = self.titles.map(displayWidth)
    isNumeric = titles.map { _ in true }
    isFixed = isNumeric
    hasContent = titles.map { _ in false }
  }

  /// Whether the table has no rows.
  public var isEmpty: Bool { rows.isEmpty }

  /// Whether so many rows are waiting that they should be written.
  var isFull: Bool { rows.count >= 1_000 || byteCount >= 4 << 20 }

  /// Adds a row. Missing cells are empty, cells beyond the last title are left out.
  public mutating func add(_ cells: [String], style: Style? = nil) {
    var row: [Cell] = []
    row.reserveCapacity(titles.count)
    for column in titles.indices {
      let cell = Cell(column < cells.count ? escaped(cells[column]) : "")
      row.append(cell)
      guard cell.width > 0 else { continue }
      byteCount += cell.text.utf8.count
      hasContent[column] = true
      if cell.width > widest[column] { widest[column] = cell.width }
      if isFixed[column] {
        let isNumber = Self.isNumber(cell.text)
        if !isNumber { isNumeric[column] = false }
        isFixed[column] = isNumber || Self.isIdentifierOrDate(cell.text)
      }
    }
    rows.append((row, style))
  }

  /// Returns the lines of the table, the titles first. The style of a row is requested by its number.
  public func text(for terminal: Terminal, style: (Int) -> Style? = { _ in nil }) -> String {
    var result: [UInt8] = []
    let layout = layout(for: terminal)
    if !layout.isVertical { writeTitles(layout, terminal, to: &result) }
    for (number, row) in rows.enumerated() {
      write(row.cells, number + 1, layout, row.style ?? style(number), terminal, to: &result)
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// Appends the waiting rows and forgets them. The titles precede them unless they follow rows of the same layout.
  /// - Returns: the layout.
  mutating func drain(
    for terminal: Terminal, after previous: TableLayout?, to text: inout [UInt8]
  ) -> TableLayout {
    let layout = layout(for: terminal)
    let isSame = layout == previous || !terminal.isTerminal && previous != nil
    if !layout.isVertical, !isSame {
      if previous != nil { text.append(UInt8(ascii: "\n")) }
      writeTitles(layout, terminal, to: &text)
    }
    for row in rows {
      writtenRows += 1
      write(row.cells, writtenRows, layout, row.style, terminal, to: &text)
    }
    rows.removeAll(keepingCapacity: true)
    byteCount = 0
    return layout
  }

  /// Returns the form of all rows that were added.
  func layout(for terminal: Terminal) -> TableLayout {
    let columns = titles.indices.map { column in
      TableLayout.Column(
        title: displayWidth(titles[column]), widest: widest[column],
        isText: hasContent[column] && !isFixed[column] && !whole.contains(titles[column]),
        hasContent: hasContent[column], isOptional: optional.contains(titles[column]))
    }
    return TableLayout(
      columns, for: keepsForm ? .plain : terminal, isVertical: isVertical, keepsEmpty: keepsEmptyColumns)
  }

  private func writeTitles(_ layout: TableLayout, _ terminal: Terminal, to text: inout [UInt8]) {
    writeLine(titles.map(Cell.init), layout, terminal.hasColours ? .bold : nil, terminal, to: &text)
  }

  private func write(
    _ cells: [Cell], _ number: Int, _ layout: TableLayout, _ style: Style?, _ terminal: Terminal,
    to text: inout [UInt8]
  ) {
    guard layout.isVertical else { return writeLine(cells, layout, style, terminal, to: &text) }
    text.append(contentsOf: terminal.styled("-[ RECORD \(number) ]-", .dim).utf8)
    text.append(UInt8(ascii: "\n"))
    let width = layout.shown.reduce(0) { max($0, displayWidth(titles[$1])) }
    for column in layout.shown {
      let title = titles[column]
      text.append(contentsOf: terminal.styled(title, .bold).utf8)
      if cells[column].width > 0 {
        text.append(contentsOf: repeatElement(UInt8(ascii: " "), count: width - displayWidth(title) + 2))
        text.append(contentsOf: (style.map { terminal.styled(cells[column].text, $0) } ?? cells[column].text).utf8)
      }
      text.append(UInt8(ascii: "\n"))
    }
  }

  /// Appends a line without the spaces at its end.
  private func writeLine(
    _ cells: [Cell], _ layout: TableLayout, _ style: Style?, _ terminal: Terminal, to text: inout [UInt8]
  ) {
    if let style, terminal.hasColours {
      var line: [UInt8] = []
      writeLine(cells, layout, nil, terminal, to: &line)
      text.append(contentsOf: terminal.styled(String(decoding: line.dropLast(), as: UTF8.self), style).utf8)
      return text.append(UInt8(ascii: "\n"))
    }
    let space = UInt8(ascii: " ")
    let start = text.count
    for (place, column) in layout.shown.enumerated() {
      let width = layout.widths[column]
      let cell = cells[column].width > width ? Cell(truncated(cells[column].text, to: width)) : cells[column]
      if place > 0 { text.append(contentsOf: repeatElement(space, count: 2)) }
      let padding = repeatElement(space, count: width - cell.width)
      let isRight = isRight(column)
      if isRight { text.append(contentsOf: padding) }
      text.append(contentsOf: cell.text.utf8)
      if !isRight { text.append(contentsOf: padding) }
    }
    while text.count > start, text[text.count - 1] == space { text.removeLast() }
    text.append(UInt8(ascii: "\n"))
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

  /// Returns whether a cell has the form of a UUID, of a date, or of a date with a time.
  private static func isIdentifierOrDate(_ text: String) -> Bool {
    let count = text.utf8.count
    guard count == 36 || (10...32).contains(count) else { return false }
    var text = text
    return text.withUTF8 { bytes in
      if count == 36 { return [8, 13, 18, 23].allSatisfy { bytes[$0] == UInt8(ascii: "-") } }
      return bytes[4] == UInt8(ascii: "-") && bytes[7] == UInt8(ascii: "-")
        && bytes[..<4].allSatisfy { (0x30...0x39).contains($0) }
        && (count == 10 || bytes[10] == UInt8(ascii: "T") || bytes[10] == UInt8(ascii: " "))
    }
  }
}

/// Writes a long table to an output while its rows arrive. The rows of a block are aligned together, so that memory is
/// bounded. On a terminal the titles are repeated where the layout changes. Elsewhere they are written once, and columns
/// become wider where it is necessary.
public final class TableWriter {
  private var table: TextTable
  private let output: Output
  private var layout: TableLayout?

  /// Creates a writer of a table that may have rows already.
  public init(_ table: TextTable, to output: Output) {
    (self.table, self.output) = (table, output)
  }

  /// The titles of the columns that were left out of all rows, and whether they have no value.
  public var omitted: [(title: String, isEmpty: Bool)] {
    guard let layout else { return [] }
    return table.titles.indices.filter { !layout.shown.contains($0) }.map {
      (table.titles[$0], !table.hasValues(in: $0))
    }
  }

  /// Whether each field of the written rows is a line.
  public var isVertical: Bool { layout?.isVertical ?? false }

  /// Whether no row was written.
  public var isEmpty: Bool { layout == nil && table.isEmpty }

  /// Adds a row; see ``TextTable/add(_:style:)``.
  public func add(_ cells: [String], style: Style? = nil) throws(OutputError) {
    table.add(cells, style: style)
    if table.isFull { try write() }
  }

  /// Writes the remaining rows.
  public func finish() throws(OutputError) {
    if !table.isEmpty { try write() }
  }

  private func write() throws(OutputError) {
    var text: [UInt8] = []
    layout = table.drain(for: output.terminal, after: layout, to: &text)
    // Cells are escaped already.
    try output.write(text)
  }
}

extension TextTable {
  /// Returns whether a cell of the column has a value.
  func hasValues(in column: Int) -> Bool { hasContent[column] }
}
