import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// The synced entities of the schemas, and their references.
package struct EntityMap: Sendable {
  package let tables: [String: RecordTable]
  /// The statements that check a version of a record of each entity.
  let plans: [String: CheckPlan]
  /// For each entity that belongs to a project, the references that lead to the project, in the order of its columns.
  let ways: [String: [(column: String, parent: String)]]
  /// For each entity, the foreign keys that reference it.
  let dependents: [String: [Dependent]]
  /// The entities whose deletion another record may prevent, by a reference to them or to one of their dependents.
  let obstructed: Set<String>
  /// The entities whose records reference a content.
  let attachments: [AttachmentEntity]
  /// The columns that reference the record of a user, by the entity whose records make the user a member of a project.
  let memberColumns: [String: String]
  /// The entities of the records of users, which these columns reference.
  let userTypes: [String]
  /// For each entity, the references by which other records belong to its project.
  private let members: [String: [Dependent]]

  package init(_ entities: Entities) {
    var tables: [String: RecordTable] = [:]
    for entity in entities.all { tables[entity.type] = RecordTable(entity, in: entities) }
    self.tables = tables
    let plans = tables.mapValues { CheckPlan($0, in: entities) }
    self.plans = plans
    let dependents = Dictionary(
      grouping: tables.values.sorted { $0.entity.type < $1.entity.type }.flatMap { table in
        (plans[table.entity.type]?.references ?? []).map { Dependent($0, of: table) }
      }, by: \.targetType)
    self.dependents = dependents
    attachments = entities.attachments
    memberColumns = entities.memberColumns
    userTypes = Set(
      memberColumns.compactMap { type, column in
        tables[type]?.columns.first { $0.name == column }?.reference?.entityType
      }
    ).sorted()
    let ways = ProjectPaths(tables).references
    self.ways = ways
    members = dependents.mapValues { references in
      references.filter { reference in
        ways[reference.entityType]?.contains { reference.columns == [$0.column] } == true
      }
    }
    var obstructed = Set(dependents.filter { $1.contains { $0.action == .restrict || $0.action == .setDefault } }.keys)
    while true {
      let above = dependents.filter { type, references in
        !obstructed.contains(type)
          && references.contains { $0.action == .cascade && obstructed.contains($0.entityType) }
      }
      if above.isEmpty { break }
      obstructed.formUnion(above.keys)
    }
    self.obstructed = obstructed
  }

  /// The references by which records follow a record of a kind.
  func references(_ kind: AccountJob.Kind, to type: String) -> [Dependent] {
    switch kind {
    case .cascade: dependents[type]?.filter { $0.action != .restrict } ?? []
    case .project: members[type] ?? []
    }
  }

  /// The facts about an entity for the layer above.
  package var descriptions: [String: EntityDescription] {
    tables.mapValues { table in
      let columns = Dictionary(uniqueKeysWithValues: table.columns.map { ($0.name, $0) })
      let references = table.keys.map { key in
        EntityDescription.Reference(
          entityType: key.parent.type, fields: key.columns,
          targets: key.columns.count > 1 ? key.key.columns.map(\.to) : nil)
      }
      return EntityDescription(
        type: table.entity.type, schemaName: table.entity.sync?.schemaName ?? "", rules: table.rules,
        references: references, hasUserEdits: table.keepsUserEdits,
        isMembership: memberColumns[table.entity.type] != nil, digestColumns: table.digestColumns
      ) { field, value in
        guard let column = columns[field] else { return "is not a field of this entity" }
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

/// A foreign key by which records reference records of another entity.
final class Dependent: Sendable {
  let entityType: String
  let targetType: String
  let action: ReferenceAction
  let link: CheckPlan.Reference
  /// The referencing shared columns and the referenced columns.
  let columns: [String]
  let targets: [String]
  /// The effect of a change of the referenced values.
  let onUpdate: Catalog.ForeignKey.Action
  /// SQL for the value of each column under SET DEFAULT, as the table stores it.
  let replacements: [String]

  /// Whether the reference travels as the UUID of the record.
  var isByUUID: Bool { columns.count == 1 }

  fileprivate init(_ link: CheckPlan.Reference, of table: RecordTable) {
    self.link = link
    let dependency = link.dependency
    let key = dependency.key
    entityType = dependency.child.type
    targetType = dependency.parent.type
    columns = key.columns.map(\.from)
    targets = key.columns.map(\.to)
    onUpdate = key.onUpdate
    let isNotNull = columns.contains { dependency.child.table.column($0)?.isNotNull == true }
    let replacements = key.columns.map { dependency.replacement(of: $0) }
    self.replacements = zip(columns, replacements).map { name, text in
      text == "NULL" ? text : table.places[name].map { table.columns[$0].stored(text) } ?? text
    }
    action =
      switch key.onDelete {
      case .cascade: .cascade
      // SQLite refuses a deletion that would empty a NOT NULL column.
      case .setNull: isNotNull ? .restrict : .setNull
      case .setDefault: isNotNull && replacements.contains("NULL") ? .restrict : .setDefault
      case .restrict, .noAction: .restrict
      }
  }
}
