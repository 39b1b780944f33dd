import FileTransfers
import VaultStore
import SyncModel

/// Performs the transactions of a round on a vault.
package struct StoreExecutor: Sendable {
  private let vault: Vault

  package init(vault: Vault) { self.vault = vault }

  /// - Throws: errors of this device; `CancellationError` if the task is cancelled and the command does not survive that.
  package func run(_ command: StoreCommand) async throws -> StoreResult {
    if command.survivesCancellation { return try await uncancelled { try await perform(command) } }
    return try await perform(command)
  }

  private func perform(_ command: StoreCommand) async throws -> StoreResult {
    switch command {
    case .read(let query):
      let catalog = vault.syncCatalog
      return try await vault.database.read { try StoreReader(catalog: catalog, connection: $0).read(query) }
    case .prefetchBatch:
      // A write transaction waits for the user's writer, so the outbox is read before.
      guard try await vault.database.read({ try Outbox.hasReady(in: $0) }) else { return .prefetched(nil) }
      return try await vault.sync { try $0.perform(command) }
    default: return try await vault.sync { try $0.perform(command) }
    }
  }
}
