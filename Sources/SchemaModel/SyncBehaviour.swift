import CipherSQL
import SyncModel

/// The registry's rows about a synced entity: `SyncedEntity` and `SyncedColumn`.
public struct SyncBehaviour: Sendable, Hashable {
  /// The schema that declares the table.
  public let schemaName: String
  /// The priority: 0 critical, 1 high, 2 medium, 3 low.
  public let defaultPriority: Int
  /// The policy that merges two versions of a record.
  public let rules: MergeRules
  /// The SQL expressions of computed columns.
  public let computations: [String: String]
  /// The computed columns that are also computed with each write of a user.
  public let alwaysComputed: Set<String>

  /// The queries of the rows that ``all(from:)`` reads.
  static let queries = [columnQuery, entityQuery]
  private static let columnQuery: SQL =
    "SELECT entityType, columnName, ownership, isLocalOnly, computedAs, isAlwaysComputed, mergesAsSet FROM SyncedColumn"
  private static let entityQuery: SQL =
    "SELECT entityType, schemaName, defaultPriority, conflictPolicy FROM SyncedEntity"

  /// Reads the rows of all entities.
  static func all(from connection: Connection) throws -> [String: SyncBehaviour] {
    let columns = try connection.fetchRows(
      columnQuery, as: String.self, String.self, Optional<String>.self, Bool.self, Optional<String>.self, Bool.self,
      Bool.self)
    var rules: [String: [String: FieldRule]] = [:]
    var computations: [String: [String: String]] = [:]
    var alwaysComputed: [String: Set<String>] = [:]
    for (entity, column, ownership, isLocalOnly, computedAs, isAlwaysComputed, mergesAsSet) in columns {
      if isAlwaysComputed { alwaysComputed[entity, default: []].insert(column) }
      if let computedAs { computations[entity, default: [:]][column] = computedAs }
      rules[entity, default: [:]][column] = FieldRule(
        ownership: ownership.flatMap(FieldOwnership.init), mergesAsSet: mergesAsSet, isComputed: computedAs != nil,
        isLocalOnly: isLocalOnly)
    }
    let entities = try connection.fetchRows(
      entityQuery, as: String.self, String.self, Int.self, String.self)
    var behaviours: [String: SyncBehaviour] = [:]
    for (entity, schema, priority, policy) in entities {
      behaviours[entity] = SyncBehaviour(
        schemaName: schema, defaultPriority: priority,
        rules: MergeRules(policy: ConflictPolicy(rawValue: policy) ?? .lastWriteWins, fields: rules[entity] ?? [:]),
        computations: computations[entity] ?? [:], alwaysComputed: alwaysComputed[entity] ?? [])
    }
    return behaviours
  }
}
