extension Join {
  /// Keeps what also fulfils a condition.
  public func `where`(_ condition: (repeat (each Side).Columns) -> some SQLExpression<Bool>) -> Join {
    let columns = columns
    let node = condition(repeat each columns).node
    return with { $0.filter = .and($0.filter, node) }
  }

  /// Adds terms behind those that order the result already.
  public func order(@SQLOrderingBuilder _ terms: (repeat (each Side).Columns) -> [SQLOrdering]) -> Join {
    let columns = columns
    let terms = terms(repeat each columns)
    return with { $0.orderings += terms }
  }

  /// Keeps at most a number of rows, behind an offset.
  public func limit(_ count: Int, offset: Int? = nil) -> Join { with { ($0.limit, $0.offset) = (count, offset) } }

  /// Leaves out rows that are equal in all columns.
  public func distinct() -> Join { with { $0.isDistinct = true } }

  /// Takes rows that are marked as deleted too.
  public func includingDeleted() -> Join { with { $0.includesDeleted = true } }

  /// Merges the rows that are equal in some expressions; `select` then takes aggregates over them.
  public func group<each Term: SQLExpression>(
    by terms: (repeat (each Side).Columns) -> (repeat each Term)
  ) -> Join {
    let columns = columns
    let terms = terms(repeat each columns)
    var nodes: [SQLNode] = []
    repeat nodes.append((each terms).node)
    var copy = self
    copy.parts.groups += nodes
    return copy
  }

  /// Keeps groups that fulfil a condition.
  public func having(_ condition: (repeat (each Side).Columns) -> some SQLExpression<Bool>) -> Join {
    let columns = columns
    let node = condition(repeat each columns).node
    return with { $0.having = .and($0.having, node) }
  }

  /// Takes some expressions of each row in place of the records; they arrive as tuples.
  public func select<each Term: SQLExpression>(
    _ terms: (repeat (each Side).Columns) -> (repeat each Term)
  ) -> Selection<repeat (each Term).Value> {
    let columns = columns
    let terms = terms(repeat each columns)
    var nodes: [SQLNode] = []
    repeat nodes.append((each terms).node)
    return Selection(parts, nodes)
  }
}
