import CipherSQL
import RecordStore
import SchemaModel

/// A read-only view of the records of an entity, with the name and the columns of its table in the schema, for reports in SQL.
package struct RecordView: Sendable {
  /// The type of the entity.
  package let entityType: String
  /// The name of the table.
  package let name: String
  /// The columns in the order of the table, without those that the server does not know.
  package let columns: [Column]

  /// A column of a view.
  package struct Column: Sendable {
    package let name: String
    package let source: Source
  }

  /// Where the value of a column comes from.
  package enum Source: Sendable {
    /// The server id, which stands for the local id.
    case serverId
    case uuid
    case createdAt, updatedAt
    /// The time of the last change on the server.
    case storedAt
    case isDeleted
    case version
    case syncStatus
    /// Whether the record has changes that were not sent: never on the server.
    case isDirty
    case userEditedFields
    /// A field.
    case field(Catalog.ColumnType)
    /// The server id of the record whose UUID is in the field.
    case referencedId(entityType: String)
    /// A field of the record whose UUID is in the field.
    case referencedField(entityType: String, name: String, Catalog.ColumnType)
  }

  fileprivate init(_ table: RecordTable, in map: EntityMap) {
    (entityType, name) = (table.entity.type, table.entity.table.name)
    columns = table.entity.table.columns.compactMap { column in
      Self.source(of: column, table, map).map { Column(name: column.name, source: $0) }
    }
  }

  private static func source(of column: Catalog.Column, _ table: RecordTable, _ map: EntityMap) -> Source? {
    switch column.name {
    case table.entity.key, "serverId": return .serverId
    case "uuid": return .uuid
    case "createdAt": return .createdAt
    case "updatedAt": return .updatedAt
    case "lastSyncedAt": return .storedAt
    case "isDeleted": return .isDeleted
    case "syncVersion": return .version
    case "syncStatus": return .syncStatus
    case "isDirty": return .isDirty
    case Entity.userEditsColumn: return .userEditedFields
    default: break
    }
    guard let place = table.places[column.name] else { return nil }
    guard let reference = table.columns[place].reference, reference.key != "uuid" else { return .field(column.type) }
    let isId = table.keys.contains { $0.columns == [column.name] && $0.parent.key == reference.key }
    if isId { return .referencedId(entityType: reference.entityType) }
    let type = map.tables[reference.entityType]?.entity.table.column(reference.key)?.type ?? .any
    return .referencedField(entityType: reference.entityType, name: reference.key, type)
  }
}

extension EntityMap {
  /// The views of all entities, by the name of the entity.
  package var views: [RecordView] {
    tables.sorted { $0.key < $1.key }.map { RecordView($0.value, in: self) }
  }
}
