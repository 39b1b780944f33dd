/// The long polls, which the server holds open until it has changes: a value that receives events and returns effects.
struct LongPolling: Equatable, Sendable {
  /// The seconds for which the server may keep a request open.
  static let seconds = 50
  /// The longest pauses in seconds, after failures and after responses without changes.
  static let longestPause = (failure: 300, empty: 60)

  /// The input: the result of the last effect.
  enum Event: Equatable, Sendable {
    /// The worker starts.
    case started
    /// The state of the device.
    case looked(Facts)
    /// The server responded.
    /// - Parameters:
    ///   - isNew: whether it has changes after the cursor.
    ///   - isQuick: whether it responded without waiting.
    ///   - cursor: the cursor for the next request; `nil` for the one of this request.
    case responded(isNew: Bool, isQuick: Bool, cursor: String? = nil)
    /// The request or an access to the vault failed.
    case failed
    /// A round has ended.
    case roundEnded
    /// The time of a wait has passed.
    case waited
  }

  /// The state of the device.
  struct Facts: Equatable, Sendable {
    /// The end of the pulled changes; `nil` before the first round.
    var cursor: String?
    /// The followed projects; empty for all.
    var projects: [String] = []
    /// Whether network and settings allow a request.
    var mayAsk: Bool
    /// Whether a round is running.
    var isInRound: Bool
  }

  /// The output. The last effect of a list needs an event.
  enum Effect: Equatable, Sendable {
    /// Read the state of the device.
    case look
    /// Ask the server for changes of projects after a cursor.
    case ask(cursor: String, projects: [String], seconds: Int)
    /// Request a round. Needs no event.
    case request(Schedule.Cause)
    /// Wait for the end of a round since the last look or request.
    case waitForRound
    /// Wait, then continue.
    case wait(seconds: Int)
  }

  /// The end of the pulled changes, and the projects that were followed.
  private struct Position: Equatable {
    let cursor: String
    let projects: [String]
  }

  /// A cursor behind changes of other projects.
  private struct Unchanged: Equatable {
    let pulled: Position
    let cursor: String
  }

  private enum State: Equatable {
    /// The state without an outstanding request.
    case idle
    case asking(Position)
    /// The server reported changes after the cursor.
    case reported(cursor: String, isQuick: Bool, hasWaited: Bool)
    /// The response is processed, by a round if it reported changes.
    case processed(cursor: String, isQuick: Bool)
  }

  private var state = State.idle
  /// How far the server has found no change of the projects after the end of the pulled changes.
  private var unchanged: Unchanged?
  private var failures = 0
  private var empty = 0

  /// Applies an event. An event that does not belong to the state starts again.
  mutating func handle(_ event: Event) -> [Effect] {
    switch (state, event) {
    case (_, .failed): return failed()
    case (.asking(let pulled), .responded(let isNew, let isQuick, let next)):
      let cursor = pulled.cursor
      if let next { unchanged = Unchanged(pulled: pulled, cursor: next) }
      state =
        isNew
        ? .reported(cursor: cursor, isQuick: isQuick, hasWaited: false) : .processed(cursor: cursor, isQuick: isQuick)
    case (.reported, .roundEnded), (.processed, .roundEnded): break
    case (.reported(let cursor, let isQuick, let hasWaited), .looked(let facts)):
      return reported(cursor, isQuick, hasWaited, facts)
    case (.processed(let cursor, let isQuick), .looked(let facts)): return processed(cursor, isQuick, facts)
    case (.idle, .looked(let facts)): return ask(facts)
    default: state = .idle
    }
    return [.look]
  }

  private mutating func ask(_ facts: Facts) -> [Effect] {
    state = .idle
    guard facts.mayAsk, let cursor = facts.cursor else { return [.waitForRound] }
    let pulled = Position(cursor: cursor, projects: facts.projects)
    if unchanged?.pulled != pulled { unchanged = nil }
    state = .asking(pulled)
    return [.ask(cursor: unchanged?.cursor ?? cursor, projects: facts.projects, seconds: Self.seconds)]
  }

  private mutating func reported(
    _ cursor: String, _ isQuick: Bool, _ hasWaited: Bool, _ facts: Facts
  ) -> [Effect] {
    if facts.isInRound, !hasWaited {
      state = .reported(cursor: cursor, isQuick: isQuick, hasWaited: true)
      return [.waitForRound]
    }
    // The change was this device's own, or a round has fetched it already.
    if facts.cursor != cursor { return ask(facts) }
    state = .processed(cursor: cursor, isQuick: isQuick)
    // Until a round has moved the cursor, the response would be the same.
    return [.request(.remoteChange), .waitForRound]
  }

  /// A server that responds at once without changes is polled less and less often.
  private mutating func processed(_ cursor: String, _ isQuick: Bool, _ facts: Facts) -> [Effect] {
    failures = 0
    empty = isQuick && facts.cursor == cursor ? empty + 1 : 0
    guard empty > 0 else { return ask(facts) }
    state = .idle
    return [.wait(seconds: min(1 << min(empty - 1, 6), Self.longestPause.empty))]
  }

  /// A round reports the failure and is repeated until the server responds.
  private mutating func failed() -> [Effect] {
    (state, unchanged) = (.idle, nil)
    failures += 1
    let pause = Effect.wait(seconds: min(5 << min(failures - 1, 6), Self.longestPause.failure))
    return failures == 1 ? [.request(.network), pause] : [pause]
  }
}
