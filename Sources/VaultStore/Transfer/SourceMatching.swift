import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// A table of a database, the entity of its records, and the columns of the fields.
struct SourceMatch {
  struct Field {
    let column: SharedColumn
    let source: String
  }

  let entity: Entity
  let table: SourceTable
  let records: TransferTable
  /// In the order of the members of a record.
  let fields: [Field]
  let constants: [SyncObject.Member]
  /// The column with the UUIDs; `nil` if they are derived from the key.
  let uuidColumn: String?
  /// The column that marks deleted rows.
  let deletedColumn: String?
  let ignoredColumns: [String]
}

/// Finds the tables of a database for entities, and their columns for fields, by name.
struct SourceMatching {
  let source: SourceDatabase
  /// The name of the file in messages.
  let file: String
  let entities: Entities
  let options: DatabaseImportOptions
  /// A connection to the vault, to find the records that constants reference.
  let connection: Connection

  /// Returns the matches of all tables. Without a chosen entity, two tables for one entity are refused.
  /// - Throws: ``VaultError`` with `noSuchEntity` for an unknown entity or table, `noSuchField` for an unknown field or column,
  ///   `refused` for a table or an entity with several matches, `badValue` for a constant.
  func matches() throws -> [SourceMatch] {
    for name in options.tables.map(\.entity) + options.mapping.map(\.entity) + options.constants.map(\.entity) {
      _ = try entities.entity(name)
    }
    let chosen = try options.entityType.map { try entities.entity($0).type }
    var matches: [SourceMatch] = []
    for entity in entities.all where entity.table.column("uuid") != nil || entity.type == chosen {
      let candidates = try tables(of: entity)
      guard candidates.count < 2 else {
        // The tables of other entities serve to find references only.
        if let chosen, chosen != entity.type { continue }
        throw VaultError(
          .refused,
          "the tables \(candidates.map(\.name).joined(separator: " and ")) of \(file) both match \(entity.type)",
          remedy: .chooseTable(entity: entity.type, tables: candidates.map(\.name)))
      }
      guard let table = candidates.first else { continue }
      if let other = matches.first(where: { $0.table.name.utf8.elementsEqual(table.name.utf8) }) {
        throw VaultError(
          .refused, "the table \(table.name) of \(file) matches both \(other.entity.type) and \(entity.type)",
          remedy: .chooseTable(entity: entity.type, tables: source.tables.map(\.name)))
      }
      matches.append(try match(entity, table))
    }
    let names = source.tables.map(\.name)
    if let chosen, !matches.contains(where: { $0.entity.type == chosen }) {
      throw VaultError(
        .noSuchEntity, "no table of \(file) matches \(chosen)", remedy: .chooseTable(entity: chosen, tables: names))
    }
    guard !matches.isEmpty else {
      throw VaultError(
        .noSuchEntity,
        names.isEmpty ? "\(file) has no table" : "no table of \(file) matches an entity of this vault",
        remedy: names.isEmpty ? nil : .chooseTable(entity: entities.all.first?.type ?? "ENTITY", tables: names))
    }
    return matches
  }

  // MARK: Tables

  private func tables(of entity: Entity) throws(VaultError) -> [SourceTable] {
    let types = [entity.type, entity.table.name]
    if let given = options.tables.last(where: { types.contains($0.entity) }) { return [try table(named: given.table)] }
    // A table that is given for one entity is no candidate for another.
    var open = source.tables
    for given in options.tables {
      let name = try table(named: given.table).name
      open.removeAll { SourceName.isSame($0.name, name) }
    }
    let keys = types.map(SourceName.key)
    let forms = keys + keys.flatMap(SourceName.plurals)
    let ranks: [(SourceTable) -> Bool] = [
      { table in types.contains { SourceName.isSame($0, table.name) } },
      { keys.contains(SourceName.key($0.name)) },
      { forms.contains(SourceName.key($0.name)) },
    ]
    return ranks.lazy.map { open.filter($0) }.first { !$0.isEmpty } ?? []
  }

  private func table(named name: String) throws(VaultError) -> SourceTable {
    if let table = source.tables.first(where: { SourceName.isSame($0.name, name) }) { return table }
    let near = source.tables.filter {
      SourceName.key($0.name) == SourceName.key(name) || SourceName.key($0.storage) == SourceName.key(name)
    }
    guard near.count == 1, let table = near.first else {
      let names = source.tables.map(\.name)
      throw VaultError(
        .noSuchEntity, "\(file) has no table '\(name)'", hint: "its tables are \(names.joined(separator: ", "))",
        name: name, candidates: names)
    }
    return table
  }

  // MARK: Columns

  private func match(_ entity: Entity, _ table: SourceTable) throws -> SourceMatch {
    let records = try TransferTable(entity, in: entities)
    let constants = try options.constants.filter { [entity.type, entity.table.name].contains($0.entity) }
      .map { try constant($0.field, $0.value, records) }
    var sources: [(field: String, column: String)] = []
    for (owner, field, column) in options.mapping where [entity.type, entity.table.name].contains(owner) {
      try checkField(field, of: records)
      guard !sources.contains(where: { $0.field == field }), !constants.contains(where: { $0.name == field }) else {
        throw VaultError(.refused, "\(entity.type).\(field) would be set twice", hint: "map the field once")
      }
      sources.append((field, try self.column(named: column, of: table)))
    }
    for field in records.columns.map(\.name) + ["uuid"] {
      guard !sources.contains(where: { $0.field == field }), !constants.contains(where: { $0.name == field }),
        let column = column(for: field, records, table, besides: sources.map(\.column))
      else { continue }
      sources.append((field, column))
    }
    let deleted = entity.marksDeletion ? table.columns.first { key(of: $0) == Array("isdeleted".utf8) }?.name : nil
    let used = sources.map(\.column) + table.key + (deleted.map { [$0] } ?? [])
    return SourceMatch(
      entity: entity, table: table, records: records,
      fields: records.columns.compactMap { column in
        sources.first { $0.field == column.name }.map { SourceMatch.Field(column: column, source: $0.column) }
      },
      constants: constants, uuidColumn: sources.first { $0.field == "uuid" }?.column, deletedColumn: deleted,
      ignoredColumns: table.columns.map(\.name).filter { name in !used.contains { SourceName.isSame($0, name) } })
  }

  private func checkField(_ field: String, of records: TransferTable) throws(VaultError) {
    guard field != "uuid", !records.columns.contains(where: { $0.name == field }) else { return }
    _ = try records.entity.settableColumn(field)
    throw VaultError(.refused, "\(records.entity.type).\(field) cannot be imported", hint: "omit the field")
  }

  private func column(named name: String, of table: SourceTable) throws(VaultError) -> String {
    let names = table.columns.map(\.name) + table.key
    if let column = names.first(where: { SourceName.isSame($0, name) }) { return column }
    let near = table.columns.filter { key(of: $0) == SourceName.key(name) }
    guard near.count == 1, let column = near.first else {
      throw VaultError(
        .noSuchField, "the table \(table.name) has no column '\(name)'",
        hint: "its columns are \(table.columns.map(\.name).joined(separator: ", "))", name: name, candidates: names)
    }
    return column.name
  }

  /// Returns the column whose name fits a field best.
  private func column(
    for field: String, _ records: TransferTable, _ table: SourceTable, besides taken: [String]
  ) -> String? {
    let name = SourceName.key(field)
    let reference = records.columns.first { $0.name == field }?.reference
    let ranks: [(SourceTable.Column) -> Bool] = [
      { SourceName.isSame($0.name, field) },
      { key(of: $0) == name },
      // `ZROOM` and `room` name the record that `roomId` references.
      { reference != nil && name.suffix(2) == Array("id".utf8) && key(of: $0) == Array(name.dropLast(2)) },
      // SwiftData and Core Data name their UUIDs `id` by convention.
      {
        field == "uuid" && source.kind == .coreData && key(of: $0) == Array("id".utf8)
          && $0.declaredType.uppercased() == "BLOB"
      },
    ]
    let open = table.columns.filter { column in !taken.contains { SourceName.isSame($0, column.name) } }
    return ranks.lazy.compactMap { open.first(where: $0)?.name }.first
  }

  /// Returns the comparable form of a column's name. Core Data puts a Z in front of each.
  private func key(of column: SourceTable.Column) -> [UInt8] {
    let key = SourceName.key(column.name)
    return source.kind == .coreData ? Array(key.dropFirst()) : key
  }

  // MARK: Constants

  private func constant(_ field: String, _ text: String, _ records: TransferTable) throws -> SyncObject.Member {
    try checkField(field, of: records)
    let type = records.entity.type
    guard let column = records.columns.first(where: { $0.name == field }) else {
      throw VaultError(.refused, "\(type).uuid cannot be equal in each record", hint: "omit the field")
    }
    do {
      guard let reference = column.reference, let key = records.entity.reference(of: field) else {
        let value = try FieldInput.text(text).argument(for: column.column)
        return SyncObject.Member(name: field, value: try column.value(of: value))
      }
      let value = try References(connection: connection, entities: entities).resolve(
        .text(text), column.column, key)
      let uuid = try connection.fetchOne(
        "SELECT uuid FROM \(identifier: reference.table) WHERE \(identifier: reference.key) = \(value)",
        as: String.self)
      guard let uuid else { throw FieldProblem(message: "does not match any \(reference.entityType)") }
      return SyncObject.Member(name: field, value: .text(uuid))
    } catch let problem as FieldProblem {
      throw VaultError(.badValue, "\(type).\(field) \(problem.message)", name: field)
    }
  }
}
