import CipherSQL
import Platform
import SchemaModel
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A UNIQUE constraint or unique index of a table, except that of its UUID.
package struct UniqueKey: Sendable {
  /// The name of the index by its terms; see `Catalog.UniqueIndex.keyName`.
  package let name: String
  /// The shared columns of the key, also those that its expressions use.
  package let columns: [SharedColumn]
  /// The columns and expressions that are unique together.
  fileprivate let terms: [Catalog.UniqueIndex.Term]
  /// Whether the index is partial.
  package let condition: String?
  /// Whether the key has these columns only.
  package let isWhole: Bool

  /// Returns the column that a row clears so that another row can have its values, and the value that it gets instead:
  /// NULL if the column may be NULL and no other row references it, otherwise a value that no other row has.
  /// - Parameter referenced: the columns that other rows reference.
  package func clearing(
    _ environment: Environment, referenced: Set<String>
  ) -> (column: SharedColumn, value: SQLArgument)? {
    Self.clearing(columns, environment, referenced: referenced)
  }

  /// Returns the column among those of a key that a row clears; see ``clearing(_:referenced:)``.
  package static func clearing(
    _ columns: [SharedColumn], _ environment: Environment, referenced: Set<String>
  ) -> (column: SharedColumn, value: SQLArgument)? {
    func mayBeNull(_ column: SharedColumn) -> Bool { !column.column.isNotNull && !referenced.contains(column.name) }
    let column = columns.first(where: mayBeNull) ?? columns.first { $0.reference == nil } ?? columns.first
    return column.map { ($0, mayBeNull($0) ? .null : unusedValue(of: $0, environment)) }
  }

  /// Returns the key, reduced to the columns that a version has.
  package func having(_ fields: SyncObject) -> UniqueKey {
    UniqueKey(
      name: name, columns: columns.filter { fields[$0.name] != nil }, terms: terms, condition: condition,
      isWhole: isWhole)
  }

  private static func unusedValue(of column: SharedColumn, _ environment: Environment) -> SQLArgument {
    let negative = Int64(bitPattern: environment.random.number() | 1 << 63)
    if column.reference != nil { return .integer(negative) }
    return switch column.column.type {
    case .integer, .bool: .integer(negative)
    case .real: .real(Double(negative) * 1e100)
    case .blob: .blob(Array(environment.uuids.next().sqlText.utf8))
    case .text, .json, .timestamp, .day, .uuid, .enumeration, .any: .text(environment.uuids.next().sqlText)
    }
  }
}

/// A record that has a UNIQUE value.
package struct UniqueHolder: Sendable {
  /// The key whose values the record has.
  package let key: UniqueKey
  /// The UUID of the record.
  package let uuid: String
  /// Whether the record has local changes.
  package let isDirty: Bool
  /// Whether the record is marked as deleted.
  package let isDeleted: Bool
}

extension RecordTable {
  /// The unique keys of the table.
  package func uniqueKeys(in connection: Connection) throws -> [UniqueKey] {
    entity.table.uniqueIndexes.compactMap { index in
      let names = index.termColumns
      let shared = names.compactMap { places[$0] }.map { columns[$0] }
      guard !shared.isEmpty else { return nil }
      return UniqueKey(
        name: index.keyName, columns: shared, terms: index.terms, condition: index.condition,
        isWhole: shared.count == names.count)
    }
  }

  /// Returns the other records that have UNIQUE values of a version.
  package func holders(
    of fields: SyncObject, besides uuid: String, in connection: Connection
  ) throws -> [UniqueHolder] {
    var holders: [UniqueHolder] = []
    for key in try uniqueKeys(in: connection) {
      var arguments: [String: SQLArgument] = [:]
      for column in key.columns {
        guard let value = fields[column.name] else { continue }
        do throws(FieldProblem) {
          arguments[column.name] = try column.argument(value)
        } catch {
          // The table cannot store this version.
          return []
        }
        if let reference = column.reference, case .text(let uuid)? = arguments[column.name] {
          arguments[column.name] =
            try connection.fetchOne(
              "SELECT \(identifier: reference.key) FROM \(identifier: reference.table) WHERE uuid = \(uuid)",
              as: SQLArgument.self) ?? .null
        }
      }
      var conditions = key.terms.compactMap { equality($0, arguments) }
      // NULL equals nothing.
      let hasNull = key.terms.contains { $0.column.map { arguments[$0] == .null } == true }
      if conditions.isEmpty || hasNull { continue }
      if let condition = key.condition { conditions.append("(\(raw: condition))") }
      let all = SQL.joined(conditions, separator: " AND ")
      holders += try connection.fetchRows(
        """
        SELECT uuid, isDirty, isDeleted FROM \(identifier: entity.table.name) WHERE \(all) AND uuid <> \(uuid)
        """, as: String.self, Bool.self, Bool.self
      ).map { UniqueHolder(key: key, uuid: $0, isDirty: $1, isDeleted: $2) }
    }
    return holders
  }

  /// Returns the condition that a row has the value of a term over the given values of columns; `nil` if one is missing.
  private func equality(_ term: Catalog.UniqueIndex.Term, _ arguments: [String: SQLArgument]) -> SQL? {
    if let column = term.column {
      return arguments[column].map { "\(identifier: column) = \($0) COLLATE \(identifier: term.collation)" }
    }
    var values: [SQL] = []
    for column in term.columns {
      guard let value = arguments[column] else { return nil }
      values.append("\(value) AS \(identifier: column)")
    }
    if values.isEmpty { return nil }
    let expression = SQL(raw: "(\(term.expression)\n)")
    return """
      \(expression) = (SELECT \(expression) FROM (SELECT \(SQL.joined(values))) AS \(identifier: entity.table.name)) \
      COLLATE \(identifier: term.collation)
      """
  }

  /// Returns the refusal of a version whose UNIQUE values another record has; `nil` if no record has them.
  package func refusal(of fields: SyncObject, besides uuid: String, in connection: Connection) throws -> VaultError? {
    guard let holder = try holders(of: fields, besides: uuid, in: connection).first else { return nil }
    let names = holder.key.columns.map(\.name).joined(separator: ", ")
    let other = "\(holder.isDeleted ? "deleted " : "")\(entity.type) \(holder.uuid)"
    return VaultError(
      .refused, "the \(other) now has the same \(names)",
      hint: holder.isDeleted ? "sync first, then try again" : "change its \(names), or delete it")
  }
}
