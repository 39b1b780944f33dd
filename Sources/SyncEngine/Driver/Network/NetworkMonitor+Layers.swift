import HTTPClient
import CipherSQL

extension NetworkMonitor {
  /// The first layer: the current interfaces and their changes.
  func watchInterfaces(_ monitor: any InterfaceMonitor) {
    do throws(InterfaceFailure) {
      // First the listening, so that no change falls between.
      try monitor.start { [weak self] in self?.take($0) }
      let status = try monitor.status()
      change { state in
        state.interfaces = status
        if needsInterface, !status.hasInterface { state.network = .offline }
      }
    } catch {
      change { $0.interfaceFailure = error }
    }
  }

  private func take(_ news: Result<InterfaceStatus, InterfaceFailure>) {
    switch news {
    case .failure(let failure):
      change { $0.interfaceFailure = failure }
    case .success(let status):
      change { state in
        state.interfaceFailure = nil
        state.interfaces = status
        guard needsInterface else { return }
        // Whether the server responds through the interface is not known yet.
        if !status.hasInterface {
          state.network = .offline
        } else if state.network == .offline {
          state.network = .limited
        }
      }
      if status.hasInterface, needsInterface { startTask { await self.probe() } }
    }
  }

  /// Probes the server, which is the second layer, and returns the state. Concurrent callers share one request. Returns
  /// `offline` at once without an interface.
  @discardableResult
  public func probe() async -> NetworkState {
    let task = locked.withLock { state -> Task<NetworkState, Never>? in
      if isFixed || state.isForcedOffline || needsInterface && !state.interfaces.hasInterface { return nil }
      if let probe = state.probe { return probe }
      // A task of its own, because the cancellation of one caller must not end it for the others.
      let probe = startTask { await self.askOnce() }
      state.probe = probe
      return probe
    }
    return await task?.value ?? state
  }

  private func askOnce() async -> NetworkState {
    let responseClass = await ask()
    change { $0.probe = nil }
    report(responseClass)
    return state
  }

  static func responseClass(of remote: any Remote) async -> ResponseClass {
    do throws(RemoteFailure) {
      _ = try await remote.health()
      return .ok
    } catch {
      // The health endpoint has one valid response. Any other response comes from another service, or from a server
      // that cannot be used.
      return error.responseClass == .cancelled ? .cancelled : .unreachable
    }
  }
}
