import CipherSQL

/// A table of a generated schema. The SQL and the kind of record come from this one value.
struct GeneratedTable {
  /// A foreign key.
  struct Reference {
    let columns: [GeneratedColumn]
    let entity: String
    /// The name of the referenced table as the constraint writes it.
    let table: String
    /// The referenced columns; `nil` for the primary key, which may be left unnamed.
    let targets: [String]?
    /// The columns that the constraint names; `nil` for an unnamed primary key.
    let named: [String]?
    let isOptional: Bool
    /// The actions and the time of the check.
    let actions: String
    let isIndexed: Bool

    var isInline: Bool { columns.count == 1 }

    /// The end of the constraint, from REFERENCES on.
    var clause: String {
      let list = named.map { " (\($0.map(SchemaNames.sql).joined(separator: ", ")))" } ?? ""
      return "REFERENCES \(SchemaNames.sql(table))\(list)\(actions.isEmpty ? "" : " " + actions)"
    }
  }

  let entity: String
  let name: String
  let key: String
  let marker: GeneratedColumn
  let isStrict: Bool
  let policy: String
  let priority: Int
  let keyDefinition: String
  let serverIdType: String
  let commonFieldsFirst: Bool
  var columns: [GeneratedColumn] = []
  var references: [Reference] = []
  /// Constraints at the end of the table.
  var constraints: [String] = []
  /// Statements after the table: indexes, views, full-text tables.
  var statements: [String] = []
  var swapped: [[String]] = []
  var weight = 10

  var hasUserEdits: Bool { columns.contains { $0.ownership == "user_edited" } }

  /// The columns of the table that are referenced or unique and get their values when a record is created.
  private var required: [Kind.Required] {
    columns.compactMap { column in column.required.map { Kind.Required(column: column.name, value: $0) } }
  }

  /// The kind of record that users write.
  var kind: Kind {
    Kind(
      entity: entity, table: name, key: key, marker: marker.name,
      others: columns.filter { !$0.values.isEmpty && $0.required == nil || isRewritten($0) }.map {
        ($0.name, $0.values)
      },
      references: references.map { reference in
        Kind.Reference(
          reference.columns.map(\.name), reference.entity, isOptional: reference.isOptional, targets: reference.targets)
      }, weight: weight, required: required, swapped: swapped,
      renewed: columns.filter(\.isRenewed).compactMap { column in
        column.required.map { Kind.Required(column: column.name, value: $0) }
      })
  }

  /// Whether users change a required column to other values of its list.
  private func isRewritten(_ column: GeneratedColumn) -> Bool { column.required != nil && !column.values.isEmpty }

  /// The statements that create the table with its indexes.
  var sql: String {
    var lines = ["\(SchemaNames.sql(key)) \(keyDefinition)"]
    let own =
      [marker.sql] + columns.map(\.sql)
      + references.flatMap { reference in
        reference.columns.map { $0.sql + (reference.isInline ? " " + reference.clause : "") }
      }
    lines += commonFieldsFirst ? Self.commonFields(serverIdType) + own : own + Self.commonFields(serverIdType)
    if hasUserEdits {
      lines.append("userEditedFields TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(userEditedFields))")
    }
    lines += constraints
    for reference in references where !reference.isInline {
      let names = reference.columns.map { SchemaNames.sql($0.name) }.joined(separator: ", ")
      lines.append("FOREIGN KEY (\(names)) \(reference.clause)")
    }
    var text =
      "CREATE TABLE \(SchemaNames.sql(name)) (\n  \(lines.joined(separator: ",\n  "))\n)\(isStrict ? " STRICT" : "");\n"
    for (number, reference) in references.enumerated() where reference.isIndexed {
      let names = reference.columns.map { SchemaNames.sql($0.name) }.joined(separator: ", ")
      text += "CREATE INDEX \(SQL.quoted("\(name)_\(number)")) ON \(SchemaNames.sql(name)) (\(names));\n"
    }
    return text + statements.map { $0 + ";\n" }.joined()
  }

  /// The rows of the registry.
  var registration: String {
    let type = GeneratedColumn.literal(entity)
    var text = """
      INSERT INTO SyncedEntity (entityType, tableName, schemaName, defaultPriority, conflictPolicy) VALUES
        (\(type), \(GeneratedColumn.literal(name)), '\(GeneratedSchema.schemaName)', \(priority), '\(policy)');

      """
    var rows = ([marker] + columns + references.flatMap(\.columns)).compactMap { $0.registryRow(of: entity) }
    if hasUserEdits { rows.append("(\(type), 'userEditedFields', NULL, 0, NULL, 0, 1)") }
    if !rows.isEmpty {
      text += """
        INSERT INTO SyncedColumn (entityType, columnName, ownership, isLocalOnly, computedAs, isAlwaysComputed, mergesAsSet) VALUES
          \(rows.joined(separator: ",\n  "));

        """
    }
    return text
  }

  static func commonFields(_ serverIdType: String) -> [String] {
    [
      serverIdType.isEmpty ? "serverId" : "serverId \(serverIdType)",
      """
      uuid TEXT NOT NULL UNIQUE
          CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid))
      """,
      """
      createdAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
          CHECK (createdAt IS strftime('%Y-%m-%dT%H:%M:%fZ', createdAt))
      """,
      """
      updatedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
          CHECK (updatedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', updatedAt))
      """,
      "lastSyncedAt TEXT CHECK (lastSyncedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', lastSyncedAt))",
      """
      syncStatus TEXT NOT NULL DEFAULT 'pending'
          CHECK (syncStatus = 'pending' OR syncStatus = 'syncing' OR syncStatus = 'synced' OR syncStatus = 'conflict'
            OR syncStatus = 'failed')
      """,
      "syncVersion INTEGER NOT NULL DEFAULT 0 CHECK (syncVersion >= 0)",
      "isDirty INTEGER NOT NULL DEFAULT 1 CHECK (isDirty IN (0, 1))",
      "isDeleted INTEGER NOT NULL DEFAULT 0 CHECK (isDeleted IN (0, 1))",
    ]
  }

  /// The names of the common fields, which other columns cannot have.
  static let commonNames = [
    "serverId", "uuid", "createdAt", "updatedAt", "lastSyncedAt", "syncStatus", "syncVersion", "isDirty", "isDeleted",
    "userEditedFields", "contentUuid", "contentKey", "contentDigest", "rowid", "oid", "_rowid_",
  ]
}
