import CipherSQL
import VaultStore
import SyncModel
import HTTPClient

/// The records of the vault as a REST remote needs them. Failures of the vault count as failed attempts.
struct RestRecords: Sendable {
  let vault: Vault
  var catalog: SyncCatalog { vault.syncCatalog }

  func table(_ type: String) -> RecordTable? { catalog.tables[type] }

  func record(_ type: String, _ uuid: String) async throws(RemoteFailure) -> StoredRecord? {
    guard let table = table(type) else { return nil }
    return try await read { try table.find(uuid, in: $0) }
  }

  /// See ``RemoteRecords/known(_:)``.
  func known(_ type: String) async throws(RemoteFailure) -> [ServerId: StoredRecord] {
    guard let table = table(type) else { return [:] }
    return try await query { try $0.known(table) }
  }

  /// See ``RemoteRecords/restored(_:)``.
  func restored(_ type: String) async throws(RemoteFailure) -> [ServerId: StoredRecord] {
    guard let table = table(type) else { return [:] }
    return try await query { try $0.restored(table) }
  }

  /// See ``RemoteRecords/uncreated(_:)``.
  func uncreated(_ type: String) async throws(RemoteFailure) -> [String] {
    guard let table = table(type) else { return [] }
    return try await query { try $0.uncreated(table) }
  }

  /// Returns an id of the API as the table stores it; `nil` for a text that is not a number in a column of numbers.
  static func id(_ value: SyncValue, of table: RecordTable) -> ServerId? {
    guard let id = ServerId(value) else { return nil }
    let type = table.entity.table.columns.first { $0.name == "serverId" }?.declaredType.uppercased()
    switch (type, id) {
    case ("INTEGER"?, .text(let text)): return Int64(text).map(ServerId.integer)
    case ("TEXT"?, .integer(let number)): return .text(String(number))
    default: return id
    }
  }

  /// See ``RemoteRecords/unnamed(_:)``.
  func unnamed(_ type: String) async throws(RemoteFailure) -> [StoredRecord] {
    guard let table = table(type) else { return [] }
    return try await query { try $0.unnamed(table) }
  }

  /// Returns whether an upload of a content is running.
  func isUploading(_ content: SyncValue?) async throws(RemoteFailure) -> Bool {
    guard case .text(let content)? = content else { return false }
    return try await query { try $0.isUploading(content) }
  }

  /// Performs a query about records at the remote.
  func query<Value: Sendable>(
    _ body: @escaping @Sendable (RemoteRecords) throws -> Value
  ) async throws(RemoteFailure) -> Value {
    let catalog = catalog
    return try await read { try body(RemoteRecords(catalog, in: $0)) }
  }

  /// Reads from the vault. A failure is an attempt and not a refusal, because the remote may have stored the operation already.
  func read<Value: Sendable>(
    _ body: @escaping @Sendable (Connection) throws -> Value
  ) async throws(RemoteFailure) -> Value {
    do {
      return try await vault.database.read { try body($0) }
    } catch is CancellationError {
      throw RemoteFailure(TransportFailure.cancelled)
    } catch {
      throw RemoteFailure(.attempt, message: "the vault could not be read: \(error)", remedy: .checkVault)
    }
  }
}
