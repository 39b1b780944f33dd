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
  /// The shared columns of the key. For an index over an expression, its other columns.
  package let columns: [SharedColumn]
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
    func mayBeNull(_ column: SharedColumn) -> Bool { !column.column.isNotNull && !referenced.contains(column.name) }
    let column = columns.first(where: mayBeNull) ?? columns.first { $0.reference == nil } ?? columns.first
    return column.map { ($0, mayBeNull($0) ? .null : Self.unusedValue(of: $0, environment)) }
  }

  /// Returns the key, reduced to the columns that a version has.
  package func having(_ fields: SyncObject) -> UniqueKey {
    UniqueKey(columns: columns.filter { fields[$0.name] != nil }, condition: condition, isWhole: isWhole)
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
    let name = entity.table.name
    let indexes = try connection.fetchRows(
      """
      SELECT name, (SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = list.name), partial
      FROM pragma_index_list(\(name)) AS list WHERE "unique" = 1 AND origin <> 'pk'
      """, as: String.self, String?.self, Bool.self)
    return try indexes.compactMap { index, sql, isPartial in
      let names = try connection.fetch(
        "SELECT name FROM pragma_index_info(\(index)) ORDER BY seqno", as: String?.self)
      let shared = names.compactMap { name in name.flatMap { places[$0] }.map { columns[$0] } }
      guard !shared.isEmpty else { return nil }
      return UniqueKey(
        columns: shared, condition: isPartial ? sql.flatMap(SQLText.condition(ofIndex:)) : nil,
        isWhole: shared.count == names.count)
    }
  }

  /// Returns the other records that have UNIQUE values of a version.
  package func holders(
    of fields: SyncObject, besides uuid: String, in connection: Connection
  ) throws -> [UniqueHolder] {
    var holders: [UniqueHolder] = []
    for key in try uniqueKeys(in: connection) {
      var conditions: [SQL] = []
      for column in key.columns {
        guard let value = fields[column.name] else { continue }
        var argument: SQLArgument
        do throws(FieldProblem) {
          argument = try column.argument(value)
        } catch {
          // The table cannot store this version.
          return []
        }
        if let reference = column.reference, case .text(let uuid) = argument {
          argument =
            try connection.fetchOne(
              "SELECT \(identifier: reference.key) FROM \(identifier: reference.table) WHERE uuid = \(uuid)",
              as: SQLArgument.self) ?? .null
        }
        // NULL equals nothing.
        if argument == .null {
          conditions = []
          break
        }
        conditions.append("\(identifier: column.name) = \(argument)")
      }
      if conditions.isEmpty { continue }
      if let condition = key.condition { conditions.append("(\(raw: condition))") }
      let all = conditions.dropFirst().reduce(conditions[0]) { "\($0) AND \($1)" }
      holders += try connection.fetchRows(
        """
        SELECT uuid, isDirty, isDeleted FROM \(identifier: entity.table.name) WHERE \(all) AND uuid <> \(uuid)
        """, as: String.self, Bool.self, Bool.self
      ).map { UniqueHolder(key: key, uuid: $0, isDirty: $1, isDeleted: $2) }
    }
    return holders
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
