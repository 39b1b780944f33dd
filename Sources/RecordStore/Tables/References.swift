import CipherSQL
import SchemaModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Finds the record that a reference names by its UUID, its local id or one of its columns.
package struct References {
  private let connection: Connection
  private let entities: Entities

  package init(connection: Connection, entities: Entities) { (self.connection, self.entities) = (connection, entities) }

  /// Returns the value of the referencing column.
  /// - Throws: ``FieldProblem`` if no record matches.
  package func resolve(
    _ input: FieldInput, _ column: Catalog.Column, _ reference: Catalog.ForeignKey
  ) throws -> SQLArgument {
    switch input {
    case .text(let text):
      if text.isEmpty, !column.isNotNull { return .null }
      return try resolve(text, column, reference)
    case .typed(.string(let text)):
      return try resolve(text, column, reference)
    case .typed:
      return try input.argument(for: column)
    }
  }

  /// Returns the value of the referencing column for a text, which is a UUID or a local id.
  package func resolve(_ text: String, _ column: Catalog.Column, _ reference: Catalog.ForeignKey) throws -> SQLArgument
  {
    guard column.type == .integer else { return try FieldInput.text(text).argument(for: column) }
    guard let uuid = UUID(sqlText: text) else {
      guard let local = Int64(text) else {
        throw FieldProblem(message: "is neither the uuid nor the local id of a record")
      }
      return .integer(local)
    }
    return try find(reference, by: "uuid", uuid.sqlArgument)
  }

  /// Returns the value of the referencing column for the one record whose column has a value.
  /// - Throws: ``FieldProblem`` if no record or several records have it.
  package func find(_ reference: Catalog.ForeignKey, by name: String, _ value: SQLArgument) throws -> SQLArgument {
    guard let target = entities.entity(ofTable: reference.table) else {
      throw FieldProblem(message: "refers to \(reference.table), which is not an entity; give the local id")
    }
    let column = try target.column(name)
    var query: SQL = """
      SELECT \(identifier: reference.columns.first?.to ?? target.key) FROM \(identifier: target.table.name)
      WHERE \(identifier: column.name) = \(value)
      """
    if target.marksDeletion { query.append(" AND isDeleted = 0") }
    let found = try connection.fetch(query + " LIMIT 2", as: SQLArgument.self)
    guard let first = found.first else {
      throw FieldProblem(message: "does not match the \(name) of any \(target.type)")
    }
    guard found.count == 1 else {
      throw FieldProblem(message: "matches the \(name) of several \(target.type) records")
    }
    return first
  }
}

/// Finds the records that are deleted with a record.
package struct Dependents {
  private let connection: Connection
  private let entities: Entities

  package init(connection: Connection, entities: Entities) { (self.connection, self.entities) = (connection, entities) }

  /// The number of records that a deletion marks, the record itself included.
  package func count(of entity: Entity, _ key: Int64) throws -> Int {
    try all(of: entity, [key]).reduce(0) { $0 + $1.keys.count }
  }

  /// The local ids of the records that a deletion marks, the record itself included, by entity.
  /// - Parameter onlyLive: leaves out records that are deleted already, and their dependents.
  package func all(of entity: Entity, _ keys: [Int64], onlyLive: Bool = true) throws -> [(
    entity: Entity, keys: [Int64]
  )] {
    var seen: [String: Set<Int64>] = [entity.type: Set(keys)]
    var order: [(entity: Entity, keys: [Int64])] = [(entity, keys)]
    var next = 0
    while next < order.count {
      let (parent, keys) = order[next]
      next += 1
      let list = "[" + keys.map(String.init).joined(separator: ",") + "]"
      for dependency in entities.dependencies(on: parent) where dependency.cascades {
        let child = dependency.child
        let live: SQL = onlyLive ? " AND child.isDeleted = 0" : ""
        let found = try connection.fetch(
          """
          SELECT child.\(identifier: child.key) FROM json_each(\(list)) AS gone
          CROSS JOIN \(identifier: parent.table.name) AS parent ON parent.\(identifier: parent.key) = gone.value
          CROSS JOIN \(identifier: child.table.name) AS child
            ON \(raw: dependency.isReferring(child: "child", parent: "parent"))\(live)
          """, as: Int64.self)
        let fresh = found.filter { seen[child.type, default: []].insert($0).inserted }
        if !fresh.isEmpty { order.append((child, fresh)) }
      }
    }
    return order
  }
}
