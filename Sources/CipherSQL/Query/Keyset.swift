/// The condition for the rows after a given row in an ordering.
enum Keyset {
  /// - Precondition: the number of values equals the number of terms, at least one.
  static func condition(_ terms: [SQLOrdering], behind values: [SQLArgument]) -> SQLNode {
    let isUniform = terms.allSatisfy { !$0.isNullable && $0.isDescending == terms[0].isDescending }
    if isUniform, terms.count > 1 {
      // A comparison of rows, for which SQLite seeks in an index on all its columns at once.
      return .binary(
        SQLNode(.list(terms.map(\.node))), terms[0].isDescending ? " < " : " > ",
        SQLNode(.list(values.map { .value($0) })), .relation)
    }
    return condition(Array(zip(terms, values))[...], isFirst: true)
  }

  private static func condition(
    _ pairs: ArraySlice<(SQLOrdering, SQLArgument)>, isFirst: Bool = false
  ) -> SQLNode {
    guard let (term, value) = pairs.first else { return SQLNode(.word("FALSE")) }
    let isLast = pairs.count == 1
    if value == .null {
      if term.putsNullsFirst {
        let behind = term.node.isNotNull
        return isLast ? behind : .binary(behind, " OR ", condition(pairs.dropFirst()), .or)
      }
      return .and(term.node.isNull, condition(pairs.dropFirst()))
    }
    let bound = SQLNode(.value(value))
    var behind: SQLNode = .binary(term.node, term.isDescending ? " < " : " > ", bound, .relation)
    let mayBeNullBehind = term.isNullable && !term.putsNullsFirst
    if mayBeNullBehind { behind = .binary(behind, " OR ", term.node.isNull, .or) }
    guard !isLast else { return behind }
    let tied: SQLNode = .binary(term.node, " = ", bound, .equality)
    let either: SQLNode = .binary(behind, " OR ", .and(tied, condition(pairs.dropFirst())), .or)
    guard isFirst, !mayBeNullBehind else { return either }
    // Redundant, but it lets SQLite seek in an index on the first column.
    return .and(.binary(term.node, term.isDescending ? " <= " : " >= ", bound, .relation), either)
  }
}
