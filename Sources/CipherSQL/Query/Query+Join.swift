extension Query {
  /// Adds a table that must have a row for each record.
  public func join<Other: Record>(
    _ type: Other.Type, on condition: (R.Columns, Other.Columns) -> some SQLExpression<Bool>
  ) -> Join<Inner<R>, Inner<Other>> {
    let qualifier = SelectParts.freshQualifier()
    let node = condition(columns, Other.Columns(qualifier: qualifier)).node
    return Join(parts: parts.joining(type, " JOIN ", qualifier, on: node))
  }

  /// Adds a table that may have no row for a record.
  public func leftJoin<Other: Record>(
    _ type: Other.Type, on condition: (R.Columns, Other.Columns) -> some SQLExpression<Bool>
  ) -> Join<Inner<R>, Outer<Other>> {
    let qualifier = SelectParts.freshQualifier()
    let node = condition(columns, Other.Columns(qualifier: qualifier)).node
    return Join(parts: parts.joining(type, " LEFT JOIN ", qualifier, on: node))
  }
}

extension SelectParts {
  func joining<R: Record>(
    _ type: R.Type, _ kind: StaticString, _ qualifier: String, on condition: SQLNode
  ) -> SelectParts {
    var copy = self
    copy.sources.append(Source(shape: RecordShape.of(type), qualifier: qualifier, join: (kind, condition)))
    return copy
  }

  func statement(_ result: Result) throws(SQLError) -> SQL {
    var writer = SQLWriter()
    writer.write(self, result)
    return try writer.finish()
  }
}
