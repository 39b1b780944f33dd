import CipherSQL
import SchemaModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Creates and changes records of entities that are known only at run time.
public struct RecordWriter {
  package let connection: WriteConnection
  package let entities: Entities

  /// Creates a writer within a transaction of the vault's database.
  public init(_ connection: WriteConnection, entities: Entities) {
    (self.connection, self.entities) = (connection, entities)
  }

  /// Creates a record, or changes the named fields of the record with the UUID.
  /// - Returns: the UUID of the record.
  /// - Throws: ``VaultError`` with `noSuchField`, `badValue` or `refused`, which names the field. Nothing is changed
  ///   in this case.
  @discardableResult
  public func put(_ entity: Entity, _ fields: [(name: String, value: FieldInput)], uuid: UUID? = nil) throws -> UUID {
    var values: [(column: String, value: SQLArgument)] = []
    var uuid = uuid
    for (name, input) in fields {
      if values.contains(where: { $0.column == name }) {
        throw VaultError(.refused, "\(entity.type).\(name) is given twice", hint: "give it once")
      }
      let column = try entity.settableColumn(name)
      if name == "uuid" {
        uuid = try ownUUID(input, column, entity, besides: uuid)
      } else {
        values.append((name, try value(input, for: column, of: entity)))
      }
    }
    guard let uuid, try exists(entity, uuid) else {
      return try add(entity, uuid ?? connection.environment.uuids.next(), values)
    }
    try naming(entity, values) { try update(entity, uuid, values) }
    return uuid
  }

  /// Creates a record of values that have the types of their columns.
  package func add(_ entity: Entity, _ uuid: UUID, _ values: [(column: String, value: SQLArgument)]) throws -> UUID {
    try naming(entity, values) { try insert(entity, uuid, values) }
    return uuid
  }

  /// Translates a violated rule into an error that names the field.
  private func naming(
    _ entity: Entity, _ values: [(column: String, value: SQLArgument)], _ body: () throws -> Void
  ) throws {
    do {
      try body()
    } catch let error as SQLError where error.code == .constraint {
      throw problem(error, entity, values)
    }
  }

  private func exists(_ entity: Entity, _ uuid: UUID) throws -> Bool {
    guard entity.marksDeletion else {
      return try connection.fetchOne(
        "SELECT 1 FROM \(identifier: entity.table.name) WHERE uuid = \(uuid)", as: Int.self) != nil
    }
    let deleted = try connection.fetchOne(
      "SELECT isDeleted FROM \(identifier: entity.table.name) WHERE uuid = \(uuid)", as: Bool.self)
    if deleted == true {
      throw VaultError(
        .refused, "this \(entity.type) was deleted", remedy: .createWithoutUUID)
    }
    return deleted != nil
  }

  private func insert(_ entity: Entity, _ uuid: UUID, _ values: [(column: String, value: SQLArgument)]) throws {
    var names = [SQL(raw: "uuid")]
    var arguments: [SQL] = ["\(uuid)"]
    for (column, value) in values {
      names.append("\(identifier: column)")
      arguments.append("\(value)")
    }
    try connection.execute(
      "INSERT INTO \(identifier: entity.table.name) (\(SQL.joined(names))) VALUES (\(SQL.joined(arguments)))")
  }

  private func update(_ entity: Entity, _ uuid: UUID, _ values: [(column: String, value: SQLArgument)]) throws {
    guard !values.isEmpty else { return }
    let assignments = values.map { column, value -> SQL in "\(identifier: column) = \(value)" }
    try connection.execute(
      "UPDATE \(identifier: entity.table.name) SET \(SQL.joined(assignments)) WHERE uuid = \(uuid)")
  }

  package func value(_ input: FieldInput, for column: Catalog.Column, of entity: Entity) throws -> SQLArgument {
    do {
      if let reference = entity.reference(of: column.name) {
        return try References(connection: connection, entities: entities).resolve(input, column, reference)
      }
      return try input.argument(for: column)
    } catch let problem as FieldProblem {
      throw VaultError(.badValue, "\(entity.type).\(column.name) \(problem.message)", name: column.name)
    }
  }

  private func ownUUID(
    _ input: FieldInput, _ column: Catalog.Column, _ entity: Entity, besides given: UUID?
  ) throws -> UUID {
    guard case .text(let text) = try value(input, for: column, of: entity), let uuid = UUID(sqlText: text) else {
      throw VaultError(.badValue, "\(entity.type).uuid is not a UUID", name: "uuid")
    }
    if let given, given != uuid {
      throw VaultError(
        .refused, "the field uuid differs from the uuid of the request", hint: "give only one of them")
    }
    return uuid
  }

  private func problem(
    _ error: SQLError, _ entity: Entity, _ values: [(column: String, value: SQLArgument)]
  ) -> VaultError {
    let (field, message) = ConstraintMessage(entity: entity).explain(error, connection, values)
    return VaultError(
      .badValue, field.map { "\(entity.type).\($0) \(message)" } ?? "\(entity.type): \(message)", name: field)
  }
}
