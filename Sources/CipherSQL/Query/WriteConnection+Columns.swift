/// Writes of single records by chosen columns.
extension WriteConnection {
  /// Writes chosen columns of a record over the row of its key; the others stay as they are.
  ///
  /// ```swift
  /// try db.update(room) { [$0.title, $0.status] }
  /// ```
  /// - Throws: ``SQLError`` with `notFound` when there is no such row, with `constraint` when a rule refuses it.
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
    // The record binds all of its columns, by number; the last one is mentioned so that SQLite takes them.
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

  /// Inserts a record, or writes chosen columns of it over the row that stands in its way. All other columns of that row
  /// stay as they are.
  ///
  /// ```swift
  /// let renamed = try db.upsert(room, onConflict: { [$0.uuid] }, updating: { [$0.title] })
  /// ```
  /// - Parameters:
  ///   - target: the columns that the schema declares as unique together.
  ///   - chosen: the columns that are written over; none leaves the row as it is.
  /// - Returns: the row as it stands now, without what triggers do after the statement.
  /// - Throws: ``SQLError`` with `constraint` when another rule refuses it.
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

  /// Inserts a record unless a row stands in its way that is unique with it.
  /// - Returns: false when nothing was inserted.
  /// - Throws: ``SQLError`` with `constraint` when a rule other than uniqueness refuses it.
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
