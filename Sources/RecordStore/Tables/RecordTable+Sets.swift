import CipherSQL
import SchemaModel
import SyncModel

/// Reads and writes of several rows in one statement each.
extension RecordTable {
  /// Returns those records that exist, deleted or not, by local id.
  package func find(keys: some Collection<Int64>, in connection: Connection) throws -> [Int64: StoredRecord] {
    if keys.isEmpty { return [:] }
    var found: [Int64: StoredRecord] = [:]
    found.reserveCapacity(keys.count)
    let isNamed: SQL = "record.\(identifier: entity.key) IN \(ParameterRows(keys).table)"
    try forEach(where: isNamed, in: connection) { found[$0.key] = $0 }
    return found
  }

  /// Returns the local ids of the synced records that the rows of records reference, by the local id of each existing
  /// record.
  package func parents(
    of records: some Collection<Int64>, in connection: Connection
  ) throws -> [Int64: [(key: Dependency, id: Int64)]] {
    if records.isEmpty || keys.isEmpty { return [:] }
    let (name, key): (SQL, SQL) = ("\(identifier: entity.table.name)", "\(identifier: entity.key)")
    let sql: SQL = """
      SELECT \(name).\(key), \(raw: parentColumns) FROM \(name) WHERE \(key) IN \(ParameterRows(records).table)
      """
    var found: [Int64: [(key: Dependency, id: Int64)]] = [:]
    try connection.forEach(sql) { row in
      var parents: [(key: Dependency, id: Int64)] = []
      for (index, key) in keys.enumerated() {
        if let parent: Int64 = try row.decode(at: Int32(index + 1)) { parents.append((key, parent)) }
      }
      found[try row.decode(at: 0)] = parents
    }
    return found
  }

  /// Returns the local ids of the records that versions reference by a foreign key, by the numbers of the versions.
  package func parents(
    by key: Dependency, in versions: [(number: Int64, fields: SyncObject)], _ connection: Connection
  ) throws -> [Int64: Int64] {
    var rows = ParameterRows(width: key.columns.count + 1)
    for (number, fields) in versions {
      if let values = arguments(of: key, in: fields) { rows.append([.integer(number)] + values) }
    }
    if rows.isEmpty { return [:] }
    let sql: SQL = """
      SELECT row.column1, target.\(identifier: key.parent.key) FROM \(rows.table) AS row
      CROSS JOIN \(identifier: key.parent.table.name) AS target ON \(raw: isTarget(of: key))
      """
    var found: [Int64: Int64] = [:]
    try connection.forEach(sql) { row in found[try row.decode(at: 0)] = try row.decode(Int64.self, at: 1) }
    return found
  }

  /// The condition that the row `target` has the values of a foreign key, which are the columns of `row` from the second on.
  private func isTarget(of key: Dependency) -> String {
    let conditions = key.key.columns.enumerated().map { index, pair in
      let (own, value) = ("target.\(SQL.quoted(pair.to))", "row.column\(index + 2)")
      guard let reference = places[pair.from].flatMap({ columns[$0].reference }) else { return "\(own) = \(value)" }
      return """
        \(own) = (SELECT named.\(SQL.quoted(reference.key)) FROM \(SQL.quoted(reference.table)) AS named
          WHERE named.uuid = \(value))
        """
    }
    return conditions.joined(separator: " AND ")
  }

  /// Sets the `syncStatus` of records with local changes. A record with an open conflict keeps its status.
  package func setStatus(
    _ status: String, of keys: some Collection<Int64>, in connection: WriteConnection
  ) throws {
    if keys.isEmpty { return }
    try connection.execute(
      """
      UPDATE \(identifier: entity.table.name) SET syncStatus = \(status)
      WHERE \(identifier: entity.key) IN \(ParameterRows(keys).table)
        AND isDirty = 1 AND syncStatus <> 'conflict'
      """)
  }

  /// A change of the common fields of a row whose shared values and deletion stay.
  package struct CommonChange {
    let record: StoredRecord
    let state: RecordState
    let bookkeeping: Bookkeeping

    /// - Parameter state: the fields and the deletion of the record, with another version or other times.
    package init(_ record: StoredRecord, _ state: RecordState, _ bookkeeping: Bookkeeping) {
      (self.record, self.state, self.bookkeeping) = (record, state, bookkeeping)
    }
  }

  /// Changes the common fields of rows, as ``update(_:from:to:_:isGone:in:)`` does. Rows whose changes have the same
  /// columns share a statement.
  package func update(common changes: [CommonChange], in connection: WriteConnection) throws {
    var sets: [[String]: ParameterRows] = [:]
    for change in changes {
      let values = common(change.state, change.bookkeeping, over: change.record.state)
      sets[values.map(\.name), default: ParameterRows(width: values.count + 1)].append(
        [.integer(change.record.key)] + values.map(\.argument))
    }
    let name: SQL = "\(identifier: entity.table.name)"
    for (names, rows) in sets.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      let assignments = names.enumerated().map { index, column -> SQL in
        "\(identifier: column) = row.column\(raw: String(index + 2))"
      }
      try connection.execute(
        """
        UPDATE \(name) SET \(SQL.joined(assignments)) FROM \(rows.table) AS row
        WHERE \(name).\(identifier: entity.key) = row.column1
        """)
    }
  }
}
