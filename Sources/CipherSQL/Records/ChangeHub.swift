import CSQLCipher
import Platform
import Synchronization

/// Notifies observers of the changes of each transaction.
final class ChangeHub: Sendable {
  private struct State: Sendable {
    var observers: [UInt64: @Sendable (ChangedRegion?, Set<String>) -> Void] = [:]
    var next: UInt64 = 0
  }

  private let state = Locked(State())
  private let count = Atomic<Int>(0)

  /// Cheap enough to be asked at each transaction.
  var hasObservers: Bool { count.load(ordering: .acquiring) > 0 }

  /// Adds an observer. It is called after each commit with the changes and the names of the virtual tables, and with
  /// `nil` when the database closes.
  func add(_ observer: @escaping @Sendable (ChangedRegion?, Set<String>) -> Void) -> UInt64 {
    state.withLock { state in
      state.next += 1
      state.observers[state.next] = observer
      count.store(state.observers.count, ordering: .releasing)
      return state.next
    }
  }

  func remove(_ id: UInt64) {
    state.withLock { state in
      state.observers[id] = nil
      count.store(state.observers.count, ordering: .releasing)
    }
  }

  func publish(_ region: ChangedRegion, after connection: WriteConnection) {
    guard !region.isEmpty else { return }
    let observers = state.withLock { Array($0.observers.values) }
    guard !observers.isEmpty else { return }
    guard let facts = connection.schemaFacts() else {
      for observer in observers { observer(ChangedRegion(isEverything: true), []) }
      return
    }
    let widened = region.widened(by: facts)
    for observer in observers { observer(widened, facts.virtualTables) }
  }

  func finish() {
    let observers = state.withLock { state in
      defer { state.observers = [:] }
      return Array(state.observers.values)
    }
    count.store(0, ordering: .releasing)
    for observer in observers { observer(nil, []) }
  }
}
