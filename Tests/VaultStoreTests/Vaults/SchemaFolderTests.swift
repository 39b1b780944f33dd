import CipherSQL
import Foundation
import RestorationModel
import TestSupport
import Testing
import VaultKeys

@testable import VaultStore

/// Schemas that several programs bring to one vault.
@Suite struct SchemaFolderTests {
  private let folder: TemporaryFolder
  private let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path + "/job.vault"
  }

  private func file(_ version: Int, _ sql: String) -> MigrationFile {
    MigrationFile(version: version, name: "file\(version)", sql: sql)
  }

  @Test("A schema folder with the name of a shipped schema makes a vault that opens")
  func folderNamedLikeShippedSchema() throws {
    let own = try folder.write("CREATE TABLE Own (ownId INTEGER PRIMARY KEY) STRICT;", to: "restoration/0001_own.sql")
    let source = SchemaSource(name: "restoration", folder: URL(filePath: own).deletingLastPathComponent().path)
    let schema = try Schema.load(folder: try #require(source.folder), name: "restoration")
    try Vault.create(at: path, schemas: [(source, schema)], secret: try passphraseSecret()).close()
    let vault = try Vault.open(
      at: path, with: try passphraseSecret(), schemas: [RestorationSchema.schema], outdated: .refuse)
    #expect(vault.entities.catalog.table("Own") != nil)
    vault.close()
    // The same without the folder: the vault has the files.
    try FileManager.default.removeItem(atPath: folder.path + "/restoration")
    try Vault.open(at: path, with: try passphraseSecret(), schemas: [RestorationSchema.schema], outdated: .refuse)
      .close()
  }

  @Test("A folder with the name of FieldVault's own tables is refused")
  func folderNamedCore() throws {
    let own = try folder.write("CREATE TABLE Own (ownId INTEGER PRIMARY KEY) STRICT;", to: "core/0001_own.sql")
    let folder = URL(filePath: own).deletingLastPathComponent().path
    #expect { try Schema.loadOwn(folder: folder) } throws: { ($0 as? VaultError)?.code == .refused }
  }

  @Test("A process that finds a file applied by another process continues after that file")
  func twoProcessesMigrate() throws {
    let first = file(1, "CREATE TABLE One (oneId INTEGER PRIMARY KEY) STRICT;")
    let second = file(2, "CREATE TABLE Two (twoId INTEGER PRIMARY KEY) STRICT;")
    let third = file(3, "CREATE TABLE Three (threeId INTEGER PRIMARY KEY) STRICT;")
    let source = SchemaSource(name: "own", folder: nil)
    let one = try Vault.create(
      at: path, schemas: [(source, Schema(name: "own", migrations: [first]))], secret: try passphraseSecret())
    let two = try Vault.open(
      at: path, with: try passphraseSecret(), schemas: [Schema(name: "own", migrations: [first])])
    var failure: (any Error)?
    let done = try Vault.migrator(for: [Schema(name: "own", migrations: [first, second, third])]).apply(
      to: one.database
    ) { _, file, _ in
      guard file.version == 2 else { return }
      do {
        try Vault.migrator(for: [Schema(name: "own", migrations: [first, second])]).apply(to: two.database)
      } catch {
        failure = error
      }
    }
    #expect(failure == nil)
    #expect(done.map(\.version) == [3])
    two.close()
    one.close()
  }
}
