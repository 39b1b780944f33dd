import VaultStore
import SyncEngine
import HTTPClient

/// Compares a vault with its server by digests: anybody can compute them (`WireFormat.md` says how).
enum DemoDigests {
  static func run(_ vault: Vault) async throws {
    let catalog = vault.syncCatalog
    let ours = try await vault.database.read { connection in
      let store = try StoreDigests(catalog: catalog, connection: connection)
      return try catalog.tables.mapValues { try store.digests(of: $0).whole }
    }
    let theirs = try await remote(of: vault).digests(projects: []).entities
    for (type, digest) in ours.sorted(by: { $0.key < $1.key }) where digest.count > 0 || theirs[type] != nil {
      let server = theirs[type]
      print(
        "  \(type): \(digest.count) records, \(digest.digest.prefix(16))...",
        server == digest ? "and the server says the same" : "BUT THE SERVER SAYS \(server?.digest ?? "nothing")")
    }
  }

  private static func remote(of vault: Vault) async throws -> FieldVaultRemote {
    let (url, token) = try await vault.database.read { connection in
      (
        try SyncSettings.value(.remoteURL, in: connection) ?? "",
        try SyncSettings.value(.remoteToken, in: connection)
      )
    }
    return FieldVaultRemote(transport: HTTPTransport(address: try ServerAddress(url)) { token })
  }
}
