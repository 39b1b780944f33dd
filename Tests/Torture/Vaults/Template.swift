import CipherSQL
import Foundation
import VaultStore
import RestorationModel
import VaultKeys

/// The vaults that each run begins with a copy of.
struct Template: Sendable {
  let folder: String
  let rowCount: Int

  var vault: String { folder + "/vault" }
  var keyFile: String { folder + "/key" }
  private var schema: String { folder + "/schema" }

  /// Makes a vault with a key-file slot, and with rows.
  /// - Parameter withPhotos: also with the tables of photos, and a project to which they can belong.
  init(at folder: String, rowCount: Int, withPhotos: Bool) throws {
    (self.folder, self.rowCount) = (folder, rowCount)
    try FileManager.default.createDirectory(atPath: schema, withIntermediateDirectories: true)
    let secret = UnlockSecret.keyFile(try KeyFile.create(at: keyFile))
    try Data(Rows.firstFile.utf8).write(to: URL(filePath: schema + "/0001_rows.sql"))
    let source = SchemaSource(name: Rows.schemaName, folder: schema)
    let tables = try Schema.load(folder: schema, name: Rows.schemaName)
    let more = [(source: SchemaSource(name: "restoration", folder: nil), schema: RestorationSchema.schema)]
    let schemas = [(source: source, schema: tables)] + (withPhotos ? more : [])
    let vault = try Vault.create(at: vault, schemas: schemas, secret: secret)
    defer { vault.close() }
    if withPhotos { try Photos.makeProject(in: vault) }
    try vault.database.write { connection in
      for _ in 0..<rowCount { try Rows.add(to: connection) }
    }
    _ = try vault.database.withWriter { try $0.checkpoint() }
  }

  /// From now on a file waits to be applied.
  func outdate() throws {
    try Data(Rows.secondFile.utf8).write(to: URL(filePath: schema + "/0002_sizes.sql"))
  }
}

extension UnlockSecret {
  static func keyFile(at path: String) throws -> UnlockSecret { .keyFile(try KeyFile.read(at: path)) }
}
