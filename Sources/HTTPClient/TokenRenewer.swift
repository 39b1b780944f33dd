import CipherSQL

/// Performs the effects of a ``TokenRenewal``.
///
/// The provider runs in a task of its own, because it serves several requests and may ignore a cancellation. A request
/// waits for the verdict, not for the task.
final class TokenRenewer: Sendable {
  /// Checks and stores a token in place of a refused one.
  typealias Accept = @Sendable (_ token: String, _ refused: String?) async throws(TransportFailure) -> String
  private typealias Waiter = CheckedContinuation<TokenRenewal.Verdict, Never>

  private struct State {
    var renewal = TokenRenewal()
    var waiters: [Int: Waiter] = [:]
    var nextRequest = 0
    /// Requests that were cancelled before they began to wait.
    var cancelled: Set<Int> = []
    /// The tasks of the running call.
    var tasks: [Task<Void, Never>] = []
  }

  private let provider: TokenProvider
  private let accept: Accept
  private let clock: Clock
  private let seconds: Double
  private let state = Locked(State())

  /// - Parameter seconds: the longest time that the provider may take.
  init(provider: @escaping TokenProvider, clock: Clock, seconds: Double, accept: @escaping Accept) {
    (self.provider, self.clock, self.seconds, self.accept) = (provider, clock, seconds, accept)
  }

  /// Returns the token with which a request is sent, or sent again; `nil` if there is none.
  /// - Parameters:
  ///   - token: the refused token; `nil` for a request without one.
  ///   - stored: the token that is stored now.
  func replacement(for token: String?, stored: String?) async throws(TransportFailure) -> String? {
    let request = state.withLock { state in
      state.nextRequest += 1
      return state.nextRequest
    }
    let verdict = await withTaskCancellationHandler {
      await withCheckedContinuation { (waiter: Waiter) in
        handle(.refused(request: request, token: token, stored: stored), waiting: (request, waiter))
      }
    } onCancel: {
      handle(.cancelled(request: request))
    }
    state.withLock { _ = $0.cancelled.remove(request) }
    switch verdict {
    case .send(let token): return token
    case .stand: return nil
    case .fail(let failure): throw failure
    }
  }

  /// Notes that the server refused the token of a repeated request.
  func note(refusedAgain token: String) { handle(.refusedAgain(token: token)) }

  /// Lets the provider be asked again after a failure.
  func allowRenewal() { handle(.roundBegan) }

  private func handle(_ event: TokenRenewal.Event, waiting: (request: Int, waiter: Waiter)? = nil) {
    typealias Result = ([TokenRenewal.Effect], [(Waiter, TokenRenewal.Verdict)], [Task<Void, Never>])
    let (effects, resumed, ended) = state.withLock { state -> Result in
      if let (request, waiter) = waiting {
        if state.cancelled.contains(request) {
          return ([], [(waiter, TokenRenewal.Verdict.fail(.cancelled))], [])
        }
        state.waiters[request] = waiter
      }
      if case .cancelled(let request) = event, state.waiters[request] == nil { state.cancelled.insert(request) }
      let effects = state.renewal.handle(event)
      var resumed: [(Waiter, TokenRenewal.Verdict)] = []
      var isPhaseOver = !state.renewal.isRunning
      for effect in effects {
        switch effect {
        case .resume(let requests, let verdict):
          resumed += requests.compactMap { state.waiters.removeValue(forKey: $0) }.map { ($0, verdict) }
        case .check: isPhaseOver = true
        case .ask: break
        }
      }
      var ended: [Task<Void, Never>] = []
      if isPhaseOver { swap(&ended, &state.tasks) }
      return (effects, resumed, ended)
    }
    ended.forEach { $0.cancel() }
    for (waiter, verdict) in resumed { waiter.resume(returning: verdict) }
    for effect in effects {
      switch effect {
      case .ask(let call, let reason): ask(call, reason)
      case .check(let call, let token, let refused): check(call, token, refused)
      case .resume: break
      }
    }
  }

  private func ask(_ call: Int, _ reason: TokenReason) {
    let asking = startTask { [provider, weak self] () async -> Void in
      do {
        let token = try await provider(reason)
        self?.handle(.provided(call: call, token: token))
      } catch {
        self?.handle(.providerFailed(call: call, message: String("\(error)".prefix(300))))
      }
    }
    let timing = startTask { [clock, seconds, weak self] () async -> Void in
      do {
        try await clock.sleep(.seconds(seconds))
        self?.handle(.timedOut(call: call, seconds: seconds))
      } catch {
        // The call has ended.
      }
    }
    keep([asking, timing], of: call)
  }

  private func check(_ call: Int, _ token: String, _ refused: String?) {
    let checking = startTask { [accept, weak self] () async -> Void in
      do throws(TransportFailure) {
        let stored = try await accept(token, refused)
        self?.handle(.accepted(call: call, token: stored))
      } catch {
        self?.handle(.rejected(call: call, error))
      }
    }
    keep([checking], of: call)
  }

  /// Keeps the tasks of a call, to cancel them when it is over.
  private func keep(_ tasks: [Task<Void, Never>], of call: Int) {
    let isOver = state.withLock { state in
      guard state.renewal.isRunning(call) else { return true }
      state.tasks += tasks
      return false
    }
    if isOver { tasks.forEach { $0.cancel() } }
  }
}
