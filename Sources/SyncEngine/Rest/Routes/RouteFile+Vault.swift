import OfflineStore
import SyncModel

extension RouteFile {
  /// Reads a route file and holds it against the tables of a vault.
  /// - Returns: the routes as ``Vault/setRemote(url:token:routes:)`` takes them.
  /// - Throws: ``RouteFileError`` with everything that is wrong.
  public static func routes(json: String, for vault: Vault) throws(RouteFileError) -> RemoteRoutes {
    let file = try RouteFile(json: json)
    try file.check(against: vault.syncCatalog)
    return RemoteRoutes(text: json, takes: file.takes)
  }

  /// By entity type, what the API takes.
  var takes: [String: Set<OperationKind>] {
    entities.mapValues { routes in
      var kinds: Set<OperationKind> = []
      if routes.create != nil || routes.goesWithImage { kinds.insert(.create) }
      if routes.update != nil { kinds.insert(.update) }
      if routes.delete != nil { kinds.insert(.delete) }
      return kinds
    }
  }

  /// What a person should know before this file is used: records that a lost answer may make twice, and what no document
  /// of the API says. One line each.
  public var warnings: [String] {
    entities.sorted { $0.key < $1.key }.flatMap { type, routes in
      (routes.repeats == .mayDuplicate
        ? ["\(type): when an answer is lost, the record may be at the server twice"] : [])
        + (routes.assumed.map { ["\(type): assumed, \($0)"] } ?? [])
    }
  }
}
