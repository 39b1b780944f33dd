/// When a running worker transfers files: a value that takes events and returns effects. Times are milliseconds since 1970.
struct FileSchedule: Equatable, Sendable {
  /// The input: the result of the last effect.
  enum Event: Equatable, Sendable {
    /// The worker starts.
    case started
    /// A round has ended, the network is back, or the time of a wait has passed.
    case signalled
    /// The transfers have ended.
    /// - Parameter nextDue: when the next file is due; `nil` if there is none, or if the server cannot be reached.
    case ended(nextDue: Int64?)
    /// Remote, settings or network allow no transfer.
    case refused
  }

  /// The output, which an event answers.
  enum Effect: Equatable, Sendable {
    /// Transfer the files that are due.
    case transfer
    /// Wait for a signal, at most until a time.
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
