/// Writes of single records by chosen columns.
extension WriteConnection {
  /// Writes chosen columns of a record to the row with its key. The other columns stay unchanged.
  ///
  /// ```swift
  /// try db.update(room) { [$0.title, $0.status] }
  /// ```
  /// - Throws: ``SQLError`` with `notFound` if no row has the key, with `constraint` if a rule refuses the change.
  public func update<R: KeyedRecord>(_ record: R, _ columns: (R.Columns) -> [any SQLColumn<R>]) throws {
    let shape = RecordShape.of(R.self)
    let names = columns(R.Columns(qualifier: "")).map(\.name)
    guard !names.isEmpty else { return }
    var writer = SQLWriter()
    writer.write("UPDATE ")
    writer.write(name: shape.tableName)
    writer.write(" SET ")
    try write(names, &writer, shape, separator: ", ")
    writer.write(" WHERE ")
    try write(shape.keyColumns, &writer, shape, separator: " AND ")
    // The record binds all of its columns by number. The statement mentions the last one so that SQLite accepts them.
    writer.write(" AND ?")
    writer.write(number: shape.insertedColumns.count)
    writer.write(" IS ?")
    writer.write(number: shape.insertedColumns.count)
    try withStatement(try writer.finish().text) { statement in
      try record.bindInsert(to: statement)
      try statement.run()
    }
    if changedRowCount == 0 { throw missing(R.self) }
  }

  /// Inserts a record, or writes chosen columns of it to the row with the same unique values. All other columns of
  /// that row stay unchanged.
  ///
  /// ```swift
  /// let renamed = try db.upsert(room, onConflict: { [$0.uuid] }, updating: { [$0.title] })
  /// ```
  /// - Parameters:
  ///   - target: the columns that the schema declares as unique together.
  ///   - chosen: the columns to write; an empty list leaves the row unchanged.
  /// - Returns: the row after the statement, without later changes by triggers.
  /// - Throws: ``SQLError`` with `constraint` if another rule refuses it.
  @discardableResult
  public func upsert<R: InsertableRecord>(
    _ record: R, onConflict target: (R.Columns) -> [any SQLColumn<R>],
    updating chosen: (R.Columns) -> [any SQLColumn<R>]
  ) throws -> R {
    let shape = RecordShape.of(R.self)
    let columns = R.Columns(qualifier: "")
    let target = target(columns).map(\.name)
    let updated = chosen(columns).map(\.name)
    var writer = SQLWriter()
    writer.write(R.insertSQL)
    writer.write(" ON CONFLICT (")
    writer.write(names: target, separator: ", ") { $0.write(name: $1) }
    // Without a change there would be no row to return.
    writer.write(") DO UPDATE SET ")
    writer.write(names: updated.isEmpty ? target : updated, separator: ", ") { writer, name in
      writer.write(name: name)
      writer.write(" = excluded.")
      writer.write(name: name)
    }
    writer.write(" RETURNING ")
    writer.write(names: shape.columnNames, separator: ", ") { $0.write(name: $1) }
    return try withStatement(try writer.finish().text) { statement in
      try record.bindInsert(to: statement)
      guard try statement.step() else { throw missing(R.self) }
      let stored = try R(from: statement.row, at: 0)
      try statement.run()
      return stored
    }
  }

  /// Inserts a record unless a row with the same unique values exists.
  /// - Returns: `false` if nothing was inserted.
  /// - Throws: ``SQLError`` with `constraint` if a rule other than uniqueness refuses it.
  @discardableResult
  public func insertOrIgnore<R: InsertableRecord>(_ record: R) throws -> Bool {
    var writer = SQLWriter()
    writer.write(R.insertSQL)
    writer.write(" ON CONFLICT DO NOTHING")
    try withStatement(try writer.finish().text) { statement in
      try record.bindInsert(to: statement)
      try statement.run()
    }
    return changedRowCount > 0
  }

  private func write(
    _ names: [StaticString], _ writer: inout SQLWriter, _ shape: RecordShape, separator: StaticString
  ) throws(SQLError) {
    var failure: SQLError? = names.isEmpty ? SQLError(.misuse, "\(shape.tableName) has no primary key") : nil
    writer.write(names: names, separator: separator) { writer, name in
      guard let index = shape.insertedColumns.firstIndex(where: { $0.description == name.description }) else {
        failure = SQLError(.misuse, "the column \(name) cannot be written", hint: "it is computed by the schema")
        return
      }
      writer.write(name: name)
      writer.write(" = ?")
      writer.write(number: index + 1)
    }
    if let failure { throw failure }
  }
}

extension SQLWriter {
  mutating func write(number: Int) { splice(SQL(raw: String(number))) }

  mutating func write(
    names: [StaticString], separator: StaticString, _ body: (inout SQLWriter, StaticString) -> Void
  ) {
    for (index, name) in names.enumerated() {
      if index > 0 { write(separator) }
      body(&self, name)
    }
  }
}
