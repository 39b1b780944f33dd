import CSQLCipher
import Synchronization

/// Tells observers which transactions have changed what.
final class ChangeHub: Sendable {
  private struct State: Sendable {
    var observers: [UInt64: @Sendable (ChangedRegion?, Set<String>) -> Void] = [:]
    var next: UInt64 = 0
  }

  private let state = Locked(State())
  private let count = Atomic<Int>(0)

  /// Cheap enough to be asked at each transaction.
  var hasObservers: Bool { count.load(ordering: .acquiring) > 0 }

  /// Adds an observer, which is called after each commit with what changed and the names of the virtual tables,
  /// and with nil when the database closes.
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
    let virtualTables = connection.virtualTables()
    for observer in observers { observer(region, virtualTables) }
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

extension WriteConnection {
  /// The virtual tables of the schema, looked up again only when the schema has changed.
  func virtualTables() -> Set<String> {
    do {
      let version = try pragmaText("PRAGMA schema_version")
      if version != knownSchemaVersion {
        knownVirtualTables = try withStatement(
          "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL%'" as StaticString
        ) { statement in
          var names: Set<String> = []
          while try statement.step() { names.insert(try statement.row.decode(at: 0)) }
          return names
        }
        knownSchemaVersion = version
      }
    } catch {
      // Without the list a full-text query may be told of a change once too often or too late by one commit;
      // the commit that is being told of stands, so it must not fail here.
      knownSchemaVersion = nil
    }
    return knownVirtualTables
  }
}
