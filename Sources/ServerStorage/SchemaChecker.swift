import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// Checks single records by the tables of the schemas: types, CHECKs, defaults and computed columns.
///
/// The tables are empty. A version is inserted and read as the schema has made it, in a transaction that is rolled back.
/// References and UNIQUE constraints concern other records, so ``AccountWriter`` checks them by the returned keys.
///
/// `@unchecked Sendable` holds because ``AccountSchema/withChecker(_:)`` lets one thread at a time use a checker. Its mutex is
/// between the last use by one thread and the first use by the next one.
final class SchemaChecker: @unchecked Sendable {
  private let connection: WriteConnection
  private let map: EntityMap

  init(_ connection: WriteConnection, _ map: EntityMap) { (self.connection, self.map) = (connection, map) }

  /// A version of a record to check.
  struct Version {
    var name: RecordName
    var serverId: Int64
    var state: RecordState
    var createdAt: Int64
    var storedAt: Int64
    /// Values as the table stores them, in place of the values of the state: for columns whose reference travels as a UUID.
    var referenced: [String: SQLArgument]
    /// The columns to compute again.
    var computing: [String]
  }

  /// A version as the tables have stored it, with its keys.
  struct Checked {
    var fields: SyncObject
    /// The values of the unique keys, without those that have a NULL or do not meet their condition.
    var unique: [String: String] = [:]
    /// The values of references of several columns.
    var references: [String: String] = [:]
    /// The columns whose default references a record, with the value of the table.
    var defaults: [(column: String, value: SQLArgument)] = []
  }

  /// - Throws: ``StorageRefusal`` for a rule that the version breaks.
  func check(_ version: Version) throws -> Checked {
    let plan = try plan(of: version)
    let table = plan.table
    return try WriteMode.sync(on: connection) {
      try connection.undoing {
        try explaining(plan) {
          try Self.insert(version, plan, connection)
          let always = table.alwaysComputed
          try table.compute(version.computing.filter { !always.contains($0) }, ofKey: version.serverId, in: connection)
          try table.compute(always, ofKey: version.serverId, in: connection)
          try checkUnsyncedParents(plan)
          return try read(version, plan)
        }
      }
    }
  }

  /// Returns the keys of stored versions. Rules of the schema that are newer than a version do not refuse it.
  func keys(of versions: [Version]) throws -> [Checked] {
    try WriteMode.sync(on: connection) {
      // Once for all versions, because SQLite prepares every statement again after such a switch.
      try connection.withoutChecks {
        try versions.map { version in
          let plan = try plan(of: version)
          return try connection.undoing {
            try explaining(plan) {
              try Self.insert(version, plan, connection)
              return try read(version, plan)
            }
          }
        }
      }
    }
  }

  private func plan(of version: Version) throws -> CheckPlan {
    guard let plan = map.plans[version.name.entityType] else {
      throw StorageRefusal.invalid(field: "entityType", message: "unknown entity")
    }
    return plan
  }

  /// Runs a closure, and words the violation of a constraint.
  private func explaining<Result>(_ plan: CheckPlan, _ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as SQLError where error.code == .constraint {
      let (field, message) = ConstraintMessage(entity: plan.table.entity).explain(error, connection)
      throw StorageRefusal.invalid(field: field, message: field.map { "\($0) \(message)" } ?? message)
    }
  }

  /// Inserts the row of a version. Its local id is the server id.
  static func insert(_ version: Version, _ plan: CheckPlan, _ connection: WriteConnection) throws {
    let state = version.state
    var names: [String] = []
    var arguments: [SQLArgument] = [
      .integer(version.serverId), .integer(version.serverId), .integer(state.syncVersion), .integer(0),
      .text("synced"), .integer(state.isDeleted ? 1 : 0), RecordTable.time(state.updatedAt),
      RecordTable.time(version.createdAt), RecordTable.time(version.storedAt),
    ]
    if plan.table.keepsUserEdits { arguments.append(.text(RecordTable.json(names: state.userEditedFields))) }
    for member in state.fields.members {
      guard let place = plan.table.places[member.name] else { continue }
      names.append(member.name)
      if let value = version.referenced[member.name] {
        arguments.append(value)
        continue
      }
      do throws(FieldProblem) {
        arguments.append(try plan.table.columns[place].argument(member.value))
      } catch {
        throw StorageRefusal.invalid(
          field: member.name, message: "\(plan.table.entity.type).\(member.name) \(error.message)")
      }
    }
    let sql = names == plan.names ? plan.insertion : CheckPlan.insertion(of: names, plan.table)
    try connection.withStatement(sql) { statement in
      try statement.bind(version.name.entityUuid, at: 1)
      for (index, value) in arguments.enumerated() { try value.bind(to: statement, at: Int32(index + 2)) }
      try statement.run()
    }
  }

  /// Foreign keys are not enforced, because the synced records are missing.
  private func checkUnsyncedParents(_ plan: CheckPlan) throws {
    if plan.unsyncedParents.isEmpty { return }
    let broken = try connection.fetch(
      "SELECT parent FROM pragma_foreign_key_check(\(plan.table.entity.table.name))", as: String.self)
    if broken.contains(where: plan.unsyncedParents.contains) { throw SQLError.violatedForeignKey }
  }

  private func read(_ version: Version, _ plan: CheckPlan) throws -> Checked {
    try connection.withStatement(plan.selection) { statement in
      try statement.bind(version.serverId, at: 1)
      guard try statement.step() else {
        throw ServerError(.system, "a trigger of the schema removed a record of \(version.name.entityType)")
      }
      var checked = Checked(fields: [:])
      var place: Int32 = 0
      func next() throws -> SQLArgument {
        place += 1
        return try statement.row.decode(SQLArgument.self, at: place - 1)
      }
      var members: [SyncObject.Member] = []
      for column in plan.columns {
        defer { place += 1 }
        if column.reference != nil {
          let value = try statement.row.decode(SQLArgument.self, at: place)
          if value == .null {
            members.append(SyncObject.Member(name: column.name, value: .null))
          } else if let given = version.state.fields[column.name], given != .null {
            members.append(SyncObject.Member(name: column.name, value: given))
          } else {
            checked.defaults.append((column.name, value))
          }
          continue
        }
        do throws(FieldProblem) {
          members.append(SyncObject.Member(name: column.name, value: try column.value(in: statement.row, at: place)))
        } catch {
          // A value that cannot be sent, such as an infinite number that the schema computes, is absent.
          continue
        }
      }
      checked.fields = SyncObject(ordered: members)
      for key in plan.uniqueKeys {
        let isMet = try !key.isPartial || next() == .integer(1)
        let values = try key.collations.map { _ in try next() }
        if isMet { checked.unique[key.name] = KeyText.of(values, collations: key.collations) }
      }
      for reference in plan.references where !reference.isByUUID {
        checked.references[reference.name] = reference.text(of: try reference.order.map { _ in try next() })
      }
      return checked
    }
  }

  /// Returns the values of SQL expressions without columns, such as defaults.
  func values(of expressions: [String]) throws -> [SQLArgument] {
    try connection.withStatement("SELECT \(expressions.joined(separator: ", "))") { statement in
      guard try statement.step() else { return [] }
      return try expressions.indices.map { try statement.row.decode(SQLArgument.self, at: Int32($0)) }
    }
  }
}
