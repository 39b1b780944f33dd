import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// Records of an account whose schemas have new files.
extension AccountWriter {
  /// The records that one query reads.
  private static let rowsAtOnce = 500

  /// Gives the records the values that new schema files give them, without new versions: each device runs the same files.
  ///
  /// The files may have any statements, so they run on tables in memory that have all records of the account.
  /// - Parameter applied: the schemas with the files that were applied before, FieldVault's own included.
  /// - Returns: the rows about all applied files.
  /// - Throws: `SQLError` if a file fails.
  package func upgrade(from applied: [Schema], at time: Int64) throws -> [MigrationRecord] {
    let database = try Database.inMemory(configuration: Configuration(environment: schema.environment))
    defer { database.close() }
    var rows: [RecordName: RecordRow] = [:]
    // Values that another record has, by the deleted record that has released them.
    var released: [RecordName: SyncObject] = [:]
    try Migrator.records(of: applied).apply(to: database, isDraft: true)
    let before = try database.read { EntityMap(try Entities.read(from: $0)) }
    try forEachRow { rows[$0.name] = before.completed($0) ?? $0 }
    let claimed = claimedKeys(of: rows, before)
    try database.writeAsMigration { connection in
      try DerivedTriggers.drop(in: connection)
      try WriteMode.purge(on: connection) {
        for table in before.tables.values {
          try connection.execute("DELETE FROM \(identifier: table.entity.table.name)")
        }
      }
      try WriteMode.sync(on: connection) {
        try connection.withoutChecks {
          for (name, row) in rows {
            released[name] = try before.insert(row, among: rows, claimed[name] ?? [], connection)
          }
        }
      }
    }
    let renames = Renames()
    try Migrator.records(of: schema.schemas, didRename: { found, _ in renames.add(found) }).apply(to: database)
    var seeds: [AccountSchema.Seed] = []
    try database.read { connection in
      for (type, table) in map.tables.sorted(by: { $0.key < $1.key }) {
        var found: [StoredRecord] = []
        try table.forEach(where: "1", in: connection) { found.append($0) }
        for stored in found.sorted(by: { $0.uuid < $1.uuid }) {
          let name = RecordName(type, stored.uuid)
          if let row = rows.removeValue(forKey: name) {
            try replace(row, stored, renames.names(of: type), released[name] ?? [:])
          } else {
            seeds.append(AccountSchema.Seed(type, stored))
          }
        }
      }
    }
    try adopt(seeds, at: time)
    // Records that a file has removed.
    for row in rows.values where map.tables[row.name.entityType] != nil { try put(nil, of: row.name, over: row) }
    try renameResponses(renames)
    try rebuild()
    return try database.read { try MigrationRecord.all(in: $0) }
  }

  /// Returns the keys of new unique indexes, by their columns, of which deleted records have values that another record has
  /// as well. A file that creates such an index would fail. Values that differ in case only count as equal, for indexes with
  /// another collation or with an expression.
  private func claimedKeys(of rows: [RecordName: RecordRow], _ before: EntityMap) -> [RecordName: [[String]]] {
    var claimed: [RecordName: [[String]]] = [:]
    for (type, plan) in map.plans {
      guard let older = before.plans[type] else { continue }
      let known = Set(older.uniqueKeys.map(\.name))
      let keys = plan.uniqueKeys.filter { key in
        !known.contains(key.name) && key.columns.allSatisfy { older.table.places[$0] != nil }
      }
      if keys.isEmpty { continue }
      // Among deleted records, the last one that changed keeps a value.
      let ordered = rows.values.filter { $0.name.entityType == type }.sorted { one, other in
        let (isDeleted, isOtherDeleted) = (one.record.state.isDeleted, other.record.state.isDeleted)
        return isDeleted == isOtherDeleted ? one.record.sequence > other.record.sequence : isOtherDeleted
      }
      for key in keys {
        var found: Set<String> = []
        for row in ordered {
          let values = key.columns.map { row.record.state.fields[$0] ?? .null }
          if values.contains(.null) { continue }
          let isNew = found.insert(SyncValue.array(values).json.lowercased()).inserted
          if !isNew, row.record.state.isDeleted { claimed[row.name, default: []].append(key.columns) }
        }
      }
    }
    return claimed
  }

  /// Collects the columns that the files rename.
  private final class Renames: Sendable {
    private let found = Locked<[String: [ColumnRename]]>([:])

    func add(_ columns: RenamedColumns) { found.withLock { $0.merge(columns.names) { $0 + $1 } } }
    func names(of type: String) -> [ColumnRename] { found.withLock { $0[type] ?? [] } }
    var isEmpty: Bool { found.withLock { $0.isEmpty } }
  }

  /// Renames the fields of the records in stored responses. A repeated operation finds its response under the names of the
  /// device's newer schema.
  private func renameResponses(_ renames: Renames) throws {
    if renames.isEmpty { return }
    try rows.rewriteResponses { text in
      var response = try SyncObject(parsing: text)
      guard case .object(var record)? = response["record"], case .text(let type)? = record["entityType"] else {
        return nil
      }
      let names = renames.names(of: type)
      if names.isEmpty { return nil }
      for member in ["fields", "editTimes", "userEditedFields"] { record[member] = record[member]?.renaming(names) }
      response["record"] = .object(record)
      if case .array(let lost)? = response["lost"] {
        response["lost"] = .array(
          lost.map { value in
            guard case .object(var value) = value, let field = value["field"],
              case .array(let renamed) = SyncValue.array([field]).renaming(names)
            else { return value }
            value["field"] = renamed.first
            return .object(value)
          })
      }
      return SyncValue.object(response).json
    }
  }

  private func replace(
    _ row: RecordRow, _ stored: StoredRecord, _ renames: [ColumnRename], _ released: SyncObject
  ) throws {
    let record = row.record
    func renamed(_ numbers: [String: Int64]) -> [String: Int64] {
      guard !renames.isEmpty,
        case .object(let object) = SyncValue.object(SyncObject(numbers.map { ($0.key, .integer($0.value)) }))
          .renaming(renames)
      else { return numbers }
      var result: [String: Int64] = [:]
      for member in object.members { if case .integer(let number) = member.value { result[member.name] = number } }
      return result
    }
    var serviceFields = record.serviceFields
    if !renames.isEmpty,
      case .array(let names) = SyncValue.array(serviceFields.sorted().map { .text($0) }).renaming(renames)
    {
      serviceFields = Set(names.compactMap { if case .text(let name) = $0 { name } else { nil } })
    }
    var state = record.state
    state.fields = stored.state.fields
    if case .object(let values) = SyncValue.object(released).renaming(renames) {
      state.fields = state.fields.overlaid(with: values.filter { state.fields[$0.name] != nil })
    }
    state.userEditedFields = stored.state.userEditedFields
    state.editTimes = renamed(state.editTimes)
    var new = row
    new.record = ServerRecord(
      name: record.name, serverId: record.serverId, sequence: record.sequence, createdAt: record.createdAt,
      state: state, fieldVersions: renamed(record.fieldVersions), firstVersion: record.firstVersion,
      startVersions: record.startVersions, deletedWith: record.deletedWith, serviceFields: serviceFields)
    // Computed by ``rebuild()``.
    new.keys = RecordKeys()
    self.state.set(new, of: row.name, over: row)
  }

  /// Computes the keys and the digests of all records again.
  ///
  /// A deleted record releases the values that another record has. The keys that it had released before say nothing about the
  /// unique indexes of new schema files.
  package func rebuild() throws {
    try flush()
    isRebuilding = true
    defer { isRebuilding = false }
    try rows.removeDerived()
    // Each record is counted again as it gets its digest.
    if state.header.recordCount != nil { state.changeHeader { $0.recordCount = 0 } }
    var (live, deleted): ([RecordName], [RecordName]) = ([], [])
    try forEachRow { row in
      if row.record.state.isDeleted { deleted.append(row.name) } else { live.append(row.name) }
    }
    // Among deleted records, the last one that changed keeps a value.
    let names = live + deleted.reversed()
    for start in stride(from: 0, to: names.count, by: Self.rowsAtOnce) {
      let page = try withKeys(Array(names[start..<min(start + Self.rowsAtOnce, names.count)]))
      try loadHolders(of: page.filter(\.record.state.isDeleted).flatMap(\.uniqueValues))
      try loadMemberships(of: page)
      for var row in page {
        if row.record.state.isDeleted {
          row.keys.released = Set(try row.uniqueValues.filter { try holder($0) != nil }.map(\.key))
        }
        row.digest = map.digest(of: row.record)
        try put(row, of: row.name, over: nil)
      }
      try flush()
    }
  }

  /// Returns the rows of some records with the keys that their fields have by the schemas. No key is released.
  func withKeys(_ names: [RecordName]) throws -> [RecordRow] {
    try load(names)
    var rows: [RecordRow] = []
    var versions: [SchemaChecker.Version] = []
    for name in names {
      guard let row = try row(name), let plan = map.plans[name.entityType] else { continue }
      let record = row.record
      var version = SchemaChecker.Version(
        name: row.name, serverId: record.serverId, state: record.state, createdAt: record.createdAt,
        storedAt: row.storedAt, referenced: [:], computing: [])
      version.referenced = try map.referencedValues(of: record.state.fields, plan) { name in
        try self.row(name).map { ($0.record.state.fields, $0.record.serverId) }
      }
      rows.append(row)
      versions.append(version)
    }
    let checked = try schema.withChecker { try $0.keys(of: versions) }
    for (place, checked) in checked.enumerated() {
      guard let plan = map.plans[rows[place].name.entityType] else { continue }
      rows[place].keys = RecordKeys(unique: checked.unique, references: references(of: checked, plan))
    }
    return rows
  }

  /// Whether the account has any record.
  package var hasRecords: Bool {
    get throws { try !rows.page(PageSelection(after: 0, projects: nil), limit: 1).isEmpty }
  }

  private func forEachRow(_ body: (RecordRow) throws -> Void) throws {
    var selection = PageSelection(after: 0, projects: nil)
    while true {
      let page = try rows.page(selection, limit: Self.rowsAtOnce)
      for row in page { try body(row) }
      guard page.count == Self.rowsAtOnce, let last = page.last else { return }
      selection.after = last.record.sequence
    }
  }
}

extension EntityMap {
  /// Inserts the row of a record into its table, without the values that it has released.
  /// - Parameters:
  ///   - rows: all records of the account.
  ///   - claimed: the columns of further keys to release.
  /// - Returns: the values that the row lacks.
  fileprivate func insert(
    _ row: RecordRow, among rows: [RecordName: RecordRow], _ claimed: [[String]], _ connection: WriteConnection
  ) throws -> SyncObject {
    guard let plan = plans[row.name.entityType] else { return [:] }
    let record = row.record
    var version = SchemaChecker.Version(
      name: row.name, serverId: record.serverId, state: record.state, createdAt: record.createdAt,
      storedAt: row.storedAt, referenced: [:], computing: [])
    version.referenced = try referencedValues(of: record.state.fields, plan) { name in
      rows[name].map { ($0.record.state.fields, $0.record.serverId) }
    }
    var released = SyncObject()
    let table = plan.table
    let keys = row.keys.released.isEmpty ? [] : try table.uniqueKeys(in: connection)
    let columns =
      keys.filter { row.keys.released.contains($0.name) }.map(\.columns)
      + claimed.map { names in names.compactMap { table.places[$0].map { table.columns[$0] } } }
    for columns in columns where !columns.contains(where: { released[$0.name] != nil }) {
      guard let (column, value) = UniqueKey.clearing(columns, connection.environment, referenced: []) else { continue }
      released[column.name] = record.state.fields[column.name]
      version.referenced[column.name] = value
    }
    try SchemaChecker.insert(version, plan, connection)
    return released
  }

  /// Returns the values that the columns store whose references travel as UUIDs.
  fileprivate func referencedValues(
    of fields: SyncObject, _ plan: CheckPlan, find: (RecordName) throws -> (fields: SyncObject, serverId: Int64)?
  ) throws -> [String: SQLArgument] {
    var values: [String: SQLArgument] = [:]
    for column in plan.table.references {
      guard let reference = column.reference, case .text(let uuid)? = fields[column.name] else { continue }
      values[column.name] = try value(of: reference, uuid, find: find)
    }
    return values
  }
}
