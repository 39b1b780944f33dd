import CipherSQL

/// Explains a constraint violation to the user: which field violates which rule.
package struct ConstraintMessage {
  package let entity: Entity

  package init(entity: Entity) { self.entity = entity }

  /// Returns the field at fault, if known, and a description of the problem.
  package func explain(
    _ error: SQLError, _ connection: Connection, _ values: [(column: String, value: SQLArgument)] = []
  ) -> (field: String?, message: String) {
    switch error.constraint {
    case .check(let rule):
      let column = entity.table.columns.first { column in
        column.checks.contains { Self.isSame($0, rule) }
      }
      return (column?.name, column.flatMap { Self.expectation(of: $0) } ?? "breaks the rule \(Self.oneLine(rule))")
    case .unique(let columns):
      let names = entity.uniqueColumns(of: columns)
      return (
        names.first,
        "is already used by another record\(names.count > 1 ? " with the same \(names.dropFirst().joined(separator: ", "))" : "")"
      )
    case .notNull(let column):
      return (column.split(separator: ".").last.map(String.init), "is missing")
    case .type(let column):
      let name = column.split(separator: ".").last.map(String.init)
      let declared = entity.table.columns.first { $0.name == name }?.declaredType ?? "another type"
      return (name, "is not \(declared)")
    case .foreignKey:
      return (dangling(values, connection), "refers to a record that does not exist")
    case .other(let message): return (nil, message)
    case nil: return (nil, error.message)
    }
  }

  /// Returns the first reference whose target is missing.
  private func dangling(_ values: [(column: String, value: SQLArgument)], _ connection: Connection) -> String? {
    for (column, value) in values where value != .null {
      guard let reference = entity.reference(of: column), let target = reference.columns.first?.to else { continue }
      let query: SQL = "SELECT 1 FROM \(identifier: reference.table) WHERE \(identifier: target) = \(value)"
      // The result only improves the message. If the query fails, the column counts as the one at fault.
      guard let found = try? connection.fetchOne(query, as: Int.self) else { return column }
      if found != 1 { return column }
    }
    return nil
  }

  // The meaning of the CHECK of a column type, shown instead of its text.
  private static func expectation(of column: Catalog.Column) -> String? {
    switch column.type {
    case .timestamp: "is not a UTC time with milliseconds, such as 2013-01-31T06:00:00.000Z"
    case .day: "is not a date, such as 2013-01-31"
    case .uuid: "is not a lowercase UUID"
    case .json: "is not valid JSON"
    case .bool: "is not true or false"
    case .enumeration(let cases): "is not one of \(cases.joined(separator: ", "))"
    default: nil
    }
  }

  private static func isSame(_ left: String, _ right: String) -> Bool { squeezed(left) == squeezed(right) }

  private static func squeezed(_ text: String) -> [UInt8] {
    let bytes = Array(text.utf8)
    return SQLText.tokens(of: bytes).filter { $0.kind != .space && $0.kind != .comment }.flatMap { bytes[$0.range] }
  }

  private static func oneLine(_ text: String) -> String {
    text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }
}

extension Entity {
  /// Returns the columns of a violated constraint or unique index.
  /// - Parameter places: the parts of SQLite's message: each column as `table.column`, or `index 'name'` for an index
  ///   over an expression. A name with a comma is in several parts.
  package func uniqueColumns(of places: [String]) -> [String] {
    let message = places.joined(separator: ",")
    func parts(_ index: Catalog.UniqueIndex) -> String {
      if index.hasExpression { return "index '\(index.name.replacingQuotes)'" }
      return index.terms.map { "\(table.name).\($0.column ?? "")" }.joined(separator: ",")
    }
    let index = table.uniqueIndexes.first { parts($0).replacing(", ", with: ",") == message }
    if let index { return index.termColumns }
    // The local id has no index.
    return places.map { $0.hasPrefix(table.name + ".") ? String($0.dropFirst(table.name.count + 1)) : $0 }
  }
}

extension Catalog.UniqueIndex {
  /// A name that depends on its terms and its condition alone.
  package var keyName: String {
    terms.map(\.expression).joined(separator: ",") + (condition.map { " WHERE \($0)" } ?? "")
  }

  /// The columns that its terms use, in their order.
  package var termColumns: [String] {
    var columns: [String] = []
    for column in terms.flatMap(\.columns) where !columns.contains(column) { columns.append(column) }
    return columns
  }
}
