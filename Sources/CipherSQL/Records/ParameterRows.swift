/// Rows of values for a statement, which reads them as the table ``table`` with the columns `column1`, `column2` and so on.
/// One statement then serves several rows.
///
/// The number of rows is rounded up with rows of NULL, so that few statements have to be prepared. A comparison with NULL
/// finds nothing; a statement that inserts the rows leaves them out.
package struct ParameterRows {
  private let width: Int
  private var values: [SQLArgument] = []
  package private(set) var count = 0

  /// - Parameter width: the number of columns.
  package init(width: Int) { self.width = width }

  /// Rows of one value each.
  package init(_ values: some Sequence<some SQLValue>) {
    self.init(width: 1)
    for value in values { append([value.sqlArgument]) }
  }

  package var isEmpty: Bool { count == 0 }

  package mutating func append(_ row: [SQLArgument]) {
    values += row
    count += 1
  }

  /// The rows as a table.
  package var table: SQL {
    let rounded = Self.sizes.first { $0 >= count } ?? (count + 999) / 1000 * 1000
    let row = "(?" + String(repeating: ", ?", count: width - 1) + ")"
    let text = "(VALUES " + row + String(repeating: ", " + row, count: rounded - 1) + ")"
    let filling = [SQLArgument](repeating: .null, count: (rounded - count) * width)
    return SQL(raw: text, arguments: values + filling)
  }

  /// 25 is the size of a batch.
  private static let sizes = [1, 5, 25, 100, 250, 500, 1000]
}
