#if canImport(Darwin)
  import CipherSQL
  import Dispatch
  import Foundation

  /// The exchanges of a session, and the one timer that watches their timeouts. Received bytes only move timeouts, so
  /// the requests share the timer. No timer runs without requests.
  final class SessionTable: Sendable {
    private struct State {
      var exchanges: [Int: RequestTask] = [:]
      var tasks: [ObjectIdentifier: URLSessionDataTask] = [:]
      /// The time of the running timer; `nil` without one.
      var alarm: ContinuousClock.Instant?
    }

    private let state = Locked(State())

    func add(_ task: URLSessionDataTask, _ exchange: RequestTask) {
      state.withLock { state in
        state.exchanges[task.taskIdentifier] = exchange
        state.tasks[ObjectIdentifier(exchange)] = task
      }
      watch(exchange)
    }

    func remove(_ exchange: RequestTask) -> URLSessionDataTask? {
      state.withLock { state in
        let task = state.tasks.removeValue(forKey: ObjectIdentifier(exchange))
        if let task { state.exchanges[task.taskIdentifier] = nil }
        return task
      }
    }

    subscript(task: URLSessionTask) -> RequestTask? {
      state.withLock { $0.exchanges[task.taskIdentifier] }
    }

    /// Watches an exchange whose next timeout may have moved closer.
    func watch(_ exchange: RequestTask) {
      watch(until: exchange.look(at: .now))
    }

    private func watch(until nearest: ContinuousClock.Instant) {
      let isNew = state.withLock { state in
        if let alarm = state.alarm, alarm <= nearest { return false }
        state.alarm = nearest
        return true
      }
      guard isNew else { return }
      let seconds = max((nearest - .now) / .seconds(1), 0)
      DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { [weak self] in self?.look(nearest) }
    }

    private func look(_ alarm: ContinuousClock.Instant) {
      let exchanges = state.withLock { state in
        // A later timer that an earlier one has replaced says nothing.
        guard state.alarm == alarm else { return [RequestTask]() }
        state.alarm = nil
        return Array(state.exchanges.values)
      }
      let now = ContinuousClock.now
      if let nearest = exchanges.map({ $0.look(at: now) }).filter({ $0 > now }).min() { watch(until: nearest) }
    }
  }
#endif
