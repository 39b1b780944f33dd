import CipherSQL
import Foundation
import TestSupport
import Testing

@testable import SyncEngine
@testable import VaultStore

/// Values of tables that are not STRICT: a column takes values of any type, and each value keeps its type.
@Suite struct LooseTypeTests {
  private static let types = [
    "TEXT", "VARCHAR(20)", "CLOB", "NUMERIC", "DECIMAL(10, 2)", "BOOLEAN", "DATE", "DATETIME", "DOUBLE PRECISION",
    "FLOAT", "REAL", "INT", "INTEGER", "BIGINT", "STRING", "BLOB", "", "UNSIGNED BIG INT",
  ]

  /// Neighbours differ also after the conversions of a column: 5 and 5.0 are one number.
  private static let values: [SQLArgument] = [
    .integer(5), .text("many"), .real(0.1 + 0.2), .blob([0xff, 0xfe, 0]), .integer(.max), .text("0123"), .real(2.5),
    .blob(Array("text".utf8)), .null, .text(""), .integer(-9_007_199_254_740_993), .text("a\u{0}b"), .real(1e300),
    .blob([]), .text("{\"base64\":\"AA==\"}"), .real(5), .text("7"), .real(-1e-7), .text("2.50"), .integer(.min),
    .real(.leastNonzeroMagnitude), .text("\u{e9}"), .blob(Array(repeating: 7, count: 3000)), .text("e\u{301}"),
    .real(9007199254740993),
    .text("null"), .blob([0x7b, 0x7d]), .text("0.30000000000000004"), .integer(0),
  ]

  private static func schema(_ columns: [String], _ statements: String = "") -> Schema {
    let sql = """
      CREATE TABLE OfflineThing (
        thingId INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE, \(columns.joined(separator: ", ")),
        createdAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
        updatedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')), lastSyncedAt TEXT,
        syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
        isDirty INTEGER NOT NULL DEFAULT 1, isDeleted INTEGER NOT NULL DEFAULT 0
      );
      INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('Thing', 'OfflineThing', 'loose');
      \(statements)
      """
    return Schema(name: "loose", migrations: [MigrationFile(version: 1, name: "things", sql: sql)])
  }

  private static func uuid(_ number: Int) -> String { String(format: "00000000-0000-7000-8000-%012d", number) }

  /// Returns the type and all bytes of each value.
  private static func content(of device: Device) async throws -> [String] {
    let parts = types.indices.map { number in
      """
      'c\(number) ' || typeof(c\(number)) || ' ' || CASE typeof(c\(number)) WHEN 'integer' THEN c\(number)
        WHEN 'real' THEN printf('%!.17g', c\(number)) ELSE substr(hex(c\(number)), 1, 80) END
      """
    }
    return try await device.values(
      SQL(
        raw:
          "SELECT thingId || ': ' || concat_parts FROM (SELECT uuid AS thingId, \(parts.joined(separator: " || ', ' || ")) "
          + "AS concat_parts FROM OfflineThing) ORDER BY 1"))
  }

  @Test("A value of any type in a column of any type has the same type and value on another device")
  func anyValue() async throws {
    let schema = Self.schema(Self.types.enumerated().map { "c\($0) \($1)" })
    let server = try LocalServer(schemas: [schema])
    let one = try await Device("ada", at: server, schema: schema)
    let two = try await Device("ben", at: server, schema: schema)
    let names = Self.types.indices.map { "c\($0)" }
    try await one.write { db in
      for (number, value) in Self.values.enumerated() {
        let marks = SQL.joined([SQL](repeating: "\(value)", count: names.count))
        _ = try db.execute(
          "INSERT INTO OfflineThing (uuid, \(raw: names.joined(separator: ", "))) VALUES (\(Self.uuid(number)), \(marks))"
        )
      }
    }
    try await Device.expectAgreement(one, two)
    #expect(try await Self.content(of: one) == Self.content(of: two))
    // Each record gets the value of its neighbour, and the first one is back at its base in between.
    for (writer, other) in [(one, two), (two, one)] {
      let before = try await Self.content(of: writer)
      try await writer.write { db in
        func set(_ number: Int, _ value: SQLArgument) throws {
          let assignments = names.map { name -> SQL in "\(raw: name) = \(value)" }
          _ = try db.execute("UPDATE OfflineThing SET \(SQL.joined(assignments)) WHERE uuid = \(Self.uuid(number))")
        }
        for number in Self.values.indices {
          try set(number, Self.values[(number + (writer === one ? 1 : 2)) % Self.values.count])
        }
      }
      #expect(try await Self.content(of: writer) != before)
      try await Device.expectAgreement(one, two)
      #expect(try await Self.content(of: writer) == Self.content(of: other))
    }
  }

  @Test("A record whose value returns to the base leaves the outbox", arguments: types)
  func backAtBase(_ type: String) async throws {
    let schema = Self.schema(["c \(type)"])
    let server = try LocalServer(schemas: [schema])
    let one = try await Device("ada", at: server, schema: schema)
    try await one.write { db in
      for (number, value) in Self.values.enumerated() {
        _ = try db.execute("INSERT INTO OfflineThing (uuid, c) VALUES (\(Self.uuid(number)), \(value))")
      }
    }
    try await one.sync()
    for number in Self.values.indices {
      try await one.write { db in
        _ = try db.execute("UPDATE OfflineThing SET c = 'between' WHERE uuid = \(Self.uuid(number))")
        _ = try db.execute(
          "UPDATE OfflineThing SET c = \(Self.values[number]) WHERE uuid = \(Self.uuid(number))")
      }
      #expect(
        try await one.values("SELECT entityUuid FROM OfflineSyncQueue WHERE completedAt IS NULL") == [], "\(number)")
    }
  }

  @Test("An edit that changes only the case of a NOCASE column is sent")
  func caseOnly() async throws {
    let schema = Self.schema(["name TEXT COLLATE NOCASE", "code TEXT COLLATE RTRIM"])
    let server = try LocalServer(schemas: [schema])
    let one = try await Device("ada", at: server, schema: schema)
    let two = try await Device("ben", at: server, schema: schema)
    try await one.write { db in
      _ = try db.execute("INSERT INTO OfflineThing (uuid, name, code) VALUES (\(Self.uuid(1)), 'hall', 'a')")
    }
    try await Device.expectAgreement(one, two)
    try await one.write { _ = try $0.execute("UPDATE OfflineThing SET name = 'Hall'") }
    try await Device.expectAgreement(one, two)
    #expect(try await two.values("SELECT name FROM OfflineThing") == ["Hall"])
    try await two.write { _ = try $0.execute("UPDATE OfflineThing SET code = 'a  '") }
    try await Device.expectAgreement(one, two)
    #expect(try await one.values("SELECT code FROM OfflineThing") == ["a  "])
  }
}
