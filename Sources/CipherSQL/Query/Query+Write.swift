extension Query where R: InsertableRecord {
  /// Changes columns of all records of the query.
  ///
  /// ```swift
  /// try Room.where { $0.projectId == id }.update(db) { $0.squareFootage.set($0.squareFootage + 1) }
  /// ```
  /// - Returns: the number of changed rows.
  /// - Throws: ``SQLError`` with `constraint` if a rule of the schema refuses a change. No row is changed in this
  ///   case.
  @discardableResult
  public func update(
    _ connection: WriteConnection, @SQLAssignmentBuilder<R> _ changes: (R.Columns) -> [SQLAssignment<R>]
  ) throws -> Int {
    let assignments = changes(columns)
    guard !assignments.isEmpty else { return 0 }
    return try connection.execute(try updateStatement(assignments))
  }

  func updateStatement(_ assignments: [SQLAssignment<R>]) throws(SQLError) -> SQL {
    try writing("UPDATE ") { writer in
      var isFirst = true
      for assignment in assignments {
        writer.write(isFirst ? " SET " : ", ")
        writer.write(name: assignment.column)
        writer.write(" = ")
        writer.write(assignment.node)
        isFirst = false
      }
    }
  }

  /// Deletes all records of the query. If the schema marks rows as deleted instead, they are marked.
  /// - Returns: the number of deleted records, without cascaded ones.
  /// - Throws: ``SQLError`` with `constraint` if other rows reference a record. No row is deleted in this case.
  @discardableResult
  public func delete(_ connection: WriteConnection) throws -> Int {
    let sql = try writing("DELETE FROM ") { _ in }
    // A trigger that marks rows in place of deleting them leaves SQLite's own count at 0.
    let marked = parts.sources[0].shape.isSoftDeletable ? try count(connection) : nil
    let deleted = try connection.execute(sql)
    return marked ?? deleted
  }

  private func writing(
    _ verb: StaticString, _ changes: (inout SQLWriter) -> Void
  ) throws(SQLError) -> SQL {
    guard parts.groups.isEmpty, parts.having == nil, !parts.isDistinct else {
      throw SQLError(.misuse, "merged rows cannot be changed", hint: "leave out group and distinct")
    }
    let source = parts.sources[0]
    var writer = SQLWriter()
    writer.scope = parts.limit == nil && parts.offset == nil ? [source.qualifier] : []
    writer.write(verb)
    writer.write(name: source.shape.tableName)
    writer.write(" AS ")
    writer.write(qualifier: source.qualifier)
    changes(&writer)
    if parts.limit != nil || parts.offset != nil {
      writer.write(" WHERE rowid IN ")
      writer.write(SQLNode(.select(parts, .values([SQLNode(.column("rowid", of: source.qualifier))]))))
    } else if let condition = parts.condition {
      writer.write(" WHERE ", condition)
    }
    return try writer.finish()
  }
}
