import Foundation
import RestorationModel
import SyncModel
import TestSupport
import Testing
import VaultKeys

@testable import CipherSQL
@testable import VaultStore

/// The cache of the values that opening a vault derives from its schema.
@Suite struct CachedOpeningTests {
  private let folder: TemporaryFolder
  private let secret: UnlockSecret
  private let cached: Configuration
  private let uncached: Configuration
  private var cache: SchemaCache { cached.schemaCache }

  init() throws {
    folder = try TemporaryFolder()
    secret = try keyFileSecret()
    var configuration = Configuration()
    configuration.schemaCache = SchemaCache(limit: 64)
    cached = configuration
    configuration.schemaCache = SchemaCache(limit: 0)
    uncached = configuration
  }

  /// The files of a schema with one synced entity.
  private static let files = [
    """
    CREATE TABLE OfflineMark (
      markId INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE, place TEXT UNIQUE, note TEXT,
      createdAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
      updatedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
      lastSyncedAt TEXT, syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
      isDirty INTEGER NOT NULL DEFAULT 1, isDeleted INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('Mark', 'OfflineMark', 'marks');
    """,
    "ALTER TABLE OfflineMark ADD COLUMN height REAL NOT NULL DEFAULT 2.5;",
    "INSERT INTO SyncedColumn (entityType, columnName, isLocalOnly) VALUES ('Mark', 'note', 1);",
  ]

  private func marks(_ count: Int) -> Schema {
    Schema(
      name: "marks",
      migrations: Self.files.prefix(count).enumerated().map {
        MigrationFile(version: $0 + 1, name: "file\($0)", sql: $1)
      })
  }

  private func create(_ name: String, _ schema: Schema) throws {
    try Vault.create(
      at: folder.file(name), schemas: [(SchemaSource(name: schema.name, folder: nil), schema)], secret: secret,
      configuration: uncached
    ).close()
  }

  private func open(
    _ name: String, _ schema: Schema, _ configuration: Configuration, outdated: Vault.OutdatedSchema = .migrate
  ) throws -> Vault {
    try Vault.open(
      at: folder.file(name), with: secret, schemas: [schema], outdated: outdated, configuration: configuration)
  }

  /// Opens a vault with and without the cache, and compares its entities.
  @discardableResult
  private func compare(_ name: String, _ schema: Schema) throws -> Entities {
    let vault = try open(name, schema, cached)
    defer { vault.close() }
    let other = try open(name, schema, uncached)
    defer { other.close() }
    let (entities, expected) = (vault.entities, other.entities)
    #expect(entities.all == expected.all && entities.catalog == expected.catalog, "\(name)")
    #expect(entities.addedDefaults == expected.addedDefaults, "\(name)")
    return entities
  }

  @Test("Vaults with different schemas have the same entities with the cache and without it")
  func differentSchemas() throws {
    try create("house.vault", RestorationSchema.schema)
    try create("marks.vault", marks(1))
    try create("more.vault", marks(3))
    for _ in 0..<2 {
      #expect(try compare("house.vault", RestorationSchema.schema).all.contains { $0.type == "Project" })
      #expect(try compare("marks.vault", marks(1)).entity("Mark").fields == ["uuid", "place", "note"])
      #expect(try compare("more.vault", marks(3)).entity("Mark").fields == ["uuid", "place", "note", "height"])
    }
    #expect(cache.counts == SchemaCache.Counts(hits: 3, misses: 6))
  }

  @Test("The cache serves the second opening of a vault and the first of another vault with the same schema")
  func secondOpening() throws {
    try create("one.vault", marks(3))
    try create("two.vault", marks(3))
    try open("one.vault", marks(3), cached).close()
    // The entities and their catalogue.
    #expect(cache.counts == SchemaCache.Counts(hits: 0, misses: 2))
    for (index, name) in ["one.vault", "two.vault", "one.vault"].enumerated() {
      let vault = try open(name, marks(3), cached)
      // Records are not part of the schema.
      _ = try vault.put(try vault.entities.entity("Mark"), [("place", .text("place \(index)"))])
      vault.close()
      #expect(cache.counts == SchemaCache.Counts(hits: index + 1, misses: 2))
    }
  }

  @Test("Vaults with equal entities share one sync catalogue, and a changed registry gives another one")
  func syncCatalogs() throws {
    try create("one.vault", marks(2))
    try create("two.vault", marks(3))
    for (name, count) in [("one.vault", 2), ("two.vault", 3), ("one.vault", 2)] {
      let vault = try open(name, marks(count), cached)
      defer { vault.close() }
      let columns = try #require(vault.syncCatalog.tables["Mark"]).columns.map(\.name)
      #expect(columns == SyncCatalog(vault.entities).tables["Mark"]?.columns.map(\.name))
      #expect(columns.contains("note") == (count == 2))
    }
    // Entities and sync catalogue of each vault, and the catalogue of the tables that both have.
    #expect(cache.counts == SchemaCache.Counts(hits: 3, misses: 5))
  }

  @Test("A vault that is migrated has new entities, and a vault that is not migrated keeps the old ones")
  func migration() throws {
    try create("old.vault", marks(1))
    try create("new.vault", marks(1))
    for name in ["old.vault", "new.vault"] { try compare(name, marks(1)) }
    let migrated = try open("new.vault", marks(2), cached)
    #expect(try migrated.entities.entity("Mark").table.column("height") != nil)
    #expect(migrated.entities.addedDefaults["Mark"]?["height"]?.json == "2.5")
    migrated.close()
    #expect(try compare("new.vault", marks(2)).entity("Mark").localColumns == [])
    // The third file changes only the registry.
    #expect(try compare("new.vault", marks(3)).entity("Mark").localColumns == ["note"])
    #expect(try compare("old.vault", marks(1)).entity("Mark").table.column("height") == nil)
  }

  @Test(
    "A changed row of the registry changes the entities",
    arguments: [
      "UPDATE SyncedEntity SET conflictPolicy = 'manual'", "UPDATE SyncedEntity SET defaultPriority = 0",
      "UPDATE SyncedEntity SET schemaName = 'others'", "DELETE FROM SyncedColumn",
      "UPDATE SyncedColumn SET ownership = 'user'", "UPDATE SyncedColumn SET mergesAsSet = 1",
      "UPDATE SyncedColumn SET isLocalOnly = 0", "UPDATE SyncedColumn SET computedAs = 'place || 1'",
      "UPDATE SyncedColumn SET computedAs = 'place || 1', isAlwaysComputed = 1",
      "UPDATE SyncedColumn SET columnName = 'place'",
      "INSERT INTO SyncedColumn (entityType, columnName) VALUES ('Mark', 'place')",
      "UPDATE SyncedColumnDefault SET addedDefault = '3.5' WHERE columnName = 'height'",
      "UPDATE SyncedColumnDefault SET addedDefault = NULL WHERE columnName = 'height'",
    ])
  func registry(_ change: String) throws {
    try create("marks.vault", marks(3))
    let before = try compare("marks.vault", marks(3))
    let vault = try open("marks.vault", marks(3), cached)
    try vault.database.write { connection in
      _ = try connection.asMigration { try connection.execute(SQL(raw: change)) }
    }
    vault.close()
    let after = try compare("marks.vault", marks(3))
    #expect(before.all != after.all || before.addedDefaults != after.addedDefaults)
  }

  @Test("A pending file, a changed file and a newer vault are found when the cache knows the schema")
  func checksRemain() throws {
    try create("one.vault", marks(2))
    try create("two.vault", marks(3))
    for (name, count) in [("one.vault", 2), ("two.vault", 3)] { try compare(name, marks(count)) }
    #expect { _ = try open("one.vault", marks(3), cached, outdated: .refuse) } throws: { error in
      (error as? VaultError)?.code == .migrationNeeded
    }
    #expect { _ = try open("two.vault", marks(2), cached) } throws: { error in
      (error as? SQLError)?.message.contains("supports versions up to 2") == true
    }
    let changed = Schema(
      name: "marks",
      migrations: marks(2).migrations.map {
        MigrationFile(version: $0.version, name: $0.name, sql: $0.sql.replacingOccurrences(of: "2.5", with: "2.6"))
      })
    #expect { _ = try open("one.vault", changed, cached) } throws: { error in
      (error as? SQLError)?.message.contains("the file was changed after it was applied") == true
    }
    let commented = Schema(
      name: "marks",
      migrations: marks(2).migrations.map {
        MigrationFile(version: $0.version, name: $0.name, sql: $0.sql + " -- a comment")
      })
    try open("one.vault", commented, cached).close()
  }

  @Test("A damaged page of the schema or of the applied files is found when the cache knows the schema")
  func damage() throws {
    try create("marks.vault", marks(3))
    try compare("marks.vault", marks(3))
    let path = folder.file("marks.vault") + "/db/0001/vault.db"
    let whole = try Data(contentsOf: URL(filePath: path))
    var refused = 0
    for page in stride(from: 0, to: whole.count / 4096, by: 2) {
      var damaged = whole
      damaged[page * 4096 + 2000] ^= 1
      try damaged.write(to: URL(filePath: path))
      func code(_ configuration: Configuration) -> VaultError.Code? {
        do {
          try open("marks.vault", marks(3), configuration).close()
          return nil
        } catch { return (error as? VaultError)?.code }
      }
      let found = code(cached)
      #expect(found == code(uncached), "page \(page)")
      if found == .damaged { refused += 1 }
    }
    #expect(refused > 5)
  }

  #if os(Linux)
    @Test("Opening uses one connection; reads open others unless they share it", arguments: [0, 4])
    func oneConnection(readers: Int) throws {
      try create("marks.vault", marks(3))
      var configuration = cached
      configuration.readerCount = readers
      let vault = try open("marks.vault", marks(3), configuration)
      defer { vault.close() }
      func openFiles() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
          (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == vault.databasePath
        }
      }
      #expect(try openFiles() == 1)
      _ = try vault.put(try vault.entities.entity("Mark"), [("place", .text("here"))])
      #expect(try vault.database.read { try $0.fetchOne("SELECT count(*) FROM OfflineMark", as: Int.self) } == 1)
      #expect(try openFiles() == (readers == 0 ? 1 : 2))
    }
  #endif
}
