import Platform

/// The catalogues that this process has read, by the text of their definitions, which determines them. A migration
/// reads the catalogue after each file, and a process may open many databases of one schema.
final class CatalogCache: Sendable {
  static let shared = CatalogCache(limit: 32)

  private struct State {
    var catalogs: [String: Catalog] = [:]
    /// The keys, the least recently used first.
    var order: [String] = []

    mutating func touch(_ definitions: String) {
      if let place = order.firstIndex(of: definitions) { order.remove(at: place) }
      order.append(definitions)
    }
  }

  private let state = Locked(State())
  private let limit: Int

  /// - Parameter limit: the number of cached catalogues.
  init(limit: Int) { self.limit = limit }

  func catalog(of definitions: String) -> Catalog? {
    state.withLock { state in
      guard let catalog = state.catalogs[definitions] else { return nil }
      state.touch(definitions)
      return catalog
    }
  }

  func keep(_ catalog: Catalog, of definitions: String) {
    state.withLock { state in
      state.catalogs[definitions] = catalog
      state.touch(definitions)
      if state.order.count > limit { state.catalogs[state.order.removeFirst()] = nil }
    }
  }
}
