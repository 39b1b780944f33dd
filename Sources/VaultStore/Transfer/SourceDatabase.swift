import CipherSQL

/// The program that writes a database, as its tables show.
public enum SourceKind: String, Sendable {
  /// A store of Core Data or SwiftData.
  case coreData
  /// A database of GRDB.
  case grdb
  /// Any other database of SQLite.
  case sqlite
}

/// A table of a database that is imported, or the rows of one entity of a Core Data store.
struct SourceTable: Sendable {
  /// A column with its declared type.
  struct Column: Sendable {
    let name: String
    let declaredType: String
  }

  /// A reference of one column; `column` is `nil` for the primary key of the table.
  struct Reference: Sendable {
    let from: String
    let table: String
    let column: String?
  }

  /// The name of the table, or of the entity in Core Data.
  let name: String
  /// The table in the file.
  let storage: String
  /// The number of the entity whose rows the table has beside others; `nil` for all rows.
  let entityNumber: Int64?
  let columns: [Column]
  /// The columns that identify a row: the primary key, or the rowid.
  let key: [String]
  let references: [Reference]

  /// Returns the condition for the rows, with WHERE; empty for all rows.
  func condition(_ alias: String) -> String {
    entityNumber.map { " WHERE \(alias).Z_ENT = \($0)" } ?? ""
  }
}

/// The tables of a database file of another program.
struct SourceDatabase {
  let kind: SourceKind
  let tables: [SourceTable]
  /// The UUID of a Core Data store.
  let storeUUID: String?

  /// Reads the tables. Views, virtual tables and internal tables of the program are left out.
  init(_ connection: Connection) throws {
    let names = try connection.fetch(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
      as: String.self)
    let virtual = try connection.fetch(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND coalesce(rootpage, 0) = 0", as: String.self)
    let tables = try names.filter { name in !virtual.contains { Self.isShadow(name, of: $0) } }
      .map { try Self.table($0, connection) }
    let numbers = tables.first { $0.storage == "Z_PRIMARYKEY" }
    if let numbers, tables.contains(where: { $0.storage == "Z_METADATA" }),
      numbers.columns.contains(where: { $0.name == "Z_SUPER" })
    {
      kind = .coreData
      storeUUID = try connection.fetchOne("SELECT CAST(Z_UUID AS TEXT) FROM Z_METADATA", as: String?.self) ?? nil
      self.tables = try Self.coreDataTables(tables, connection)
    } else {
      kind = tables.contains { $0.storage == "grdb_migrations" } ? .grdb : .sqlite
      storeUUID = nil
      let internalNames = ["grdb_migrations", "android_metadata", "room_master_table"]
      self.tables = tables.filter { !internalNames.contains($0.storage) }
    }
  }

  /// Returns whether a table stores the content of a virtual table, as those of FTS5 do.
  private static func isShadow(_ name: String, of virtual: String) -> Bool {
    name.utf8.starts(with: (virtual + "_").utf8)
  }

  private static func table(_ name: String, _ connection: Connection) throws -> SourceTable {
    let rows = try connection.fetchRows(
      "SELECT name, coalesce(type, ''), pk FROM pragma_table_xinfo(\(name)) ORDER BY cid", as: String.self,
      String.self, Int.self)
    let references = try connection.fetchRows(
      """
      SELECT min("from"), min("table"), min("to") FROM pragma_foreign_key_list(\(name)) GROUP BY id HAVING count(*) = 1
      """, as: String.self, String.self, String?.self)
    var key = rows.filter { $0.2 > 0 }.sorted { $0.2 < $1.2 }.map(\.0)
    if key.isEmpty {
      let aliases = ["rowid", "_rowid_", "oid"].filter { alias in
        !rows.contains { SourceName.key($0.0) == SourceName.key(alias) }
      }
      key = Array(aliases.prefix(1))
    }
    return SourceTable(
      name: name, storage: name, entityNumber: nil,
      columns: rows.map { SourceTable.Column(name: $0.0, declaredType: $0.1) }, key: key,
      references: references.map { SourceTable.Reference(from: $0.0, table: $0.1, column: $0.2) })
  }

  // MARK: Core Data

  /// Returns a table for each entity of the store. The rows of an entity are in the table of its topmost ancestor.
  private static func coreDataTables(_ tables: [SourceTable], _ connection: Connection) throws -> [SourceTable] {
    let entities = try connection.fetchRows(
      "SELECT CAST(Z_ENT AS INTEGER), CAST(Z_NAME AS TEXT), CAST(coalesce(Z_SUPER, 0) AS INTEGER) FROM Z_PRIMARYKEY "
        + "WHERE Z_ENT IS NOT NULL AND Z_NAME IS NOT NULL ORDER BY Z_ENT",
      as: Int64.self, String.self, Int64.self)
    return entities.compactMap { number, name, parent in
      var (root, above) = (name, parent)
      // A chain longer than the number of entities is a cycle.
      for _ in entities {
        guard let next = entities.first(where: { $0.0 == above }) else { break }
        (root, above) = (next.1, next.2)
      }
      guard let storage = tables.first(where: { SourceName.key($0.storage) == SourceName.key("Z" + root) }) else {
        return nil
      }
      let columns = storage.columns.filter { !isInternal($0.name) }
      return SourceTable(
        name: name, storage: storage.storage,
        entityNumber: storage.columns.contains { $0.name == "Z_ENT" } ? number : nil, columns: columns,
        key: ["Z_PK"], references: [])
    }
  }

  /// Returns whether Core Data maintains a column itself, such as `Z_PK`, `Z_OPT` or `Z4_PARENT`.
  private static func isInternal(_ column: String) -> Bool {
    let bytes = Array(column.utf8)
    guard bytes.first == UInt8(ascii: "Z") else { return true }
    return bytes.dropFirst().drop { (0x30...0x39).contains($0) }.first == UInt8(ascii: "_")
  }
}

/// The comparison of names of a database with names of a schema.
enum SourceName {
  /// Returns the bytes of a name by which `OfflineRoom`, `offline_room` and `offlineroom` are equal.
  static func key(_ name: String) -> [UInt8] {
    name.utf8.filter { !" _-".utf8.contains($0) }.map { (0x41...0x5a).contains($0) ? $0 + 32 : $0 }
  }

  /// Returns the plural forms of a key.
  static func plurals(of key: [UInt8]) -> [[UInt8]] {
    var forms = [key + Array("s".utf8), key + Array("es".utf8)]
    if key.last == UInt8(ascii: "y") { forms.append(key.dropLast() + Array("ies".utf8)) }
    return forms
  }

  /// Returns whether two names have the same bytes. Swift's `==` also joins different forms of one character, which
  /// are different names for SQLite.
  static func isSame(_ one: String, _ other: String) -> Bool { one.utf8.elementsEqual(other.utf8) }
}
