import VaultStore
import SyncModel

extension RouteFile {
  /// Reads a route file and checks it against the tables of a vault.
  /// - Returns: the routes for ``Vault/setRemote(url:token:tokenCommand:routes:authorities:)``.
  /// - Throws: ``RouteFileError`` with all problems.
  public static func routes(json: String, for vault: Vault) throws(RouteFileError) -> RemoteRoutes {
    let file = try RouteFile(json: json)
    try file.check(against: vault.syncCatalog)
    return RemoteRoutes(text: json, takes: file.takes)
  }

  /// The kinds of write that the API accepts, by entity type.
  var takes: [String: Set<OperationKind>] {
    entities.mapValues { routes in
      var kinds: Set<OperationKind> = []
      if routes.create != nil || routes.goesWithImage { kinds.insert(.create) }
      if routes.update != nil { kinds.insert(.update) }
      if routes.delete != nil { kinds.insert(.delete) }
      return kinds
    }
  }

  /// Returns warnings for the user, one line each: records that a lost response may duplicate, and assumptions that
  /// no document of the API confirms.
  public var warnings: [String] {
    entities.sorted { $0.key < $1.key }.flatMap { type, routes in
      (routes.repeats == .mayDuplicate
        ? ["\(type): a lost response may create a duplicate on the server"] : [])
        + (routes.assumed.map { ["\(type): assumed, \($0)"] } ?? [])
    }
  }
}
