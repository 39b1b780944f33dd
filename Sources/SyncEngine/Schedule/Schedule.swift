/// When the next round begins: values in, values out.
///
/// Times are milliseconds since 1970.
public struct Schedule: Equatable, Sendable {
  /// A round at least this often: 15 minutes.
  public static let interval: Int64 = 15 * 60_000
  /// The longest pause between tries while the server cannot be reached: 5 minutes.
  public static let longestBackoff: Int64 = 5 * 60_000

  /// The cause of a round. The raw values are those of `SyncRun.cause`.
  public enum Cause: String, CaseIterable, Sendable {
    case manual, resume, network, timer
    case request = "nudge"
    case localWrite = "local_write"
    /// The server reported changes.
    case remoteChange = "remote_change"

    /// Whether the user wants to see the newest data.
    var isByUser: Bool { self == .manual || self == .resume || self == .request }
  }

  private var wanted: Cause?
  private var nextTimer: Int64
  private var nextDue: Int64?
  private var failures = 0
  private var notBefore: Int64 = 0
  /// The state of the network.
  public private(set) var network: NetworkState
  /// Whether the queue pauses until there are new credentials or settings.
  public private(set) var isPaused = false

  /// Creates a schedule whose first round begins at once.
  public init(now: Int64, network: NetworkState) {
    wanted = .resume
    nextTimer = now + Self.interval
    self.network = network
  }

  /// Requests a round. A user's request does not wait for a backoff and ends a pause.
  public mutating func want(_ cause: Cause) {
    if cause == .manual || cause == .resume { return goOn(cause) }
    note(cause)
  }

  /// Ends pause and backoff, because their reason is gone.
  public mutating func goOn(_ cause: Cause) {
    notBefore = 0
    isPaused = false
    note(cause)
  }

  /// Notes a cause. One of a user stays: its round fetches lists that other rounds do not.
  private mutating func note(_ cause: Cause) {
    if wanted == .manual || wanted?.isByUser == true && !cause.isByUser { return }
    wanted = cause
  }

  /// Applies a change of the network. When it returns, the next round begins at once.
  public mutating func networkChanged(to state: NetworkState) {
    let isBack = state == .online && network != .online
    network = state
    guard isBack else { return }
    notBefore = 0
    failures = 0
    want(.network)
  }

  /// Applies the end of a round.
  /// - Parameters:
  ///   - nextDue: the earliest scheduled time of an operation.
  ///   - jitter: 0 to 1. Spreads devices that lost the server at the same time.
  public mutating func ended(_ outcome: RoundOutcome, now: Int64, nextDue: Int64?, jitter: Double) {
    nextTimer = now + Self.interval
    self.nextDue = nextDue
    switch outcome {
    case .done:
      failures = 0
      notBefore = 0
    case .paused: isPaused = true
    case .offline, .failed:
      failures += 1
      let whole = min(Self.longestBackoff, Int64(1000) << min(failures - 1, 20))
      notBefore = now + max(500, Int64(Double(whole) * min(max(jitter, 0), 1)))
      if wanted == nil { wanted = .timer }
    case .cancelled: break
    }
  }

  /// Returns the round to begin now and clears the request, or `nil`.
  public mutating func begin(now: Int64) -> Cause? {
    // A clock that was set back must not stop sync for as long.
    (notBefore, nextTimer) = (min(notBefore, now + Self.longestBackoff), min(nextTimer, now + Self.interval))
    if isPaused || network == .offline || now < notBefore { return nil }
    if let cause = wanted {
      wanted = nil
      return cause
    }
    if now >= nextTimer || nextDue.map({ now >= $0 }) == true {
      nextDue = nil
      return .timer
    }
    return nil
  }

  /// When to look again if nothing happens before; nil when only an event can bring the next round.
  public func wake(now: Int64) -> Int64? {
    if isPaused || network == .offline { return nil }
    if wanted != nil { return max(now, notBefore) }
    return max([nextTimer, nextDue ?? nextTimer].min() ?? nextTimer, notBefore)
  }
}
