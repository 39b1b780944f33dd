import CipherSQL
import VaultStore
import SyncModel

/// Performs the queries of a round.
struct StoreReader {
  let catalog: SyncCatalog
  let connection: Connection

  func read(_ query: StoreQuery) throws -> StoreResult {
    switch query {
    case .activeProjects: return .activeProjects(mark: try SyncSettings.value(.activeProjects, in: connection))
    case .pullPosition:
      return .position(
        cursor: try SyncSettings.value(.cursor, in: connection), scopes: try SyncSettings.scopes(in: connection))
    case .isCurrent(let epoch):
      return .epoch(isCurrent: try SyncSettings.value(.epoch, in: connection) == epoch)
    case .missingParents(let records, let withDeleted):
      return .parents(identities(try missingParents.of(records, withDeleted: withDeleted)))
    case .parentsOfInbox(let last, let limit):
      return .parents(identities(try missingParents.ofInbox(after: last, limit: limit)))
    case .digests(let query):
      guard let table = catalog.tables[query.entityType] else { return .digests(whole: .none, buckets: [:]) }
      let found = try digests(query).digests(of: table)
      return .digests(whole: found.whole, buckets: found.buckets)
    case .recordDigests(let query, let buckets, let withPlain):
      guard let table = catalog.tables[query.entityType] else { return .recordDigests([], plain: []) }
      let digests = try digests(query)
      return .recordDigests(
        try digests.records(of: table, in: buckets),
        plain: withPlain ? try digests.records(of: table, in: buckets, hasExtraFields: false) : [])
    }
  }

  private var missingParents: MissingParents { MissingParents(catalog: catalog, connection: connection) }

  private func identities(_ parents: [MissingParents.Parent]) -> [RecordIdentity] {
    parents.map { RecordIdentity(entityType: $0.entityType, entityUuid: $0.uuid) }
  }

  private func digests(_ query: DigestQuery) throws -> StoreDigests {
    try StoreDigests(catalog: catalog, connection: connection, columns: query.columns, projects: query.projects)
  }
}
