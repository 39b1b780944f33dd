/// Merges JSON arrays as sets. The result includes elements that one side added and omits elements that one side
/// removed.
///
/// Elements are equal if their canonical texts are equal. Order and repetitions are not content of a set. If both sides
/// changed the set, its elements are ordered by their canonical texts. The merged array therefore has the same text on
/// both sides, in any order in which three devices sync, and digests agree.
struct SetMerge {
  private let base: Set<String>
  private let local: Set<String>
  private let remote: Set<String>
  private let elements: [String: SyncValue]

  /// Creates a merge; `nil` unless all values are arrays. Null and absent values count as the empty set.
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

  /// Whether each side changed the set, and not only its spelling.
  var isChanged: (local: Bool, remote: Bool) { (local != base, remote != base) }

  /// The set with the changes of both sides.
  var merged: SyncValue {
    let texts = base.intersection(local).intersection(remote).union(local.subtracting(base)).union(
      remote.subtracting(base))
    let sorted = texts.sorted { UTF16Order.compare($0, $1) == .before }
    return .array(sorted.compactMap { elements[$0] })
  }
}
