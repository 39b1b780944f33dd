/// Records with the records that they reference with ON DELETE CASCADE, as far as a decision needs them.
///
/// A record is deleted if a user deleted it or any record above it. A large deletion or restoration is done in several
/// transactions, each with a page of dependents. Between two of them the graph returns the state that a record has
/// after the last of them. Reads and pushes use that state.
public struct CascadeGraph<Name: Hashable & Sendable>: Sendable {
  /// A record and the state of its deletion.
  public struct Record: Sendable {
    /// Whether the record is stored as deleted.
    public var isDeleted: Bool
    /// Whether the record is deleted only because a record above it was deleted.
    public var isCascaded: Bool
    /// The records that this record references with ON DELETE CASCADE.
    public var parents: [Name]
    /// Whether the dependents of this record still have to be visited, because it was deleted or restored.
    public var isPending: Bool

    /// Creates a record. By default it is not deleted.
    public init(isDeleted: Bool = false, isCascaded: Bool = false, parents: [Name] = [], isPending: Bool = false) {
      self.isDeleted = isDeleted
      self.isCascaded = isCascaded
      self.parents = parents
      self.isPending = isPending
    }
  }

  /// A change that a cascade makes to a record.
  public enum Change: Sendable, Equatable {
    /// Deletes the record along with the root, the record above it that the user deleted.
    case delete(root: Name)
    /// Restores the record.
    case restore
  }

  /// The records by name, including the records that they reference, transitively.
  public var records: [Name: Record]

  /// Creates a graph of records.
  public init(_ records: [Name: Record] = [:]) { self.records = records }

  /// Returns the change that the records above a record require; `nil` if they require no change.
  public func change(of name: Name) -> Change? {
    guard let record = records[name] else { return nil }
    let above = above(name)
    if !record.isDeleted { return above.root.map { .delete(root: $0) } }
    // A record that is not visited on the way down stays unchanged, such as a record that moved while it was deleted.
    return record.isCascaded && above.root == nil && above.isPending ? .restore : nil
  }

  /// Returns whether a record is deleted after all changes. A record that the graph lacks counts as deleted.
  public func willBeDeleted(_ name: Name) -> Bool {
    switch change(of: name) {
    case .delete: true
    case .restore: false
    case nil: records[name]?.isDeleted ?? true
    }
  }

  /// Returns the nearest record above a record that a user deleted, and whether dependents of any record above it have
  /// to be visited.
  private func above(_ name: Name) -> (root: Name?, isPending: Bool) {
    var seen: Set<Name> = [name]
    var level = records[name]?.parents ?? []
    var isPending = false
    while !level.isEmpty {
      var next: [Name] = []
      for name in level where seen.insert(name).inserted {
        guard let record = records[name] else { continue }
        isPending = isPending || record.isPending
        if record.isDeleted, !record.isCascaded { return (name, isPending) }
        next += record.parents
      }
      level = next
    }
    return (nil, isPending)
  }

  /// Notes that a change was made. The dependents of the record have to be visited then.
  public mutating func apply(_ change: Change, to name: Name) {
    let isDeleted = change != .restore
    records[name]?.isDeleted = isDeleted
    records[name]?.isCascaded = isDeleted
    records[name]?.isPending = true
  }

  /// Returns the changes that later visits will make to the records of this graph, parents first.
  public func pendingChanges() -> [(name: Name, change: Change)] {
    var changes: [(name: Name, change: Change)] = []
    var seen: Set<Name> = []
    var open = records.keys.map { (name: $0, isLeft: false) }
    while let (name, isLeft) = open.popLast() {
      if isLeft {
        if let change = change(of: name) { changes.append((name, change)) }
        continue
      }
      guard seen.insert(name).inserted else { continue }
      open.append((name, true))
      open += (records[name]?.parents ?? []).map { ($0, false) }
    }
    return changes
  }
}
