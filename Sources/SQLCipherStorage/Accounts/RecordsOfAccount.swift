import CipherSQL
import SchemaModel
import ServerStorage

/// The records of an account for reading only, also while a server runs on the folder. Migrates nothing and does no jobs.
package final class RecordsOfAccount: Sendable {
  private let database: Database
  private let schema: AccountSchema

  /// Opens the records.
  /// - Throws: ``ServerError`` with `schemas` if the account does not have all files of the schemas yet, with `damaged`.
  package init(_ account: AccountName, in folder: ServerFolder, _ schemas: [Schema]) throws {
    schema = try AccountSchema(schemas, environment: folder.environment)
    database = try AccountDatabase.records.open(account.folder, in: folder)
    do {
      guard try !AccountUpgrade(schema).isPending(in: database) else {
        throw ServerError(
          .schemas, "the account \(account.name) has the data of an earlier version", remedy: .migrate)
      }
    } catch {
      database.close()
      throw error
    }
  }

  /// Reads from one state of the account.
  package func read<Result: Sendable>(
    _ body: @escaping @Sendable (any RecordReading) throws -> Result
  ) async throws -> Result {
    try await database.read { [schema] in try body(AccountReader(EmbeddedRows($0), schema)) }
  }

  /// Closes the database.
  package func close() { database.close() }
}
