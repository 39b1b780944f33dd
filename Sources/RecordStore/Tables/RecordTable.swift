import CipherSQL
import SchemaModel
import SyncModel

/// Reads and writes the rows of a synced entity as the values that device and server share.
///
/// The caller sets the write mode: in ``WriteMode/sync`` the derived triggers store the values unchanged.
package final class RecordTable: Sendable {
  package let entity: Entity
  package let rules: MergeRules
  /// All columns that the server knows, in the order of the table.
  package let columns: [SharedColumn]
  package let places: [String: Int]
  package let keepsUserEdits: Bool
  /// Whether SQLite checks one of its foreign keys at the end of a transaction only.
  package let defersForeignKeys: Bool
  let computations: [String: String]
  /// The generated columns, ordered.
  package let alwaysComputed: [String]
  /// The columns that digests leave out if they equal their added default.
  package let digestColumns: DigestColumns
  /// The columns of ``columns`` in the order of a ``SyncObject``, which is the order of `selection`.
  package let orderedColumns: [SharedColumn]
  private let selection: String
  private let presence: String
  /// The text of an INSERT with the columns that a server usually sends, and these columns: the shared ones first, by
  /// name.
  let usualNames: [String]
  let usualInsertion: String
  /// An UPDATE of the common fields, which are all that changes when the server has stored an operation.
  let usualUpdate: String
  /// The columns that reference synced records by themselves. Their values travel as the UUIDs of the records.
  package let references: [SharedColumn]
  /// All foreign keys to synced records, and the expressions for the local ids of the records that a row references.
  package let keys: [Dependency]
  let parentColumns: String
  /// The columns that other rows reference, other than the local id, with these foreign keys.
  let referenced: [String: [Dependency]]
  /// The columns, other than the local id and the UUID, that other rows reference by any foreign key. A row that loses
  /// such a value takes the references with it.
  package let referencedColumns: Set<String>
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
    referenced = Self.referenced(of: entity, in: entities)
    referencedColumns = Set(entities.dependencies(on: entity).flatMap { $0.key.columns.map(\.to) })
      .subtracting([entity.key, "uuid"])
    keepsUserEdits = entity.table.column(Entity.userEditsColumn) != nil
    defersForeignKeys = entity.table.defersForeignKeys
    let common = [
      entity.key, "uuid", "serverId", "createdAt", "updatedAt", "isDirty", "isDeleted", "syncStatus", "syncVersion",
    ]
    let names =
      common.map { "record.\(SQL.quoted($0))" } + [keepsUserEdits ? "record.\(Entity.userEditsColumn)" : "NULL"]
      + orderedColumns.map { $0.selection("record") }
    presence = "SELECT 1 FROM \(SQL.quoted(entity.table.name)) WHERE uuid = ?"
    usualNames =
      orderedColumns.map(\.name) + Self.commonColumns + (keepsUserEdits ? [Entity.userEditsColumn] : [])
    usualUpdate = Self.update(of: Self.commonResponseColumns, in: entity)
    usualInsertion = Self.insertion(of: usualNames, into: entity)
    let name = SQL.quoted(entity.table.name)
    references = columns.filter { $0.reference != nil }
    keys = entities.references(of: entity)
    let parents = keys.map { $0.target($0.parent.key, child: name) }
    parentColumns = parents.joined(separator: ", ")
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
      note(field, "is not a time between the years 0 and 9999")
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

extension RecordTable {
  /// The common fields of a row.
  package struct Bookkeeping: Sendable {
    package var serverId: ServerId?
    /// Milliseconds since 1970; `nil` keeps the value of the row.
    package var createdAt: Int64?
    package var isDirty: Bool
    package var syncStatus: String
    /// Milliseconds since 1970; `nil` keeps the value of the row.
    package var lastSyncedAt: Int64?

    package init(
      serverId: ServerId?, createdAt: Int64? = nil, isDirty: Bool = false, syncStatus: String = "synced",
      lastSyncedAt: Int64? = nil
    ) {
      self.serverId = serverId
      self.createdAt = createdAt
      self.isDirty = isDirty
      self.syncStatus = syncStatus
      self.lastSyncedAt = lastSyncedAt
    }
  }

  /// Returns the fields of a state for which this table has no column, as a newer server may send them.
  package func unknownFields(of state: RecordState) -> SyncObject {
    let members = state.fields.members
    if members.count == columns.count, zip(members, usualNames).allSatisfy({ $0.name == $1 }) { return [:] }
    return state.fields.filter { places[$0.name] == nil }
  }

  package static func insertion(of names: [String], into entity: Entity) -> String {
    let list = names.map(SQL.quoted).joined(separator: ", ")
    let marks = String(repeating: ", ?", count: names.count)
    return "INSERT INTO \(SQL.quoted(entity.table.name)) (uuid, \(list)) VALUES (?\(marks))"
  }

  package static func update(of names: [String], in entity: Entity) -> String {
    let assignments = names.map { "\(SQL.quoted($0)) = ?" }.joined(separator: ", ")
    return "UPDATE \(SQL.quoted(entity.table.name)) SET \(assignments) WHERE \(SQL.quoted(entity.key)) = ?"
  }

  /// Inserts a row. Fields that the state lacks get their default. Fields without a column are left out.
  /// - Returns: the local id.
  /// - Throws: ``MissingReferences``; ``VaultError`` with `badValue` that names the field; ``SQLError`` for a
  ///   violated rule of the table.
  @discardableResult
  package func insert(
    _ uuid: String, _ state: RecordState, _ bookkeeping: Bookkeeping, in connection: WriteConnection
  ) throws -> Int64 {
    let values = try values(of: state.fields, connection, ownUuid: uuid) + common(state, bookkeeping)
    let names = values.map(\.name)
    let sql = names == usualNames ? usualInsertion : Self.insertion(of: names, into: entity)
    try connection.withStatement(sql) { statement in
      try statement.bind(uuid, at: 1)
      for (index, value) in values.enumerated() { try value.argument.bind(to: statement, at: Int32(index + 2)) }
      try statement.run()
    }
    return connection.lastInsertedRowID
  }

  /// Changes a row to a state. Only values that differ from `old` are written, so that other indexes and the
  /// full-text search do not change. Fields that the state lacks stay. If the deletion of the record is final,
  /// references to missing records stay as well.
  /// - Parameter isGone: whether the server has deleted the record. A row that keeps a reference then keeps its version
  ///   as well, because a user can restore it from the version whose values the row has. `nil` on the server, and if
  ///   the state determines whether the deletion is final.
  /// - Returns: the columns whose references to missing records the row does not get.
  /// - Throws: the errors of ``insert(_:_:_:in:)``.
  @discardableResult
  package func update(
    _ key: Int64, from old: RecordState, to state: RecordState, _ bookkeeping: Bookkeeping, isGone: Bool? = nil,
    in connection: WriteConnection
  ) throws -> [String] {
    let changed = changedFields(from: old.fields, to: state.fields)
    let leavesOutMissing = isGone ?? state.isDeleted
    let possible = leavesOutMissing ? try leavingOutMissingParents(changed, over: old.fields, connection) : changed
    let fields = try values(
      of: possible, connection, leavesOutMissing: leavesOutMissing,
      ownUuid: ownUuid(key, changing: possible, in: connection))
    let kept =
      fields.count == changed.members.count
      ? [] : changed.names.filter { name in places[name] != nil && !fields.contains { $0.name == name } }
    var state = state
    if isGone == true, state.isDeleted, !kept.isEmpty { state.syncVersion = old.syncVersion }
    let values = fields + common(state, bookkeeping, over: old)
    let names = values.map(\.name)
    let sql = names == Self.commonResponseColumns ? usualUpdate : Self.update(of: names, in: entity)
    try keepingReferences(to: key, changing: fields.map(\.name), in: connection) {
      try connection.withStatement(sql) { statement in
        for (index, value) in values.enumerated() { try value.argument.bind(to: statement, at: Int32(index + 1)) }
        try statement.bind(key, at: Int32(values.count + 1))
        try statement.run()
      }
    }
    return kept
  }

  /// The order of ``common(_:_:over:)``.
  package static let commonColumns = [
    "serverId", "syncVersion", "isDirty", "syncStatus", "isDeleted", "updatedAt", "createdAt", "lastSyncedAt",
  ]
  /// Returns the changes after the server has stored an operation.
  static let commonResponseColumns = ["serverId", "syncVersion", "isDirty", "syncStatus", "lastSyncedAt"]

  /// - Parameter old: the values of the row. Equal values are left out, because SQLite enters each trigger of a column
  ///   that is set, even if its condition is false.
  func common(
    _ state: RecordState, _ bookkeeping: Bookkeeping, over old: RecordState? = nil
  ) -> [(name: String, argument: SQLArgument)] {
    var values: [(name: String, argument: SQLArgument)] = [
      ("serverId", bookkeeping.serverId?.sqlArgument ?? .null), ("syncVersion", .integer(state.syncVersion)),
      ("isDirty", .integer(bookkeeping.isDirty ? 1 : 0)), ("syncStatus", .text(bookkeeping.syncStatus)),
    ]
    if old?.isDeleted != state.isDeleted { values.append(("isDeleted", .integer(state.isDeleted ? 1 : 0))) }
    if old?.updatedAt != state.updatedAt { values.append(("updatedAt", Self.time(state.updatedAt))) }
    if let createdAt = bookkeeping.createdAt { values.append(("createdAt", Self.time(createdAt))) }
    if let time = bookkeeping.lastSyncedAt { values.append(("lastSyncedAt", Self.time(time))) }
    if keepsUserEdits, old?.userEditedFields != state.userEditedFields {
      values.append((Entity.userEditsColumn, .text(Self.json(names: state.userEditedFields))))
    }
    return values
  }

  package static func time(_ milliseconds: Int64) -> SQLArgument {
    .text(WireTime.text(milliseconds))
  }

  private func values(
    of fields: SyncObject, _ connection: Connection, leavesOutMissing: Bool = false, ownUuid: String? = nil
  ) throws -> [(name: String, argument: SQLArgument)] {
    var values: [(name: String, argument: SQLArgument)] = []
    values.reserveCapacity(fields.count + 9)
    var missing: [(column: String, entityType: String, uuid: String)] = []
    for member in fields.members {
      guard let place = places[member.name] else { continue }
      let column = columns[place]
      var argument: SQLArgument
      do throws(FieldProblem) {
        argument = try column.argument(member.value)
      } catch {
        throw VaultError(.badValue, "\(entity.type).\(member.name) \(error.message)", name: member.name)
      }
      if let reference = column.reference, case .text(let uuid) = argument {
        if uuid == ownUuid, let own = try ownKey(reference, in: fields) {
          argument = own
        } else if let key = try key(of: uuid, reference, connection) {
          argument = key
        } else {
          if leavesOutMissing { continue }
          missing.append((member.name, reference.entityType, uuid))
        }
      }
      values.append((member.name, argument))
    }
    if !missing.isEmpty { throw MissingReferences(references: missing) }
    return values
  }

  /// Returns the UUID of a row if a change may set a reference to the row itself together with the referenced value;
  /// otherwise, `nil`.
  private func ownUuid(_ key: Int64, changing fields: SyncObject, in connection: Connection) throws -> String? {
    let mayBeOwn = columns.contains { column in
      guard let reference = column.reference, reference.entityType == entity.type else { return false }
      return fields[column.name] != nil && fields[reference.key] != nil
    }
    guard mayBeOwn else { return nil }
    return try connection.fetchOne(
      "SELECT uuid FROM \(identifier: entity.table.name) WHERE \(identifier: entity.key) = \(key)", as: String.self)
  }

  /// Returns the UNIQUE value that a version gives a row and by which the row references itself; `nil` if the version does
  /// not have it.
  private func ownKey(_ reference: SharedColumn.Reference, in fields: SyncObject) throws -> SQLArgument? {
    guard reference.entityType == entity.type, let place = places[reference.key], columns[place].reference == nil,
      let value = fields[reference.key], value != .null
    else { return nil }
    return try columns[place].argument(value)
  }

  /// Returns the key of a referenced record. Each call looks the record up: after a savepoint was undone, another record may
  /// have its local id.
  private func key(
    of uuid: String, _ reference: SharedColumn.Reference, _ connection: Connection
  ) throws -> SQLArgument? {
    let key = SQL.quoted(reference.key)
    let found = try connection.withStatement("SELECT \(key) FROM \(SQL.quoted(reference.table)) WHERE uuid = ?") {
      statement in
      try statement.bind(uuid, at: 1)
      return try statement.step() ? try statement.row.decode(SQLArgument.self, at: 0) : nil
    }
    return found == .null ? nil : found
  }
}
