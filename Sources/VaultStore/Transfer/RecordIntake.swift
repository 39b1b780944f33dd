import CipherSQL
import SyncModel

/// Writes the records of an exported file in the caller's transaction, with their UUIDs and times.
struct RecordIntake {
  let connection: WriteConnection
  let table: TransferTable

  private var entity: Entity { table.entity }

  /// The effect of a record on the vault.
  enum Outcome {
    case added
    /// Added without a reference, whose record follows in the folder; see ``RecordIntake/complete(_:)``.
    case addedInPart
    /// The vault has the same record.
    case present
    /// The record was a row of the schema that no user had changed.
    case changedSeed
  }

  /// Adds a record.
  /// - Throws: ``VaultError`` with `refused` if the vault has another version of the record; with `noSuchField` or `badValue`.
  func add(_ object: SyncObject) throws -> Outcome {
    let uuid = try uuid(of: object)
    let (values, isPartial) = try values(of: object)
    do {
      try insert(uuid, values)
      return isPartial ? .addedInPart : .added
    } catch let error as SQLError where error.code == .constraint {
      if let found = try table.find(uuid, in: connection) { return try meet(found, object, uuid, values) }
      let (field, message) = ConstraintMessage(entity: entity).explain(
        error, connection, values.map { ($0.name, $0.argument) })
      throw VaultError(
        .badValue, field.map { "\(entity.type).\($0) \(message)" } ?? "\(entity.type): \(message)", name: field)
    }
  }

  /// Sets the references of a record that ``add(_:)`` has left out.
  /// - Throws: ``VaultError`` with `badValue` for a reference to a record that is missing.
  func complete(_ object: SyncObject) throws {
    let uuid = try uuid(of: object)
    for member in object.members {
      guard let column = try table.column(member.name), let reference = column.reference,
        case .text(let target) = try argument(member.value, column)
      else { continue }
      guard let key = try key(of: target, reference) else { throw missing(target, reference, column) }
      try connection.withStatement(
        "UPDATE \(SQL.quoted(entity.table.name)) SET \(SQL.quoted(column.name)) = ? "
          + "WHERE uuid = ? AND \(SQL.quoted(column.name)) IS NULL"
      ) { statement in
        try key.bind(to: statement, at: 1)
        try statement.bind(uuid, at: 2)
        try statement.run()
      }
    }
  }

  private func uuid(of object: SyncObject) throws(VaultError) -> String {
    guard let uuid = object.text("uuid") else {
      throw VaultError(
        .badValue, "\(entity.type).uuid is missing", hint: "import the file alone to give its records new uuids")
    }
    return uuid
  }

  private func insert(_ uuid: String, _ values: [(name: String, argument: SQLArgument)]) throws {
    let names = values.map { ", " + SQL.quoted($0.name) }.joined()
    let marks = String(repeating: ", ?", count: values.count)
    let sql = "INSERT INTO \(SQL.quoted(entity.table.name)) (uuid\(names)) VALUES (?\(marks))"
    try connection.withStatement(sql) { statement in
      try statement.bind(uuid, at: 1)
      for (index, value) in values.enumerated() { try value.argument.bind(to: statement, at: Int32(index + 2)) }
      try statement.run()
    }
  }

  /// Decides about a record that the vault has already.
  private func meet(
    _ found: TransferTable.Found, _ object: SyncObject, _ uuid: String,
    _ values: [(name: String, argument: SQLArgument)]
  ) throws -> Outcome {
    guard !found.isDeleted else {
      throw VaultError(
        .refused, "the \(entity.type) \(uuid) was deleted in this vault",
        remedy: .restoreRecord(entity: entity.type, uuid: uuid))
    }
    let changed = try object.members.filter { member in
      guard let column = try table.column(member.name) else { return false }
      return try argument(member.value, column) != argument(found.object[member.name] ?? .null, column)
    }
    if changed.isEmpty { return .present }
    guard found.isSeed else {
      throw VaultError(
        .refused, "the vault has the \(entity.type) \(uuid) with another \(changed[0].name)",
        hint: "import the folder into a new vault")
    }
    let names = Set(changed.map(\.name)).union(["updatedAt"])
    // An edit of the user, which is sent.
    try WriteMode.user(on: connection) {
      let taken = values.filter { names.contains($0.name) }
      let list = taken.map { "\(SQL.quoted($0.name)) = ?" }.joined(separator: ", ")
      try connection.withStatement("UPDATE \(SQL.quoted(entity.table.name)) SET \(list) WHERE uuid = ?") { statement in
        for (index, value) in taken.enumerated() { try value.argument.bind(to: statement, at: Int32(index + 1)) }
        try statement.bind(uuid, at: Int32(taken.count + 1))
        try statement.run()
      }
    }
    return .changedSeed
  }

  private func values(
    of object: SyncObject
  ) throws -> (values: [(name: String, argument: SQLArgument)], isPartial: Bool) {
    var values: [(name: String, argument: SQLArgument)] = []
    values.reserveCapacity(object.count)
    var isPartial = false
    for member in object.members where member.name != "uuid" {
      guard let column = try table.column(member.name) else { continue }
      var value = try argument(member.value, column)
      if let reference = column.reference, case .text(let uuid) = value {
        if let key = try key(of: uuid, reference) {
          value = key
        } else if column.column.isNotNull {
          throw missing(uuid, reference, column)
        } else {
          (value, isPartial) = (.null, true)
        }
      }
      values.append((column.name, value))
    }
    return (values, isPartial)
  }

  private func argument(_ value: SyncValue, _ column: SharedColumn) throws(VaultError) -> SQLArgument {
    do throws(FieldProblem) {
      return try column.argument(value)
    } catch {
      throw VaultError(.badValue, "\(entity.type).\(column.name) \(error.message)", name: column.name)
    }
  }

  /// Returns the value by which a record with a UUID is referenced; `nil` if there is no such record.
  private func key(of uuid: String, _ reference: SharedColumn.Reference) throws -> SQLArgument? {
    let sql = "SELECT \(SQL.quoted(reference.key)) FROM \(SQL.quoted(reference.table)) WHERE uuid = ?"
    return try connection.withStatement(sql) { statement in
      try statement.bind(uuid, at: 1)
      return try statement.step() ? try statement.row.decode(SQLArgument.self, at: 0) : nil
    }
  }

  private func missing(_ uuid: String, _ reference: SharedColumn.Reference, _ column: SharedColumn) -> VaultError {
    VaultError(
      .badValue,
      "\(entity.type).\(column.name) references the \(reference.entityType) \(uuid), which is neither imported nor in the vault",
      name: column.name)
  }
}
