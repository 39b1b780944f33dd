import CipherSQL
import Foundation
import SchemaModel
import TestSupport
import Testing

@testable import SQLCipherStorage
@testable import ServerStorage
@testable import SyncServer

/// The schemas of a server folder, whose own files may be moved or lost.
@Suite struct ServedSchemaTests {
  private let temporary: TemporaryFolder
  private let directory: ServerDirectory

  init() throws {
    temporary = try TemporaryFolder()
    directory = try ServerDirectory(in: try ServerFolder(temporary.path + "/data", isCreating: true))
  }

  private static let first = "CREATE TABLE thing (thingId INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE) STRICT;"

  private func write(_ files: [String], to folder: String) throws -> (source: SchemaSource, schema: Schema) {
    let path = temporary.path + "/" + folder
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    for (index, sql) in files.enumerated() {
      try sql.write(toFile: path + "/000\(index + 1)_things.sql", atomically: true, encoding: .utf8)
    }
    let schema = try Schema.load(folder: path, name: "things")
    return (SchemaSource(name: "things", folder: path), schema)
  }

  private func served(_ named: [(source: SchemaSource, schema: Schema)] = []) throws -> [MigrationFile] {
    try directory.schemas(adding: named, shipped: []).first { $0.name == "things" }?.migrations ?? []
  }

  @Test("A server serves a schema from its own copy when the folder is missing")
  func missingFolder() throws {
    let named = try write([Self.first], to: "old")
    #expect(try served([named]) == named.schema.migrations)
    // The copy follows the folder while it is there.
    let longer = try write([Self.first, "CREATE INDEX thing_uuid ON thing (uuid);"], to: "old")
    #expect(try served() == longer.schema.migrations)
    try FileManager.default.removeItem(atPath: temporary.path + "/old")
    #expect(try served() == longer.schema.migrations)
    #expect(try served() == longer.schema.migrations)
  }

  @Test("A folder at another place continues the schema if its statements are equal, comments aside")
  func movedFolder() throws {
    _ = try served([try write([Self.first], to: "old")])
    try FileManager.default.removeItem(atPath: temporary.path + "/old")
    let moved = try write(["-- Things.\n" + Self.first, "CREATE INDEX thing_uuid ON thing (uuid);"], to: "new")
    #expect(try served([moved]) == moved.schema.migrations)
    #expect(try served() == moved.schema.migrations)
  }

  @Test("A folder with other statements is refused by file, and the served schema stays")
  func otherStatements() throws {
    let named = try write([Self.first], to: "old")
    _ = try served([named])
    let other = try write([Self.first.replacingOccurrences(of: "UNIQUE", with: "")], to: "new")
    let error = #expect(throws: ServerError.self) { try served([other]) }
    #expect(error?.code == .schemas && error?.message.contains("0001_things.sql") == true)
    #expect(try served() == named.schema.migrations)
  }

  @Test("A schema of the program is not replaced by a folder of that name")
  func shippedSchema() throws {
    let shipped = Schema(name: "things", migrations: [MigrationFile(version: 1, name: "things", sql: Self.first)])
    #expect(try directory.schemas(adding: [], shipped: [shipped]) == [shipped])
    let named = try write([Self.first], to: "own")
    #expect(throws: ServerError.self) { try directory.schemas(adding: [named], shipped: [shipped]) }
  }
}
