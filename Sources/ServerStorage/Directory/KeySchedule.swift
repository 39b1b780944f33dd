/// Decides when the keys of an identity provider are fetched: at the start, every hour, and when a token names a key that is
/// unknown. One fetch runs at a time, and the keys stay when it fails.
package struct KeySchedule: Sendable {
  /// The input.
  package enum Event: Equatable, Sendable {
    case start
    /// A token named a key that the keys do not have.
    case unknownKey(String)
    /// The time of a wait has passed.
    case due
    /// A fetch succeeded.
    case fetched
    case failed
  }

  /// The output.
  package enum Effect: Equatable, Sendable {
    case fetch
    /// Wait, then continue with `due`.
    case wait(until: ContinuousClock.Instant)
  }

  /// The time between two fetches, once there are keys.
  package static let pause = Duration.seconds(60)
  /// The age at which keys are fetched again.
  package static let age = Duration.seconds(3_600)
  /// The greatest number of ids that are remembered until the next fetch.
  static let greatestIds = 64

  private var hasKeys = false
  private var isFetching = false
  private var startedAt: ContinuousClock.Instant?
  private var failures = 0
  private var next: ContinuousClock.Instant?
  /// When the running wait ends.
  private var wake: ContinuousClock.Instant?
  /// The ids that were named since the last fetch began.
  private var waiting: Set<String> = []
  /// The ids that the running fetch is to find.
  private var asked: Set<String> = []
  /// The ids that the last fetch did not find.
  private var missing: Set<String> = []

  package init() {}

  /// Applies an event.
  package mutating func handle(_ event: Event, at now: ContinuousClock.Instant) -> [Effect] {
    switch event {
    case .start: next = now
    case .unknownKey(let id):
      if !isFetching || !asked.contains(id), waiting.count < Self.greatestIds { waiting.insert(id) }
      if hasKeys, let startedAt { next = earlier(startedAt + Self.pause) }
    case .due: wake = nil
    case .fetched:
      (isFetching, hasKeys, failures) = (false, true, 0)
      (missing, asked) = (asked, [])
      next = now + Self.age
      if !waiting.isEmpty, let startedAt { next = startedAt + Self.pause }
    case .failed:
      isFetching = false
      failures += 1
      waiting.formUnion(asked)
      asked = []
      // Without keys nobody can sign in, so the first attempts follow each other soon.
      next = now + (hasKeys ? Self.pause : min(.seconds(1 << min(failures - 1, 6)), Self.pause))
    }
    return begin(now)
  }

  private func earlier(_ time: ContinuousClock.Instant) -> ContinuousClock.Instant {
    next.map { min($0, time) } ?? time
  }

  private mutating func begin(_ now: ContinuousClock.Instant) -> [Effect] {
    guard let next, !isFetching else { return [] }
    if next <= now {
      (isFetching, startedAt, self.next) = (true, now, nil)
      (asked, waiting) = (waiting, [])
      return [.fetch]
    }
    if let wake, wake <= next { return [] }
    wake = next
    return [.wait(until: next)]
  }

  /// Returns the seconds after which a token with an unknown key is worth another attempt; `nil` if the provider does not have
  /// the key.
  package func secondsToWait(for id: String, at now: ContinuousClock.Instant) -> Int? {
    if hasKeys, missing.contains(id) { return nil }
    if isFetching { return 1 }
    let rest = next.map { now.duration(to: $0) } ?? .zero
    return max(1, Int(rest.components.seconds) + 1)
  }
}
