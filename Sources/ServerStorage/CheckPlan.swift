import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// The statements that check a version of a record of one entity, and read the version that the table has stored.
final class CheckPlan: Sendable {
  let table: RecordTable
  /// The UNIQUE constraints and indexes, except those of the UUID and of columns that the server does not know.
  let uniqueKeys: [UniqueKeyPlan]
  /// The foreign keys to synced entities, as far as the server knows their columns.
  let references: [Reference]
  /// The tables that are not synced and whose rows, which the schemas create, the entity references.
  let unsyncedParents: [String]
  /// The shared columns in the order of `SyncObject`.
  var columns: [SharedColumn] { table.orderedColumns }
  private let emptyMembers: [SyncObject.Member]
  /// The names of the shared columns.
  let memberNames: MemberNames
  /// A SELECT of the columns, the conditions and terms of the unique keys, and the values of references, by the local id.
  let selection: String
  /// An INSERT with all shared columns, and their names.
  let names: [String]
  let insertion: String

  /// A UNIQUE constraint or unique index.
  final class UniqueKeyPlan: Sendable {
    /// The name in ``RecordKeys/unique``: its terms and its condition.
    let name: String
    /// The columns of its terms, for messages.
    let columns: [String]
    let collations: [String]
    /// Whether only rows that meet a condition are unique.
    let isPartial: Bool
    /// Whether it uses shared columns only. A deleted record keeps the values of another key.
    let isWhole: Bool

    fileprivate init(_ index: Catalog.UniqueIndex, _ names: [String], in table: RecordTable) {
      (name, columns, collations) = (index.keyName, names, index.terms.map(\.collation))
      isPartial = index.condition != nil
      isWhole = names.allSatisfy { table.places[$0] != nil }
    }
  }

  /// A foreign key to a synced entity.
  final class Reference: Sendable {
    /// The name in ``RecordKeys/references``: its columns.
    let name: String
    let dependency: Dependency
    /// The unique key of the parent that the key references; `nil` for its local id or its UUID.
    let targetKey: String?
    /// The collations of the parent's unique key, and the places of its terms among the columns of the key.
    let collations: [String]
    let order: [Int]

    let columns: [String]
    /// Whether the reference travels as the UUID of the record.
    var isByUUID: Bool { columns.count == 1 }

    /// - Returns: `nil` for a key to columns that are not unique, which SQLite cannot enforce.
    fileprivate init?(_ dependency: Dependency) {
      self.dependency = dependency
      columns = dependency.columns
      name = columns.joined(separator: ",")
      let targets = dependency.key.columns.map(\.to)
      let parent = dependency.parent
      if targets == [parent.key] || targets == ["uuid"] {
        (targetKey, collations, order) = (nil, [], [])
        return
      }
      let index = parent.table.uniqueIndexes.first { index in
        index.condition == nil && Set(index.terms.map(\.column)) == Set(targets)
          && index.terms.count == targets.count
          && index.terms.allSatisfy { term in
            term.column.map { parent.table.column($0)?.collation == term.collation } == true
          }
      }
      guard let index else { return nil }
      targetKey = index.keyName
      collations = index.terms.map(\.collation)
      order = index.terms.compactMap { term in targets.firstIndex { $0 == term.column } }
    }
  }

  init(_ table: RecordTable, in entities: Entities) {
    self.table = table
    memberNames = MemberNames(table.orderedColumns.map(\.name))
    emptyMembers = table.orderedColumns.map { SyncObject.Member(name: $0.name, value: .null) }
    let entity = table.entity
    let indexes = entity.table.uniqueIndexes.compactMap { index -> (Catalog.UniqueIndex, UniqueKeyPlan)? in
      let names = index.termColumns
      guard names.contains(where: { table.places[$0] != nil || entity.table.column($0)?.isGenerated == true }) else {
        return nil
      }
      return (index, UniqueKeyPlan(index, names, in: table))
    }
    uniqueKeys = indexes.map(\.1)
    let references = table.keys.compactMap { dependency -> Reference? in
      guard dependency.columns.allSatisfy({ table.places[$0] != nil }) else { return nil }
      return Reference(dependency)
    }
    self.references = references
    unsyncedParents = entity.table.foreignKeys.map(\.table).filter { entities.entity(ofTable: $0)?.sync == nil }
    var parts = table.orderedColumns.map { SQL.quoted($0.name) }
    for (index, _) in indexes {
      if let condition = index.condition { parts.append("((\(condition)\n) IS TRUE)") }
      parts += index.terms.map { "(\($0.expression)\n)" }
    }
    for reference in references where !reference.isByUUID { parts += reference.values }
    let name = SQL.quoted(entity.table.name)
    selection = "SELECT \(parts.joined(separator: ", ")) FROM \(name) WHERE \(SQL.quoted(entity.key)) = ?"
    names = table.orderedColumns.map(\.name)
    insertion = Self.insertion(of: names, table)
  }

  /// The columns that each insertion sets before the fields.
  static func common(_ table: RecordTable) -> [String] {
    [
      table.entity.key, "serverId", "syncVersion", "isDirty", "syncStatus", "isDeleted", "updatedAt", "createdAt",
      "lastSyncedAt",
    ]
      + (table.keepsUserEdits ? [Entity.userEditsColumn] : [])
  }

  static func insertion(of names: [String], _ table: RecordTable) -> String {
    RecordTable.insertion(of: common(table) + names, into: table.entity)
  }

  /// Returns fields with NULL for each absent column, and without other fields.
  func completed(_ fields: SyncObject) -> SyncObject {
    if fields.count == columns.count { return fields }
    // Both have the order of `SyncObject`.
    var known = fields.members[...]
    var members: [SyncObject.Member] = []
    members.reserveCapacity(columns.count)
    for empty in emptyMembers {
      members.append(known.first?.name == empty.name ? known.removeFirst() : empty)
    }
    if known.isEmpty { return SyncObject(ordered: members) }
    return SyncObject(
      ordered: emptyMembers.map { SyncObject.Member(name: $0.name, value: fields[$0.name] ?? .null) })
  }
}

extension CheckPlan.Reference {
  /// SQL for the referencing values in the order of the parent's key, as its columns would store them.
  fileprivate var values: [String] {
    order.map { place in
      let pair = dependency.key.columns[place]
      let value = SQL.quoted(pair.from)
      guard let own = dependency.child.table.column(pair.from), let target = dependency.parent.table.column(pair.to),
        own.declaredType.uppercased() != target.declaredType.uppercased()
      else { return value }
      return SharedColumn(column: target, isStrict: false, reference: nil).stored(value)
    }
  }

  /// Returns the text of referencing values, in the order of the parent's key; `nil` if one is NULL.
  func text(of values: [SQLArgument]) -> String? { KeyText.of(values, collations: collations) }

  /// Returns the text of values in the order of the reference's columns.
  func text(ofColumns values: [SQLArgument]) -> String? { text(of: order.map { values[$0] }) }
}
