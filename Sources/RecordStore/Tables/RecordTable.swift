import CipherSQL
import SchemaModel
import SyncModel

/// Reads and writes the rows of a synced entity as the values that device and server share.
///
/// The caller sets the write mode: in ``WriteMode/sync`` the derived triggers store the values unchanged.
package struct RecordTable: Sendable {
  package let entity: Entity
  package let rules: MergeRules
  /// All columns that the server knows, in the order of the table.
  package let columns: [SharedColumn]
  package let places: [String: Int]
  package let keepsUserEdits: Bool
  let computations: [String: String]
  /// The generated columns, ordered.
  package let alwaysComputed: [String]
  /// The columns that digests leave out if they equal their added default.
  package let digestColumns: DigestColumns
  /// The columns of ``columns`` in the order of a ``SyncObject``, which is the order of `selection`.
  private let orderedColumns: [SharedColumn]
  private let selection: String
  private let presence: String
  /// The text of an INSERT with the columns that a server usually sends, and these columns: the shared ones first, by
  /// name.
  let usualNames: [String]
  let usualInsertion: String
  /// An UPDATE of the common fields, which are all that changes when the server has stored an operation.
  let usualUpdate: String
  /// The columns that reference synced records, and the query for the local ids in them.
  package let references: [SharedColumn]
  private let referenceSelection: String
  private let statusUpdate: String
  /// The shared columns of each UNIQUE constraint, except that of the UUID.
  package let uniqueKeys: [[String]]

  /// Returns `nil` for an entity that is not synced.
  package init?(_ entity: Entity, in entities: Entities) {
    guard let behaviour = entity.sync else { return nil }
    self.entity = entity
    rules = behaviour.rules
    computations = behaviour.computations
    alwaysComputed = behaviour.alwaysComputed.sorted()
    digestColumns = DigestColumns(
      computed: Set(behaviour.computations.keys), addedDefaults: entities.addedDefaults[entity.type] ?? [:])
    columns = entity.sharedColumns(in: entities)
    places = Dictionary(uniqueKeysWithValues: columns.enumerated().map { ($1.name, $0) })
    orderedColumns = columns.sorted { $0.name.utf16.lexicographicallyPrecedes($1.name.utf16) }
    uniqueKeys = SyncBaseIndex.keys(of: entity, columns)
    keepsUserEdits = entity.table.column(Entity.userEditsColumn) != nil
    let common = [
      entity.key, "uuid", "serverId", "createdAt", "updatedAt", "isDirty", "isDeleted", "syncStatus", "syncVersion",
    ]
    let names =
      common.map { "record.\(SQL.quoted($0))" } + [keepsUserEdits ? "record.\(Entity.userEditsColumn)" : "NULL"]
      + orderedColumns.map { $0.selection("record") }
    presence = "SELECT 1 FROM \(SQL.quoted(entity.table.name)) WHERE uuid = ?"
    usualNames =
      orderedColumns.map(\.name) + Self.commonColumns + (keepsUserEdits ? [Entity.userEditsColumn] : [])
    usualUpdate = Self.update(of: Self.commonColumnsOfAnAnswer, in: entity)
    usualInsertion = Self.insertion(of: usualNames, into: entity)
    let (name, key) = (SQL.quoted(entity.table.name), SQL.quoted(entity.key))
    references = columns.filter { $0.reference != nil }
    referenceSelection = """
      SELECT \(references.map { $0.target(name) }.joined(separator: ", ")) FROM \(name) WHERE \(key) = ?
      """
    statusUpdate = "UPDATE \(name) SET syncStatus = ? WHERE \(key) = ? AND isDirty = 1 AND syncStatus <> 'conflict'"
    selection = "SELECT \(names.joined(separator: ", ")) FROM \(SQL.quoted(entity.table.name)) AS record "
  }

  /// Returns whether a record with a UUID exists, deleted or not.
  package func has(_ uuid: String, in connection: Connection) throws -> Bool {
    try connection.withStatement(presence) { statement in
      try statement.bind(uuid, at: 1)
      return try statement.step()
    }
  }

  /// Returns the record with a UUID, deleted or not.
  package func find(_ uuid: String, in connection: Connection) throws -> StoredRecord? {
    try one(selection + "WHERE record.uuid = ?", .text(uuid), connection)
  }

  /// Returns the record with a local id, deleted or not.
  package func find(key: Int64, in connection: Connection) throws -> StoredRecord? {
    try one(selection + "WHERE record.\(SQL.quoted(entity.key)) = ?", .integer(key), connection)
  }

  /// Returns the local ids of the synced records that a record references.
  package func parents(of key: Int64, in connection: Connection) throws -> [(column: SharedColumn, key: Int64)] {
    if references.isEmpty { return [] }
    return try connection.withStatement(referenceSelection) { statement in
      try statement.bind(key, at: 1)
      guard try statement.step() else { return [] }
      var parents: [(column: SharedColumn, key: Int64)] = []
      for (index, column) in references.enumerated() {
        if let parent: Int64 = try statement.row.decode(at: Int32(index)) { parents.append((column, parent)) }
      }
      return parents
    }
  }

  /// Sets the `syncStatus` of a record. A record with an open conflict keeps its status.
  package func setStatus(_ status: String, of key: Int64, in connection: WriteConnection) throws {
    try connection.withStatement(statusUpdate) { statement in
      try statement.bind(status, at: 1)
      try statement.bind(key, at: 2)
      try statement.run()
    }
  }

  /// Calls a closure with each record that meets an SQL condition over the alias `record`.
  package func forEach(
    where condition: SQL, in connection: Connection, _ body: (StoredRecord) throws -> Void
  ) throws {
    try connection.forEach(SQL(raw: selection) + "WHERE " + condition) { row in try body(try record(from: row)) }
  }

  private func one(_ sql: String, _ argument: SQLArgument, _ connection: Connection) throws -> StoredRecord? {
    try connection.withStatement(sql) { statement in
      try statement.bind(argument, at: 1)
      return try statement.step() ? try record(from: statement.row) : nil
    }
  }

  private func record(from row: borrowing Row) throws -> StoredRecord {
    var members: [SyncObject.Member] = []
    members.reserveCapacity(orderedColumns.count)
    var unsendable: UnsendableField?
    func note(_ field: String, _ reason: String) {
      if unsendable == nil { unsendable = UnsendableField(field: field, reason: reason) }
    }
    for (index, column) in orderedColumns.enumerated() {
      do throws(FieldProblem) {
        members.append(SyncObject.Member(name: column.name, value: try column.value(in: row, at: Int32(index + 10))))
      } catch {
        note(column.name, error.message)
      }
    }
    func time(_ index: Int32, _ field: String) throws -> Int64 {
      if let time = WireTime.milliseconds(try row.decode(String.self, at: index)) { return time }
      note(field, "is no time of the years 0 to 9999")
      return 0
    }
    let (createdAt, updatedAt) = (try time(3, "createdAt"), try time(4, "updatedAt"))
    var edited: Set<String> = []
    if let json: String = try row.decode(at: 9) {
      do throws(SyncModelError) {
        edited = try Self.names(json)
      } catch {
        note(Entity.userEditsColumn, "is JSON that cannot be sent: \(error)")
      }
    }
    return StoredRecord(
      key: try row.decode(at: 0), uuid: try row.decode(at: 1),
      serverId: ServerId(try row.decode(SQLArgument.self, at: 2)), createdAt: createdAt, isDirty: try row.decode(at: 5),
      syncStatus: try row.decode(at: 7),
      state: RecordState(
        fields: SyncObject(ordered: members), isDeleted: try row.decode(at: 6), syncVersion: try row.decode(at: 8),
        updatedAt: updatedAt, userEditedFields: edited), unsendable: unsendable)
  }

  package static func names(_ json: String) throws(SyncModelError) -> Set<String> {
    guard case .array(let elements) = try SyncValue(parsing: json) else { return [] }
    return Set(
      elements.compactMap { element in
        guard case .text(let name) = element else { return nil }
        return name
      })
  }

  package static func json(names: Set<String>) -> String { SyncValue.array(names.sorted().map { .text($0) }).json }
}
