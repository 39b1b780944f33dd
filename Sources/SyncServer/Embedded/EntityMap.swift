import CipherSQL
import OfflineStore
import SyncModel

/// The synced entities of an account's database, and how records hang together.
struct EntityMap: Sendable {
  let tables: [String: RecordTable]
  /// For a kind of record that belongs to a project: the references by which it does, in the order of its columns.
  let ways: [String: [(column: String, parent: String)]]
  /// For a kind of record: which kinds refer to it, by which column, and whether they go when it goes.
  let dependents: [String: [Dependent]]

  struct Dependent: Sendable {
    let entityType: String
    let column: String
    let cascades: Bool
  }

  /// The kind of record by which a device may choose what it pulls.
  static let projectType = "Project"

  init(_ entities: Entities) {
    var tables: [String: RecordTable] = [:]
    for entity in entities.all { tables[entity.type] = RecordTable(entity, in: entities) }
    self.tables = tables
    var dependents: [String: [Dependent]] = [:]
    for (type, table) in tables.sorted(by: { $0.key < $1.key }) {
      for column in table.columns {
        guard let reference = column.reference else { continue }
        dependents[reference.entityType, default: []].append(
          Dependent(entityType: type, column: column.name, cascades: reference.cascades))
      }
    }
    self.dependents = dependents
    ways = Self.ways(to: Self.projectType, tables)
  }

  /// A record belongs to what it cannot be without.
  private static func ways(
    to root: String, _ tables: [String: RecordTable]
  ) -> [String: [(column: String, parent: String)]] {
    var belonging: Set<String> = [root]
    while true {
      let more = tables.filter { type, table in
        !belonging.contains(type) && table.columns.contains { isTie($0) && belonging.contains(parent(of: $0)) }
      }
      if more.isEmpty { break }
      belonging.formUnion(more.keys)
    }
    var ways: [String: [(column: String, parent: String)]] = [:]
    for (type, table) in tables where type != root && belonging.contains(type) {
      ways[type] = table.columns.filter { isTie($0) && belonging.contains(parent(of: $0)) }.map {
        ($0.name, parent(of: $0))
      }
    }
    return ways
  }

  private static func isTie(_ column: SharedColumn) -> Bool {
    guard let reference = column.reference else { return false }
    return reference.cascades || column.column.isNotNull
  }

  private static func parent(of column: SharedColumn) -> String { column.reference?.entityType ?? "" }

  /// What the layer above has to know.
  var descriptions: [String: EntityDescription] {
    tables.mapValues { table in
      let columns = Dictionary(uniqueKeysWithValues: table.columns.map { ($0.name, $0) })
      var references: [String: EntityDescription.Reference] = [:]
      for column in table.columns {
        guard let reference = column.reference else { continue }
        references[column.name] = .init(entityType: reference.entityType, cascades: reference.cascades)
      }
      return EntityDescription(
        type: table.entity.type, schemaName: table.entity.sync?.schemaName ?? "", rules: table.rules,
        references: references, hasUserEdits: table.keepsUserEdits
      ) { field, value in
        guard let column = columns[field] else { return "is no field of this kind of record" }
        do throws(FieldProblem) {
          _ = try column.argument(value)
          return nil
        } catch {
          return error.message
        }
      }
    }
  }
}
