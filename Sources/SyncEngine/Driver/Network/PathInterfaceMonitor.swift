import Platform

#if canImport(Network)
  import CipherSQL
  import Dispatch
  import Network

  /// The interfaces of Apple's systems, as reported by NWPathMonitor.
  final class PathInterfaceMonitor: InterfaceMonitor {
    private struct State {
      var last: InterfaceStatus?
      var onChange: (@Sendable (Result<InterfaceStatus, InterfaceFailure>) -> Void)?
      var isLooking = false
    }

    private let monitor = NWPathMonitor()
    private let queue = DispatchQueue(label: "org.fieldvault.interfaces")
    private let state = Locked(State())

    init() {
      // From the beginning, because a path is not known before the first call.
      monitor.pathUpdateHandler = { [weak self] _ in self?.lookSoon() }
      monitor.start(queue: queue)
    }

    deinit { monitor.cancel() }

    func status() throws(InterfaceFailure) -> InterfaceStatus { Self.status(monitor.currentPath) }

    func start(
      onChange: @escaping @Sendable (Result<InterfaceStatus, InterfaceFailure>) -> Void
    ) throws(InterfaceFailure) {
      let now = Self.status(monitor.currentPath)
      state.withLock { state in
        state.last = now
        state.onChange = onChange
      }
    }

    func stop() {
      state.withLock { $0.onChange = nil }
    }

    private func lookSoon() {
      let isFirst = state.withLock { state in
        defer { state.isLooking = true }
        return !state.isLooking
      }
      guard isFirst else { return }
      queue.asyncAfter(deadline: .now() + .milliseconds(50)) { [weak self] in self?.look() }
    }

    private func look() {
      let status = Self.status(monitor.currentPath)
      let onChange = state.withLock { state in
        defer { state.last = status }
        state.isLooking = false
        return state.last == status ? nil : state.onChange
      }
      onChange?(.success(status))
    }

    private static func status(_ path: NWPath) -> InterfaceStatus {
      let outward = path.availableInterfaces.filter { $0.type != .loopback }
      return InterfaceStatus(
        hasInterface: path.status == .satisfied && !outward.isEmpty,
        isUnmetered: !path.isExpensive && !path.isConstrained,
        addresses: outward.map(\.name).sorted() + path.gateways.map { "\($0)" }.sorted())
    }
  }
#endif
