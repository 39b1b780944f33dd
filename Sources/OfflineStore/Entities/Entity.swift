import CipherSQL

/// A kind of record: its name, its table, and what the schema says of it. Read from the database when a vault is
/// opened, so that a program works with any schema without having been compiled for it.
public struct Entity: Sendable, Hashable {
  /// The entity type, such as `AtmosphericLog`.
  public let type: String
  /// Its table, such as `OfflineAtmosphericLog`.
  public let table: Catalog.Table
  /// Columns that stay on this device.
  public let localColumns: Set<String>
  /// Its full-text table, where the schema has one.
  public let searchTable: String?
  /// How it is synced; nil for a kind of record that stays on this device.
  public let sync: SyncBehaviour?

  /// The columns that FieldVault keeps itself, and that a person therefore does not set.
  public static let keptColumns: Set<String> = [
    "serverId", "lastSyncedAt", "syncStatus", "syncVersion", "isDirty", "isDeleted", "createdAt", "updatedAt",
  ]

  /// The column that holds the local id.
  public var key: String {
    table.columns.first { $0.isRowID }?.name ?? table.columns.first { $0.primaryKeyPosition > 0 }?.name ?? "rowid"
  }

  /// True when the table marks deleted rows.
  public var marksDeletion: Bool { table.columns.contains { $0.name == "isDeleted" } }

  /// Fields that a person sets, in the order of the table.
  public var fields: [String] { table.columns.map(\.name).filter { !isKept($0) } }

  func isKept(_ column: String) -> Bool { column == key || Self.keptColumns.contains(column) }

  /// The column of a field.
  /// - Throws: ``VaultError`` with `noSuchField`, with the fields there are as candidates.
  public func column(_ name: String) throws(VaultError) -> Catalog.Column {
    guard let column = table.columns.first(where: { $0.name == name }) else {
      throw VaultError(
        .noSuchField, "\(type) has no field '\(name)'", hint: "its fields are \(fields.joined(separator: ", "))",
        name: name, candidates: table.columns.map(\.name))
    }
    return column
  }

  /// The column of a field that a person may set.
  /// - Throws: ``VaultError`` with `noSuchField`; with `refused` for a column that FieldVault keeps itself.
  func settableColumn(_ name: String) throws(VaultError) -> Catalog.Column {
    let column = try column(name)
    guard !isKept(name) else {
      throw VaultError(.refused, "\(type).\(name) is kept by FieldVault itself", hint: "leave the field out")
    }
    return column
  }

  /// The reference that a column is, if it is one by itself.
  func reference(of column: String) -> Catalog.ForeignKey? {
    table.foreignKeys.first { $0.columns.count == 1 && $0.columns[0].from == column }
  }
}
