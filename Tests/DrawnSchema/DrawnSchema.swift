import CipherSQL
import Foundation

/// A schema drawn by chance, in which tables refer to each other in every way that SQLite has, and rows for it.
package struct DrawnSchema {
  package struct Key {
    package let child: Int
    package let parent: Int
    /// The parent's columns: `id`, `uuid`, `code` or `site, unit`.
    package let columns: [String]
    package let action: String
  }

  package let seed: UInt64
  package let tableCount: Int
  package let keys: [Key]
  package private(set) var inserts: [String] = []
  package private(set) var rows: [[Int]] = []

  private static let uniqueColumns = [["id"], ["uuid"], ["code"], ["site", "unit"]]

  /// - Parameter random: draws everything; the same numbers draw the same schema.
  package init(seed: UInt64, _ random: some RandomNumberGenerator) {
    self.seed = seed
    var random = random
    tableCount = Int.random(in: 2...4, using: &random)
    var keys: [Key] = []
    for child in 0..<tableCount {
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        keys.append(
          Key(
            child: child, parent: Int.random(in: 0..<tableCount, using: &random),
            columns: Self.uniqueColumns.randomElement(using: &random) ?? ["id"],
            action: ["CASCADE", "CASCADE", "CASCADE", "SET NULL", "SET DEFAULT", "NO ACTION"]
              .randomElement(using: &random) ?? "CASCADE"))
      }
    }
    self.keys = keys
    rows = (0..<tableCount).map { _ in Array(1...Int.random(in: 2...6, using: &random)) }
    for (table, ids) in rows.enumerated() {
      for id in ids {
        var columns = ["id", "uuid", "code", "site", "unit"]
        var values = ["\(id)", "'\(uuid(table, id))'", "'c\(id)'", "\(id % 2)", "'u\(id)'"]
        for (number, key) in keys.enumerated() where key.child == table && Int.random(in: 0..<4, using: &random) > 0 {
          guard let target = rows[key.parent].randomElement(using: &random) else { continue }
          for column in key.columns {
            columns.append("f\(number)_\(column)")
            values.append(value(of: column, key.parent, target, isItself: key.parent == table && target == id))
          }
        }
        inserts.append(
          "INSERT INTO \(name(table)) (\(columns.joined(separator: ", "))) VALUES (\(values.joined(separator: ", ")))")
      }
    }
  }

  package func name(_ table: Int) -> String {
    ["\"Table key\"", "Child", "\"order\"", "T\"\"3"][table].replacing("T\"\"3", with: "\"T\"\"3\"")
  }
  package func type(_ table: Int) -> String { "Type\(table)" }
  package func uuid(_ table: Int, _ id: Int) -> String {
    "01900000-0000-7000-8000-\(String(format: "%06d%06d", table, id))"
  }

  /// A text differs in case from the one it refers to, except where SQLite itself compares a row with itself byte by byte.
  private func value(of column: String, _ table: Int, _ id: Int, isItself: Bool = false) -> String {
    switch column {
    case "id": "\(id)"
    case "uuid": "'\(uuid(table, id))'"
    case "code": isItself ? "'c\(id)'" : "'C\(id)'"
    case "site": "\(id % 2)"
    default: "'u\(id)'"
    }
  }

  private func own(_ table: Int) -> String {
    var lines = ["code TEXT UNIQUE COLLATE NOCASE", "site INTEGER", "unit TEXT"]
    for (number, key) in keys.enumerated() where key.child == table {
      for column in key.columns {
        let type = column == "id" || column == "site" ? "INTEGER" : "TEXT"
        let hasDefault = key.action == "SET DEFAULT" && number % 2 == 0
        let standard = hasDefault ? " DEFAULT \(value(of: column, key.parent, 1, isItself: true))" : ""
        lines.append("f\(number)_\(column) \(type)\(standard)")
      }
    }
    return lines.joined(separator: ",\n  ")
  }

  private func references(_ table: Int) -> String {
    var lines = ["UNIQUE (site, unit)"]
    for (number, key) in keys.enumerated() where key.child == table {
      let columns = key.columns.map { "f\(number)_\($0)" }.joined(separator: ", ")
      lines.append(
        "FOREIGN KEY (\(columns)) REFERENCES \(name(key.parent)) (\(key.columns.joined(separator: ", "))) ON DELETE \(key.action) DEFERRABLE INITIALLY DEFERRED"
      )
    }
    return lines.joined(separator: ",\n  ")
  }

  /// The tables as a schema file that registers them.
  package var schema: Schema {
    let tables = (0..<tableCount).map { table in
      """
      CREATE TABLE \(name(table)) (
        id INTEGER PRIMARY KEY,
        serverId INTEGER,
        uuid TEXT NOT NULL UNIQUE,
        \(own(table)),
        createdAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z',
        updatedAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z',
        lastSyncedAt TEXT,
        syncStatus TEXT NOT NULL DEFAULT 'pending',
        syncVersion INTEGER NOT NULL DEFAULT 0,
        isDirty INTEGER NOT NULL DEFAULT 1,
        isDeleted INTEGER NOT NULL DEFAULT 0,
        \(references(table))
      ) STRICT;
      INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('\(type(table))', \(quoted(table)), 'drawn');
      """
    }
    return Schema(
      name: "drawn", migrations: [MigrationFile(version: 1, name: "tables", sql: tables.joined(separator: "\n"))])
  }

  /// The same tables with the rows, so that every device and the server make them by themselves.
  package var schemaWithRows: Schema {
    let rows =
      inserts.map { $0 + ";" } + (0..<tableCount).map { "UPDATE \(name($0)) SET isDirty = 0, syncStatus = 'synced';" }
    return Schema(
      name: schema.name,
      migrations: [
        schema.migrations[0], MigrationFile(version: 2, name: "rows", sql: rows.joined(separator: "\n")),
      ])
  }

  private func quoted(_ table: Int) -> String { "'\(["Table key", "Child", "order", "T\"3"][table])'" }

  /// The same tables and rows without anything of FieldVault.
  package func plainCopy() throws -> Database {
    let plain = try Database.inMemory()
    try plain.write { db in
      for table in 0..<tableCount {
        try db.execute(
          SQL(
            raw:
              "CREATE TABLE \(name(table)) (id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, \(own(table)), \(references(table))) STRICT"
          ))
      }
      for sql in inserts { try db.execute(SQL(raw: sql)) }
    }
    return plain
  }

  /// The rows that are not deleted, with what they refer to.
  package func content(of database: Database, isPlain: Bool) throws -> [String] {
    try database.read { db in
      try (0..<tableCount).flatMap { table in
        let columns = keys.enumerated().filter { $1.child == table }.flatMap { number, key in
          key.columns.map { "ifnull(f\(number)_\($0), '-')" }
        }
        return try db.fetch(
          SQL(
            raw: """
              SELECT '\(type(table)) ' || id || ' ' || \(columns.joined(separator: " || ' ' || ")) FROM \(name(table))
              \(isPlain ? "" : "WHERE isDeleted = 0") ORDER BY id
              """), as: String.self)
      }
    }
  }
}
