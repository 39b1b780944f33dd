import CipherSQL
import Platform
import RestorationModel
import ServerStorage
import ServerSupport
import TestSupport
import Testing

@testable import PostgresStorage

@Suite struct PostgresStorageTests {
  @Test("The PostgreSQL storage keeps each guarantee of record storage", arguments: StorageConformance.names)
  func keeps(_ name: String) async throws {
    let conformance = StorageConformance { try makeStorage() }
    try await #require(conformance.all.first { $0.name == name }).check()
  }

  @Test("The PostgreSQL storage keeps each guarantee with sealed values", arguments: StorageConformance.names)
  func keepsSealed(_ name: String) async throws {
    let file = try SealKeyFile()
    let conformance = StorageConformance {
      let server = try SharedPostgres.server
      var settings = PostgresSettings(url: server.url(try server.makeDatabase()))
      (settings.connections, settings.sealKeys) = (6, try file.keys())
      return try makeStorage(settings)
    }
    try await #require(conformance.all.first { $0.name == name }).check()
  }
}

/// Returns a storage in a new database with the accounts of the conformance checks.
/// - Parameter server: `nil` for the server that all tests share.
func makeStorage(
  on server: PostgresServer? = nil, schemas: [Schema] = [RestorationSchema.schema]
) throws -> PostgresStorage {
  let server = try server ?? SharedPostgres.server
  var settings = PostgresSettings(url: server.url(try server.makeDatabase()))
  settings.connections = 6
  return try makeStorage(settings, schemas: schemas)
}

/// Returns a storage in an empty database with the accounts of the conformance checks.
func makeStorage(
  _ settings: PostgresSettings, schemas: [Schema] = [RestorationSchema.schema]
) throws -> PostgresStorage {
  let database = try PostgresDatabase(settings)
  let connection = try PostgresConnection(settings, clock: .system)
  for account in StorageConformance.accounts {
    _ = try connection.run(AccountRow.insert(account, at: 1, epoch: newUuid()))
  }
  return try PostgresStorage(database, schemas: schemas, log: { print("log: \($0)") })
}
