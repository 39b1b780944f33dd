import CipherSQL
import SyncModel

/// Versions from the server that take UNIQUE values from each other.
///
/// The server had them in another order, or made one of several steps. Applied as a set they are right, though SQLite, which
/// checks each row, refuses any first one.
extension SyncTransaction {
  /// Applies changes as a set: what others refer to first, and so that UNIQUE values may move between records in any order.
  package func apply(_ changes: [RemoteRecord], counts: inout ApplyCounts) throws {
    let types = catalog.parentsFirst.enumerated().map { ($1.entity.type, $0) }
    let ranks = Dictionary(types, uniquingKeysWith: { first, _ in first })
    let ordered = changes.enumerated().map { (rank: ranks[$1.entityType] ?? .max, place: $0, change: $1) }.sorted {
      ($0.rank, $0.place) < ($1.rank, $1.place)
    }
    for (_, _, change) in ordered { try apply(change, counts: &counts) }
    try settleClashes(counts: &counts)
  }

  /// Does what waits for the last page of a pull.
  package func endPull(counts: inout ApplyCounts) throws {
    // What was refused on an earlier page may have its place now.
    let refused = try connection.fetchRows(
      "SELECT entityType, entityUuid FROM SyncInbox WHERE reason = 'refused' ORDER BY rowid LIMIT \(Self.largestClash)",
      as: String.self, String.self)
    inbox.clashes = refused.map { RecordIdentity(entityType: $0, entityUuid: $1) }
    try settleClashes(counts: &counts)
    try bringBackWhatStayed()
    try noteFilled()
  }

  /// Stores what was refused because of a UNIQUE value, where the record that holds the value gives it up.
  package func settleClashes(counts: inout ApplyCounts) throws {
    let names = inbox.clashes
    for name in names {
      guard let set = try clash(of: name) else { continue }
      var stored = ApplyCounts()
      do {
        try connection.savepoint { try store(set, counts: &stored) }
      } catch is UnsolvedClash {
        continue
      }
      counts.applied += stored.applied
      counts.merged += stored.merged
      counts.conflicts += stored.conflicts
      counts.kept = max(0, counts.kept - set.count)
    }
    inbox.clashes = []
  }

  private struct UnsolvedClash: Error {}

  /// More versions than this that wait for each other stay in the inbox: a transaction has to be short.
  private static let largestClash = 200

  /// A refused version with those that give up what it takes; nil where a record that does not change, or that has changes of this
  /// device, holds a value.
  private func clash(of name: RecordIdentity) throws -> [RemoteRecord]? {
    var set: [RemoteRecord] = []
    var seen: Set<RecordIdentity> = [name]
    var open = [name]
    while let next = open.popLast() {
      let json = try connection.fetchOne(
        """
        SELECT record FROM SyncInbox
        WHERE entityType = \(next.entityType) AND entityUuid = \(next.entityUuid) AND reason = 'refused'
        """, as: String.self)
      guard let json, set.count < Self.largestClash, let table = catalog.tables[next.entityType] else { return nil }
      let remote = try RemoteRecord(json: Array(json.utf8))
      set.append(remote)
      for (holder, isDirty) in try holders(of: remote, table) {
        if isDirty { return nil }
        let key = RecordIdentity(entityType: next.entityType, entityUuid: holder)
        if seen.insert(key).inserted { open.append(key) }
      }
    }
    return set
  }

  /// The records that have a UNIQUE value of a version.
  private func holders(of remote: RemoteRecord, _ table: RecordTable) throws -> [(uuid: String, isDirty: Bool)] {
    var holders: [(String, Bool)] = []
    for key in try uniqueKeys(of: table) {
      var conditions: [SQL] = []
      for name in key.columns {
        guard let place = table.places[name], let value = remote.state.fields[name] else { continue }
        let column = table.columns[place]
        var argument: SQLArgument
        do throws(FieldProblem) {
          argument = try column.argument(value)
        } catch {
          // No table takes this version.
          return []
        }
        if let reference = column.reference, case .text(let uuid) = argument {
          argument =
            try connection.fetchOne(
              "SELECT \(identifier: reference.key) FROM \(identifier: reference.table) WHERE uuid = \(uuid)",
              as: SQLArgument.self) ?? .null
        }
        // NULL is equal to nothing.
        if argument == .null {
          conditions = []
          break
        }
        conditions.append("\(identifier: name) = \(argument)")
      }
      if conditions.isEmpty { continue }
      if let condition = key.condition { conditions.append("(\(raw: condition))") }
      let all = conditions.dropFirst().reduce(conditions[0]) { "\($0) AND \($1)" }
      holders += try connection.fetchRows(
        "SELECT uuid, isDirty FROM \(identifier: table.entity.table.name) WHERE \(all) AND uuid <> \(remote.entityUuid)",
        as: String.self, Bool.self)
    }
    return holders
  }

  private func store(_ set: [RemoteRecord], counts: inout ApplyCounts) throws {
    try connection.deferringForeignKeys {
      for remote in set {
        if let table = catalog.tables[remote.entityType] { try clear(remote, table) }
      }
      for remote in set {
        try forgetKept(remote.entityType, remote.entityUuid)
        try apply(remote, counts: &counts)
        let isKept = try connection.fetchOne(
          "SELECT 1 FROM SyncInbox WHERE entityType = \(remote.entityType) AND entityUuid = \(remote.entityUuid)",
          as: Int.self)
        if isKept != nil { throw UnsolvedClash() }
      }
    }
  }

  /// Takes the UNIQUE values from the row of a version that is stored next, and so gives them to the columns again: NULL where the
  /// column takes it, else a value that no other row has.
  private func clear(_ remote: RemoteRecord, _ table: RecordTable) throws {
    guard let record = try table.find(remote.entityUuid, in: connection), !record.isDirty else { return }
    var assignments: [SQL] = []
    for key in try uniqueKeys(of: table) {
      let columns = key.columns.compactMap { name -> SharedColumn? in
        guard remote.state.fields[name] != nil, let place = table.places[name] else { return nil }
        return table.columns[place]
      }
      let column =
        columns.first { !$0.column.isNotNull } ?? columns.first { $0.reference == nil } ?? columns.first
      guard let column else { continue }
      assignments.append(
        "\(identifier: column.name) = \(column.column.isNotNull ? Self.unusedValue(of: column) : .null)")
    }
    guard let first = assignments.first else { return }
    let all = assignments.dropFirst().reduce(first) { "\($0), \($1)" }
    try connection.withoutChecks {
      _ = try connection.execute(
        """
        UPDATE \(identifier: table.entity.table.name) SET \(all) WHERE \(identifier: table.entity.key) = \(record.key)
        """)
    }
  }

  private static func unusedValue(of column: SharedColumn) -> SQLArgument {
    if column.reference != nil { return .integer(Int64.random(in: Int64.min..<0)) }
    return switch column.column.type {
    case .integer, .bool: .integer(Int64.random(in: Int64.min..<0))
    case .real: .real(-Double.random(in: 1e100...1e200))
    case .blob: .blob(Array(SyncSettings.newIdentifier().utf8))
    case .text, .json, .timestamp, .day, .uuid, .enumeration, .any: .text(SyncSettings.newIdentifier())
    }
  }

  private struct UniqueKey {
    let columns: [String]
    /// Of a partial index.
    let condition: String?
  }

  /// The UNIQUE constraints and unique indexes of a table, other than of its uuid. One over an expression has the other columns.
  private func uniqueKeys(of table: RecordTable) throws -> [UniqueKey] {
    let name = table.entity.table.name
    let indexes = try connection.fetchRows(
      """
      SELECT name, (SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = list.name), partial
      FROM pragma_index_list(\(name)) AS list WHERE "unique" = 1 AND origin <> 'pk'
      """, as: String.self, String?.self, Bool.self)
    return try indexes.compactMap { index, sql, isPartial in
      let columns = try connection.fetch(
        "SELECT name FROM pragma_index_info(\(index)) WHERE name IS NOT NULL ORDER BY seqno", as: String.self)
      guard columns.contains(where: { table.places[$0] != nil }) else { return nil }
      return UniqueKey(columns: columns, condition: isPartial ? sql.flatMap(SQLText.condition(ofIndex:)) : nil)
    }
  }
}
