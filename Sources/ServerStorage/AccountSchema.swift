import CipherSQL
import Platform
import RecordStore
import SchemaModel
import SyncModel

/// The schemas of a server's accounts: their entities, their rows, and databases in memory that check records.
package final class AccountSchema: Sendable {
  /// The schemas without FieldVault's own.
  package let schemas: [Schema]
  /// The facts about each entity.
  package let descriptions: [String: EntityDescription]
  /// The entities of the schemas.
  package let entities: Entities
  package let map: EntityMap
  /// The rows that the schemas create, such as reference data. Every device has them.
  let seeds: [Seed]
  /// The rows about all files of the schemas, FieldVault's own included.
  package let records: [MigrationRecord]
  private let content: Content
  let environment: Environment
  private let idle = Locked<[SchemaChecker]>([])

  /// A row that a schema creates.
  struct Seed: Sendable {
    let name: RecordName
    let createdAt: Int64
    let state: RecordState

    init(_ type: String, _ row: StoredRecord) {
      (name, createdAt, state) = (RecordName(type, row.uuid), row.createdAt, row.state)
    }
  }

  /// - Parameter environment: the clock and the random source for defaults of columns.
  /// - Throws: `SQLError` if a schema file fails.
  package init(_ schemas: [Schema], environment: Environment) throws {
    (self.schemas, self.environment) = (schemas, environment)
    content = try SchemaCache.shared.value(for: SchemaDigest(of: schemas)) { try Content(schemas) }
    (map, descriptions, seeds) = (content.map, content.descriptions, content.seeds)
    (records, entities) = (content.records, content.entities)
  }

  /// The schemas in the order in which they are applied, FieldVault's own first.
  package var allSchemas: [Schema] {
    [CoreSchema.schema] + schemas.filter { $0.name != CoreSchema.schema.name }
  }

  /// Runs a closure with a checker that no other thread uses.
  func withChecker<Result>(_ body: (SchemaChecker) throws -> Result) throws -> Result {
    let checker = try idle.withLock { $0.popLast() } ?? makeChecker()
    defer { idle.withLock { $0.append(checker) } }
    return try body(checker)
  }

  private func makeChecker() throws -> SchemaChecker {
    try SchemaChecker(
      WriteConnection.inMemory(copying: content.empty, configuration: Content.configuration(environment)), map)
  }

  /// The values that depend on the files of the schemas alone.
  private final class Content: Sendable {
    let entities: Entities
    let map: EntityMap
    let descriptions: [String: EntityDescription]
    let seeds: [Seed]
    let records: [MigrationRecord]
    /// The tables without the rows of synced entities.
    let empty: Database

    init(_ schemas: [Schema]) throws {
      let whole = try Database.inMemory()
      defer { whole.close() }
      try Migrator.records(of: schemas).apply(to: whole, isDraft: true)
      entities = try whole.read { try Entities.read(from: $0) }
      let map = EntityMap(entities)
      self.map = map
      descriptions = map.descriptions
      records = try whole.read { try MigrationRecord.all(in: $0) }
      seeds = try whole.read { connection in
        var seeds: [Seed] = []
        for (type, table) in map.tables.sorted(by: { $0.key < $1.key }) {
          var rows: [StoredRecord] = []
          try table.forEach(where: "1", in: connection) { rows.append($0) }
          seeds += rows.sorted { $0.uuid < $1.uuid }.map { Seed(type, $0) }
        }
        return seeds
      }
      empty = try Database.inMemory(copying: whole, configuration: Self.configuration(.system))
      try empty.write { connection in
        // The rows that triggers would read are missing.
        try DerivedTriggers.drop(in: connection)
        try WriteMode.purge(on: connection) {
          for table in map.tables.values {
            try connection.execute("DELETE FROM \(identifier: table.entity.table.name)")
          }
        }
      }
    }

    static func configuration(_ environment: Environment) -> Configuration {
      var configuration = Configuration(environment: environment)
      configuration.enforcesForeignKeys = false
      configuration.pageCacheBytes = 1 << 20
      return configuration
    }
  }
}
