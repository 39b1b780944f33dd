import CipherSQL

@testable import SyncEngine

/// An interface monitor that a test controls.
final class FakeInterfaces: InterfaceMonitor {
  typealias Listener = @Sendable (Result<InterfaceStatus, InterfaceFailure>) -> Void

  private struct State {
    var status: InterfaceStatus
    var listener: Listener?
  }

  private let state: Locked<State>
  private let refusal: InterfaceFailure?

  init(_ hasInterface: Bool, refusal: InterfaceFailure? = nil) {
    state = Locked(State(status: InterfaceStatus(hasInterface: hasInterface, isUnmetered: true)))
    self.refusal = refusal
  }

  func status() throws(InterfaceFailure) -> InterfaceStatus { state.withLock(\.status) }

  func start(onChange: @escaping Listener) throws(InterfaceFailure) {
    if let refusal { throw refusal }
    state.withLock { $0.listener = onChange }
  }

  func stop() { state.withLock { $0.listener = nil } }

  func set(_ status: InterfaceStatus) {
    let listener = state.withLock { state in
      state.status = status
      return state.listener
    }
    listener?(.success(status))
  }
}
