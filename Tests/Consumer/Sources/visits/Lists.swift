import FieldVault

func show(_ siteId: Int64, of vault: Vault) async throws {
  for try await visits in vault.database.observe({ db in try VisitsQueries.visitsOfSite(db, siteId: siteId) }) {
    for visit in visits { print(visit.finding, visit.isPending ? "(waits)" : "") }
  }
}

func age(of type: String, in vault: Vault) throws -> String {
  do {
    return "cached data of \(try vault.fetched(try vault.entities.entity(type)).fetchedAt)"
  } catch let error as VaultError {
    guard error.code == .notFetched else { throw error }
    return "\(error.message): \(error.hint ?? "")"  // never fetched, which is not an empty list
  }
}
