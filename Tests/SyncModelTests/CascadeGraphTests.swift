import SyncModel
import Testing

/// Records of a store that visits dependents page by page, as a server does.
private struct Store {
  var graph: CascadeGraph<Int>
  /// Records whose dependents are to be visited, with the place of the next one; the last is visited first.
  var jobs: [(name: Int, next: Int)] = []
  let children: [Int: [Int]]

  init(parents: [[Int]]) {
    var records: [Int: CascadeGraph<Int>.Record] = [:]
    var children: [Int: [Int]] = [:]
    for (name, parents) in parents.enumerated() {
      records[name] = CascadeGraph.Record(parents: parents)
      for parent in parents { children[parent, default: []].append(name) }
    }
    graph = CascadeGraph(records)
    self.children = children
  }

  mutating func add(_ name: Int) {
    jobs.removeAll { $0.name == name }
    jobs.append((name, 0))
    graph.records[name]?.isPending = true
  }

  mutating func visit() {
    guard let job = jobs.popLast() else { return }
    guard let dependents = children[job.name], job.next < dependents.count else {
      graph.records[job.name]?.isPending = false
      return
    }
    jobs.append((job.name, job.next + 1))
    settle(dependents[job.next])
  }

  mutating func drain() { while !jobs.isEmpty { visit() } }

  /// The records that a storage loads to decide about a record.
  private func part(above name: Int) -> CascadeGraph<Int> {
    var part = CascadeGraph<Int>()
    var open = [name]
    while let next = open.popLast() {
      guard part.records[next] == nil, let record = graph.records[next] else { continue }
      part.records[next] = record
      open += record.parents
    }
    return part
  }

  mutating func settle(_ name: Int) {
    for (name, change) in part(above: name).pendingChanges() {
      graph.apply(change, to: name)
      add(name)
    }
  }

  mutating func delete(_ name: Int) {
    settle(name)
    let wasDeleted = isDeleted(name)
    graph.records[name]?.isDeleted = true
    graph.records[name]?.isCascaded = false
    if wasDeleted { return }
    add(name)
    settle(name)
  }

  mutating func restore(_ name: Int) {
    settle(name)
    var restored = part(above: name)
    restored.apply(.restore, to: name)
    let parents = graph.records[name]?.parents ?? []
    guard isDeleted(name), !parents.contains(where: restored.willBeDeleted) else { return }
    graph.records[name]?.isDeleted = false
    graph.records[name]?.isCascaded = false
    add(name)
    // The others of its cycles return at once, so that it is not below a deleted record.
    settle(name)
  }

  func isDeleted(_ name: Int) -> Bool { graph.records[name]?.isDeleted == true }

  /// The records that were deleted themselves, and all below them.
  var expected: [Int] {
    var found: Set<Int> = []
    var open = graph.records.filter { $0.value.isDeleted && !$0.value.isCascaded }.map(\.key)
    while let name = open.popLast() {
      if found.insert(name).inserted { open += children[name] ?? [] }
    }
    return found.sorted()
  }

  var deleted: [Int] { graph.records.filter { $0.value.isDeleted }.keys.sorted() }
}

@Suite struct CascadeGraphTests {
  @Test("A deletion reaches all dependents, through trees and cycles, and the restoration brings the same ones back")
  func spreads() {
    // 0 <- 1 <- 2, a cycle of 3, 4 and 5 below 0, and 6 that also depends on 7.
    var store = Store(parents: [[], [0], [1], [0, 5], [3], [4], [0, 7], []])
    store.delete(7)
    store.drain()
    #expect(store.deleted == [6, 7])
    store.delete(0)
    store.drain()
    #expect(store.deleted == [0, 1, 2, 3, 4, 5, 6, 7])
    store.restore(0)
    store.drain()
    #expect(store.deleted == [6, 7])
    store.restore(7)
    store.drain()
    #expect(store.deleted == [])
  }

  @Test("A record in a cycle is restored with the others of the cycle")
  func restoresCycles() {
    var store = Store(parents: [[2], [0], [1]])
    store.delete(0)
    store.drain()
    #expect(store.deleted == [0, 1, 2])
    store.restore(0)
    store.drain()
    #expect(store.deleted == [])
  }

  @Test("A dependent that was deleted by itself stays deleted when its parent is restored")
  func keepsOwnDeletions() {
    var store = Store(parents: [[], [0], [1]])
    store.delete(1)
    store.drain()
    store.delete(0)
    store.drain()
    store.restore(0)
    store.drain()
    #expect(store.deleted == [1, 2])
  }

  @Test("Deletions and restorations during a cascade end in the same state as after it")
  func isIndependentOfTime() {
    var random = Randomness()
    for _ in 0..<1_000 {
      let count = Int.random(in: 2...9, using: &random)
      let isCyclic = Bool.random(using: &random)
      let parents = (0..<count).map { name in
        (0..<Int.random(in: 0...2, using: &random)).map { _ in Int.random(in: 0..<count, using: &random) }
          .filter { isCyclic ? $0 != name : $0 < name }
      }
      var (whole, stepwise) = (Store(parents: parents), Store(parents: parents))
      var story: [String] = []
      for _ in 0..<8 {
        let name = Int.random(in: 0..<count, using: &random)
        let isDeletion = Bool.random(using: &random)
        story.append("\(isDeletion ? "delete" : "restore") \(name)")
        if isDeletion {
          whole.delete(name)
          stepwise.delete(name)
        } else {
          whole.restore(name)
          stepwise.restore(name)
        }
        whole.drain()
        for _ in 0..<Int.random(in: 0...4, using: &random) { stepwise.visit() }
      }
      stepwise.drain()
      #expect(whole.deleted == stepwise.deleted && whole.deleted == whole.expected, "parents \(parents), \(story)")
      if whole.deleted != stepwise.deleted { return }
    }
  }
}
