/// Merges JSON arrays as sets: elements that one side added are included, and elements that one side removed are not.
///
/// Elements are equal if their canonical texts are. Order and repetitions are not content of a set. Still the merged
/// array has one text, whichever side is local and in whatever order three devices sync, so that digests agree: if
/// both sides changed the set, its elements are ordered by their canonical texts.
struct SetMerge {
  private let base: Set<String>
  private let local: Set<String>
  private let remote: Set<String>
  private let elements: [String: SyncValue]

  /// Nil unless all values are arrays; null and absent count as the empty set.
  init?(base: SyncValue?, local: SyncValue, remote: SyncValue) {
    var elements: [String: SyncValue] = [:]
    func set(of value: SyncValue?) -> Set<String>? {
      switch value {
      case nil, .null: return []
      case .array(let array):
        let texts = array.map(\.canonicalJSON)
        for (text, element) in zip(texts, array) { elements[text] = element }
        return Set(texts)
      default: return nil
      }
    }
    guard let base = set(of: base), let local = set(of: local), let remote = set(of: remote) else { return nil }
    self.base = base
    self.local = local
    self.remote = remote
    self.elements = elements
  }

  /// Which sides changed the set, not only its spelling.
  var isChanged: (local: Bool, remote: Bool) { (local != base, remote != base) }

  /// The set that has both sides' changes.
  var merged: SyncValue {
    let texts = base.intersection(local).intersection(remote).union(local.subtracting(base)).union(
      remote.subtracting(base))
    let sorted = texts.sorted { UTF16Order.compare($0, $1) == .before }
    return .array(sorted.compactMap { elements[$0] })
  }
}
