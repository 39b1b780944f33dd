import CipherSQL

/// A type of record: its name, its table, and its properties in the schema. Entities are read from the database
/// when a vault opens, so that a program works with schemas for which it was not compiled.
public struct Entity: Sendable, Hashable {
  /// The entity type, such as `AtmosphericLog`.
  public let type: String
  /// The table, such as `OfflineAtmosphericLog`.
  public let table: Catalog.Table
  /// The device-only columns.
  public let localColumns: Set<String>
  /// The full-text table, if the schema has one.
  public let searchTable: String?
  /// The sync behaviour; `nil` for an entity that is not synced.
  public let sync: SyncBehaviour?

  /// The columns that FieldVault maintains. Users cannot set them.
  public static let keptColumns: Set<String> = [
    "serverId", "lastSyncedAt", "syncStatus", "syncVersion", "isDirty", "isDeleted", "createdAt", "updatedAt",
  ]

  /// The column of the local id.
  public var key: String {
    table.columns.first { $0.isRowID }?.name ?? table.columns.first { $0.primaryKeyPosition > 0 }?.name ?? "rowid"
  }

  /// Whether the table has an `isDeleted` column.
  public var marksDeletion: Bool { table.columns.contains { $0.name == "isDeleted" } }

  /// The fields that users can set, in table order.
  public var fields: [String] { table.columns.map(\.name).filter { !isKept($0) } }

  /// Whether the table has the common fields.
  package var hasCommonFields: Bool {
    Set(table.columns.map(\.name)).isSuperset(of: Self.keptColumns.union(["uuid"]))
  }

  /// Whether writes of a user are sent to the server.
  package var isSynced: Bool { sync != nil && hasCommonFields }

  /// The column that lists the fields that a user has edited, in tables that have it.
  package static let userEditsColumn = "userEditedFields"

  package func isKept(_ column: String) -> Bool { column == key || Self.keptColumns.contains(column) }

  /// Returns the column of a field.
  /// - Throws: ``VaultError`` with `noSuchField` and the existing fields as candidates.
  public func column(_ name: String) throws(VaultError) -> Catalog.Column {
    guard let column = table.columns.first(where: { $0.name == name }) else { throw unknownField(name) }
    return column
  }

  /// Returns the error for a name that is not a field.
  package func unknownField(_ name: String) -> VaultError {
    VaultError(
      .noSuchField, "\(type) has no field '\(name)'", hint: "its fields are \(fields.joined(separator: ", "))",
      name: name, candidates: table.columns.map(\.name))
  }

  /// Returns the column of a field that users can set.
  /// - Throws: ``VaultError`` with `noSuchField`, or with `refused` for a column that FieldVault maintains.
  package func settableColumn(_ name: String) throws(VaultError) -> Catalog.Column {
    let column = try column(name)
    guard !isKept(name) else {
      throw VaultError(.refused, "\(type).\(name) is maintained by FieldVault itself", hint: "omit the field")
    }
    return column
  }

  /// Returns the COLLATE clause for comparing values of a column byte by byte; empty if the column compares so itself.
  package func binary(_ column: String) -> String {
    let collation = table.column(column)?.collation ?? "BINARY"
    return collation.uppercased() == "BINARY" ? "" : " COLLATE BINARY"
  }

  /// Returns the condition of a trigger that an UPDATE changes a column, also if only its case changes.
  package func isChanged(_ column: String) -> String {
    "NEW.\(SQL.quoted(column))\(binary(column)) IS NOT OLD.\(SQL.quoted(column))"
  }

  /// Returns the foreign key that consists of this column alone, or `nil`.
  package func reference(of column: String) -> Catalog.ForeignKey? {
    table.foreignKeys.first { $0.columns.count == 1 && $0.columns[0].from == column }
  }
}
