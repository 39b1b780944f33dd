/// The form in which a table fits a terminal.
///
/// The forms are tried in this order, until a row fits into a line:
///
/// 1. all columns with their whole cells;
/// 2. long text is shortened to at least 24 columns, with an ellipsis;
/// 3. columns without a value are left out;
/// 4. columns that are not essential are left out, the last one first;
/// 5. text is shortened to at least 10 columns;
/// 6. the vertical form: one field a line.
///
/// Ids, numbers, dates and titles are never shortened. Output that is not a terminal has all columns with their whole
/// cells.
struct TableLayout: Equatable {
  /// The positions of the shown columns.
  var shown: [Int]
  /// The width of each column, also of those that are left out.
  var widths: [Int]
  /// Whether each field is a line.
  var isVertical = false

  private static let gap = 2
  private static let comfortable = 24
  private static let shortest = 10

  /// The facts about a column that determine the layout.
  struct Column {
    /// The width of the title.
    var title: Int
    /// The width of the widest cell or the title.
    var widest: Int
    /// Whether the cells may be shortened.
    var isText: Bool
    /// Whether a cell has a value.
    var hasContent: Bool
    /// Whether the column may be left out for the width of the terminal.
    var isOptional: Bool
  }

  /// Returns the form of a table.
  /// - Parameter keepsEmpty: whether columns without a value are shown in every form.
  init(_ columns: [Column], for terminal: Terminal, isVertical: Bool, keepsEmpty: Bool) {
    let all = Array(columns.indices)
    let widest = columns.map(\.widest)
    (shown, widths) = (all, widest)
    let filled = keepsEmpty ? all : all.filter { columns[$0].hasContent }
    if isVertical {
      self.isVertical = true
      if !filled.isEmpty { shown = filled }
      return
    }
    guard terminal.isTerminal else { return }
    var forms = [(all, Int.max), (all, Self.comfortable), (filled, Self.comfortable)]
    var essential = filled
    while let last = essential.lastIndex(where: { columns[$0].isOptional }) {
      essential.remove(at: last)
      forms.append((essential, Self.comfortable))
    }
    forms.append((essential, Self.shortest))
    for (shown, floor) in forms where !shown.isEmpty {
      guard let widths = Self.widths(of: columns, shown, floor: floor, fitting: terminal.width) else { continue }
      (self.shown, self.widths) = (shown, widths)
      return
    }
    self.isVertical = true
    if !filled.isEmpty { shown = filled }
  }

  /// Returns widths with which the shown columns fit into a line, or `nil`.
  private static func widths(of columns: [Column], _ shown: [Int], floor: Int, fitting width: Int) -> [Int]? {
    var widths = columns.map(\.widest)
    var excess = shown.reduce(gap * (shown.count - 1) - width) { $0 + widths[$1] }
    func least(_ column: Int) -> Int { min(columns[column].widest, max(columns[column].title, floor)) }
    // The widest column gives way until it is as wide as the next, so that short text stays whole.
    while excess > 0 {
      let open = shown.filter { columns[$0].isText && widths[$0] > least($0) }
      guard let widest = open.map({ widths[$0] }).max() else { return nil }
      let group = open.filter { widths[$0] == widest }
      let next = open.map { widths[$0] }.filter { $0 < widest }.max() ?? 0
      let bound = max(next, group.map(least).max() ?? 0)
      let cut = max(1, min(widest - bound, excess / group.count))
      for column in group where excess > 0 {
        widths[column] -= cut
        excess -= cut
      }
    }
    return widths
  }
}
