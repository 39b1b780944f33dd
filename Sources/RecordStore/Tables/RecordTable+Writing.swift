import CipherSQL
import SchemaModel
import SyncModel

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
    _ uuid: String, _ state: RecordState, _ bookkeeping: Bookkeeping, references: ReferenceCache,
    in connection: WriteConnection
  ) throws -> Int64 {
    let values = try values(of: state.fields, references, connection) + common(state, bookkeeping)
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
  /// - Parameter isGone: whether the server has deleted the record. A row that keeps a reference then keeps its
  ///   version as well, because a user who restores it starts from the version whose values the row has. `nil` at the
  ///   server, and if the state says whether the deletion is final.
  /// - Throws: the errors of ``insert(_:_:_:references:in:)``.
  package func update(
    _ key: Int64, from old: RecordState, to state: RecordState, _ bookkeeping: Bookkeeping, references: ReferenceCache,
    isGone: Bool? = nil, in connection: WriteConnection
  ) throws {
    let changed = changedFields(from: old.fields, to: state.fields)
    let leavesOutMissing = isGone ?? state.isDeleted
    let fields = try values(of: changed, references, connection, leavesOutMissing: leavesOutMissing)
    var state = state
    if isGone == true, !bookkeeping.isDirty, fields.count < changed.members.count(where: { places[$0.name] != nil }) {
      state.syncVersion = old.syncVersion
    }
    let values = fields + common(state, bookkeeping, over: old)
    let names = values.map(\.name)
    let sql = names == Self.commonColumnsOfAnAnswer ? usualUpdate : Self.update(of: names, in: entity)
    try connection.withStatement(sql) { statement in
      for (index, value) in values.enumerated() { try value.argument.bind(to: statement, at: Int32(index + 1)) }
      try statement.bind(key, at: Int32(values.count + 1))
      try statement.run()
    }
  }

  /// The order of ``common(_:_:over:)``.
  package static let commonColumns = [
    "serverId", "syncVersion", "isDirty", "syncStatus", "isDeleted", "updatedAt", "createdAt", "lastSyncedAt",
  ]
  /// Returns the changes after the server has stored an operation.
  static let commonColumnsOfAnAnswer = ["serverId", "syncVersion", "isDirty", "syncStatus", "lastSyncedAt"]

  /// - Parameter old: the values of the row. Equal values are left out, because SQLite enters each trigger of a
  ///   column that is set, whatever its condition.
  private func common(
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
    of fields: SyncObject, _ references: ReferenceCache, _ connection: Connection, leavesOutMissing: Bool = false
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
        if let key = try key(of: uuid, reference, references, connection) {
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

  private func key(
    of uuid: String, _ reference: SharedColumn.Reference, _ references: ReferenceCache, _ connection: Connection
  ) throws -> SQLArgument? {
    func find<Value: SQLValue>(_ type: Value.Type) throws -> Value? {
      let key = SQL.quoted(reference.key)
      return try connection.withStatement("SELECT \(key) FROM \(SQL.quoted(reference.table)) WHERE uuid = ?") {
        statement in
        try statement.bind(uuid, at: 1)
        return try statement.step() ? try statement.row.decode(Value.self, at: 0) : nil
      }
    }
    // Keys other than the local id may change while a transaction runs.
    guard reference.isLocalId else { return try find(SQLArgument.self).flatMap { $0 == .null ? nil : $0 } }
    return try references.key(reference.table + uuid) { try find(Int64.self) }.map { .integer($0) }
  }
}
