import FileTransfers
import CipherSQL
import HTTPClient

/// The state of the connection to the server, in two layers: whether an interface exists (``InterfaceMonitor``), and
/// whether the server responds, which requests and probes report.
///
/// Nothing is polled. The state changes when the system reports a change of the interfaces, when a request has a
/// result, and when ``probe()`` is called. Before the first response it is `limited`, or `offline` without an
/// interface.
public final class NetworkMonitor: TransferNetwork {
  struct State {
    var network: NetworkState
    var interfaces: InterfaceStatus
    var isForcedOffline = false
    var probe: Task<NetworkState, Never>?
    var listeners: [Int: AsyncStream<NetworkState>.Continuation] = [:]
    var nextListener = 0
    var interfaceFailure: InterfaceFailure?
  }

  let locked: Locked<State>
  let interfaces: (any InterfaceMonitor)?
  let ask: @Sendable () async -> ResponseClass
  /// `nil` for a server on this machine, which needs no interface, and for a fixed state.
  let needsInterface: Bool
  let isFixed: Bool

  /// Creates a monitor that watches the interfaces and probes a remote.
  ///
  /// - Parameters:
  ///   - address: the address of the server. A server on this machine needs no interface. `nil` if the address is
  ///     unknown.
  ///   - interfaces: the source of interface changes; by default the system.
  public init(
    remote: any Remote, address: ServerAddress?, interfaces: any InterfaceMonitor = systemInterfaceMonitor()
  ) {
    self.interfaces = interfaces
    needsInterface = address?.isLoopback != true
    isFixed = false
    ask = { await Self.responseClass(of: remote) }
    locked = Locked(State(network: .limited, interfaces: InterfaceStatus(hasInterface: true, isUnmetered: true)))
    watchInterfaces(interfaces)
  }

  /// Creates a monitor with a fixed state.
  public init(fixed network: NetworkState, isUnmetered: Bool = true) {
    interfaces = nil
    needsInterface = false
    isFixed = true
    ask = { .cancelled }
    locked = Locked(
      State(
        network: network, interfaces: InterfaceStatus(hasInterface: network != .offline, isUnmetered: isUnmetered)))
  }

  deinit {
    interfaces?.stop()
    locked.withLock { $0.listeners.values.forEach { $0.finish() } }
  }

  /// The current state.
  public var state: NetworkState { locked.withLock { $0.isForcedOffline ? .offline : $0.network } }

  package var isOffline: Bool { state == .offline }

  /// Whether the network is unmetered, as far as the system knows. Always `true` for a server on this machine.
  public var isUnmetered: Bool { locked.withLock { !needsInterface && !isFixed || $0.interfaces.isUnmetered } }

  /// The reason why the system does not report interfaces; `nil` if it does. With a reason, the state follows from
  /// requests alone.
  public var interfaceFailure: InterfaceFailure? { locked.withLock { $0.interfaceFailure } }

  /// While `true`, the state is `offline` and no request is made, independent of the network.
  public var isForcedOffline: Bool {
    get { locked.withLock { $0.isForcedOffline } }
    set { change { $0.isForcedOffline = newValue } }
  }

  /// The current state, each later state, and the same state again when the network becomes metered or unmetered. A
  /// slow reader receives only the newest state.
  public var states: AsyncStream<NetworkState> {
    let (stream, continuation) = AsyncStream.makeStream(of: NetworkState.self, bufferingPolicy: .bufferingNewest(1))
    let number = locked.withLock { state in
      state.nextListener += 1
      state.listeners[state.nextListener] = continuation
      continuation.yield(state.isForcedOffline ? .offline : state.network)
      return state.nextListener
    }
    continuation.onTermination = { [weak self] _ in
      // Not in the call that ends it, which can hold the lock.
      startTask { [weak self] in self?.locked.withLock { $0.listeners[number] = nil } }
    }
    return stream
  }

  /// Reports the result of a request, so that no probe is needed.
  public func report(_ responseClass: ResponseClass) {
    switch responseClass {
    case .cancelled: return
    case .unreachable: change { $0.network = $0.interfaces.hasInterface || !needsInterface ? .limited : .offline }
    default: change { $0.network = .online }
    }
  }

  /// Performs a change under the lock, and notifies the listeners if the state changed.
  func change(_ body: (inout State) -> Void) {
    locked.withLock { state in
      let before = (state.isForcedOffline ? NetworkState.offline : state.network, state.interfaces.isUnmetered)
      let fixed = state.network
      body(&state)
      if isFixed { state.network = fixed }
      let after = state.isForcedOffline ? NetworkState.offline : state.network
      if before != (after, state.interfaces.isUnmetered) { state.listeners.values.forEach { $0.yield(after) } }
    }
  }
}
