#if canImport(Darwin)
  import CipherSQL
  import Dispatch
  import Foundation

  /// The exchanges of a session, and the one timer that watches their limits. What arrives only moves limits, so a
  /// request costs no timer of its own, and while there is none nothing wakes up.
  final class SessionTable: Sendable {
    private struct State {
      var exchanges: [Int: RequestTask] = [:]
      var tasks: [ObjectIdentifier: URLSessionDataTask] = [:]
      /// When the timer goes off that is set; nil when there is none.
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

    /// Minds an exchange whose nearest limit can have come nearer.
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
