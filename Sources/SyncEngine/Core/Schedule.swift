import HTTPClient

/// The schedule of the rounds of a running worker: a value that receives events and returns effects.
///
/// A worker reports one event at a time, and no events during a round. Times are milliseconds since 1970.
package struct Schedule: Equatable, Sendable {
  /// A round at least this often: 15 minutes.
  package static let interval: Int64 = 15 * 60_000
  /// The longest pause between tries while the server cannot be reached: 5 minutes.
  package static let longestBackoff: Int64 = 5 * 60_000

  /// The cause of a round. The raw values are those of `SyncRun.cause`.
  package enum Cause: String, CaseIterable, Sendable {
    case manual, resume, network, timer
    case request = "nudge"
    case localWrite = "local_write"
    /// The server reported changes.
    case remoteChange = "remote_change"

    /// Whether the user wants to see the newest data.
    var isByUser: Bool { self == .manual || self == .resume || self == .request }
  }

  /// The input: the result of the last effect, or news of the device.
  package enum Event: Equatable, Sendable {
    /// The worker starts.
    case started
    /// A round was requested.
    case requested(Cause)
    /// The state of the network has changed.
    case network(NetworkState, isUnmetered: Bool)
    /// Another connection has written to the vault.
    /// - Parameters:
    ///   - roundRequest: the stored request of another process for a round.
    ///   - hasReady: whether operations are ready to be sent.
    case wrote(roundRequest: String?, hasReady: Bool)
    /// The time of a wait has passed.
    case waited
    /// The round has ended.
    /// - Parameters:
    ///   - failure: the class of the response that ended it; `nil` for none.
    ///   - nextDue: the earliest scheduled time of an operation.
    ///   - jitter: 0 to 1. Spreads devices that lost the server at the same time.
    case ended(RoundOutcome, failure: ResponseClass?, nextDue: Int64?, jitter: Double)
    /// The settings do not allow a round, or not on a metered network.
    case refused(isMetered: Bool)
  }

  /// The output. The last effect of a list is a round or a wait, and needs an event.
  package enum Effect: Equatable, Sendable {
    /// Perform a round.
    case begin(Cause, RoundRequest)
    /// Waits for an event, at most until a time; `nil` if only an event can bring the next round.
    case wait(until: Int64?)
    /// Report progress.
    case tell(SyncEvent)
  }

  private var request: RoundRequest
  private var roundRequest: String?
  private var network: NetworkState
  private var wanted: Cause? = .resume
  private var nextTimer: Int64
  private var nextDue: Int64?
  private var failures = 0
  private var notBefore: Int64 = 0
  /// What a paused outbox waits for; `nil` for one that is not paused.
  private var pause: Pause?
  private var waitsForUnmetered = false

  private enum Pause {
    /// Other credentials or settings.
    case user
    /// An upgrade of the server, or its lost data. No event reports these, so the timer looks for them.
    case server
  }

  /// Creates a schedule whose first round begins at once.
  /// - Parameters:
  ///   - request: the purposes of the rounds. Only the first successful one compares all records.
  ///   - roundRequest: the last stored request of another process for a round.
  package init(_ request: RoundRequest, roundRequest: String?, now: Int64, network: NetworkState) {
    (self.request, self.roundRequest, self.network) = (request, roundRequest, network)
    nextTimer = now + Self.interval
  }

  /// Applies an event.
  package mutating func handle(_ event: Event, now: Int64) -> [Effect] {
    let progress = apply(event, now)
    if let cause = begin(now) { return progress + [.begin(cause, request)] }
    return progress + [.wait(until: wake(now))]
  }

  private mutating func apply(_ event: Event, _ now: Int64) -> [Effect] {
    switch event {
    case .started, .waited: break
    case .requested(let cause): want(cause)
    case .network(let state, let isUnmetered):
      networkChanged(to: state)
      if waitsForUnmetered, isUnmetered {
        waitsForUnmetered = false
        goOn(.network)
      }
      return [.tell(.network(state))]
    case .wrote(let other, let hasReady):
      if other != roundRequest {
        roundRequest = other
        want(.manual)
      } else if request.pushes, hasReady {
        want(.localWrite)
        return [.tell(.queued)]
      }
    case .ended(let outcome, let failure, let due, let jitter):
      request.isFull = request.isFull && outcome != .done
      let needsUser = failure == .pauseCredentials || failure == .deviceRevoked
      if outcome == .paused { pause = needsUser ? .user : .server } else { pause = nil }
      // A worker that only pulls does not send due operations.
      ended(outcome, now, nextDue: request.pushes ? due : nil, jitter)
    case .refused(let isMetered):
      waitsForUnmetered = isMetered
      pause = .user
      ended(.paused, now, nextDue: nil, 0)
    }
    return []
  }

  /// Requests a round. A user's request does not wait for a backoff and ends a pause.
  private mutating func want(_ cause: Cause) {
    if cause == .manual || cause == .resume { return goOn(cause) }
    note(cause)
  }

  /// Ends pause and backoff, because their reason no longer exists.
  private mutating func goOn(_ cause: Cause) {
    notBefore = 0
    pause = nil
    note(cause)
  }

  /// Notes a cause. One of a user stays: its round fetches lists that other rounds do not.
  private mutating func note(_ cause: Cause) {
    if wanted == .manual || wanted?.isByUser == true && !cause.isByUser { return }
    wanted = cause
  }

  /// Applies a change of the network. When it returns, the next round begins at once.
  private mutating func networkChanged(to state: NetworkState) {
    let isBack = state == .online && network != .online
    network = state
    guard isBack else { return }
    notBefore = 0
    failures = 0
    want(.network)
  }

  private mutating func ended(_ outcome: RoundOutcome, _ now: Int64, nextDue: Int64?, _ jitter: Double) {
    nextTimer = now + Self.interval
    self.nextDue = nextDue
    switch outcome {
    case .done:
      failures = 0
      notBefore = 0
    case .offline, .failed:
      failures += 1
      let whole = min(Self.longestBackoff, Int64(1000) << min(failures - 1, 20))
      notBefore = now + max(500, Int64(Double(whole) * min(max(jitter, 0), 1)))
      if wanted == nil { wanted = .timer }
    case .paused, .cancelled: break
    }
  }

  /// Returns the round to begin now and clears the request, or `nil`.
  private mutating func begin(_ now: Int64) -> Cause? {
    // A clock that was set back must not stop sync for as long.
    (notBefore, nextTimer) = (min(notBefore, now + Self.longestBackoff), min(nextTimer, now + Self.interval))
    if pause == .user || network == .offline || now < notBefore { return nil }
    if let cause = wanted, pause == nil {
      wanted = nil
      return cause
    }
    if now >= nextTimer || pause == nil && nextDue.map({ now >= $0 }) == true {
      nextDue = nil
      return .timer
    }
    return nil
  }

  /// Returns when to look again if nothing happens before.
  private func wake(_ now: Int64) -> Int64? {
    if pause == .user || network == .offline { return nil }
    if pause == .server { return max(nextTimer, notBefore) }
    if wanted != nil { return max(now, notBefore) }
    return max([nextTimer, nextDue ?? nextTimer].min() ?? nextTimer, notBefore)
  }
}

extension RoundStep {
  /// The seconds after which a step is noted in the vault, so that a trace shows the cause of an endless round; `nil`
  /// for the last step.
  var slowSeconds: Int? { isFinish ? nil : 5 }
}

/// The schedule of the file transfers of a running worker: a value that receives events and returns effects. Times are
/// milliseconds since 1970.
struct FileSchedule: Equatable, Sendable {
  /// The input: the result of the last effect.
  enum Event: Equatable, Sendable {
    /// The worker starts.
    case started
    /// A round has ended, the network is back, or the time of a wait has passed.
    case signalled
    /// The transfers have ended.
    /// - Parameter nextDue: the time when the next file is due; `nil` if no file waits, or if the server cannot be
    ///   reached.
    case ended(nextDue: Int64?)
    /// Remote, settings or network allow no transfer.
    case refused
  }

  /// The output. One event reports the result of each effect.
  enum Effect: Equatable, Sendable {
    /// Transfer the files that are due.
    case transfer
    /// Waits for a signal, at most until a time.
    case wait(until: Int64?)
  }

  private var nextDue: Int64?

  /// Applies an event.
  mutating func handle(_ event: Event, now: Int64) -> Effect {
    switch event {
    case .started: break
    case .signalled: return .transfer
    case .ended(let due): nextDue = due
    case .refused:
      // A time that has passed must not signal again and again.
      if let due = nextDue, due <= now { nextDue = nil }
    }
    return .wait(until: nextDue)
  }
}
