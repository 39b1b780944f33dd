import CipherSQL
import FileServer
import HTTPServer
import Platform
import ServerStorage
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Removes old data, so that an account does not grow without limit: responses and deletions after a time, the files
/// of forgotten records, and abandoned uploads.
///
/// One account at a time is processed, and the accounts are spread over each round, because opening them all at once would
/// take the memory and the processor from requests.
struct Retention: Sendable {
  let days: Int
  let storage: any RecordStorage
  let files: any FileStorage
  var objects: ObjectFiles?
  /// Returns the contents among some that records of an account reference.
  let inUse: @Sendable (AccountName, [String]) async throws -> Set<String>
  let directory: any AccountDirectory
  let environment: Environment
  let log: RequestLog
  /// Receives the wall time of each round that this process has begun, after the accounts of the round were chosen.
  var began: @Sendable (Int64) -> Void = { _ in }

  /// The time over which a round spreads its accounts.
  private static let round = Duration.seconds(900)

  /// The work of a round for an account.
  private struct Visit {
    let account: AccountName
    /// Whether old data are forgotten; otherwise, only uploads expire.
    let forgets: Bool
  }

  /// Forgets the old data of each account every six hours of retention time (``RetentionSlot``), and cancels abandoned
  /// uploads in rounds of a quarter of an hour, until the task is cancelled.
  func run(_ clock: ServerClock) async {
    var last: Int64?
    do {
      while true {
        if clock.needsBeginning { try await begin(clock, at: environment.now) }
        let start = environment.clock.instant()
        var time: RetentionClock?
        do {
          time = try clock.advance(wall: environment.now)
        } catch {
          log.failure("retention is skipped because its time cannot be stored: \(error)")
        }
        let visits = ownsRound ? visits(after: last, until: time?.now, at: environment.now) : []
        began(environment.now)
        try await spread(visits, from: start) { visit in
          if visit.forgets, let time { await forget(visit.account, before: time.limit(days: days), at: time.now) }
          await expireUploads(of: visit.account, at: environment.now)
        }
        last = time?.now ?? last
        try await environment.clock.sleepUntil(start + Self.round)
      }
    } catch {
      // The task is cancelled.
    }
  }

  /// Whether no other process does the work of this round.
  private var ownsRound: Bool {
    let now = environment.now
    do {
      return try directory.ownsRetention(at: now, until: now + 2 * Int64(Self.round / .milliseconds(1)))
    } catch {
      log.failure("old data are not removed now: \(error)")
      return false
    }
  }

  /// Returns the accounts that a round processes.
  /// - Parameters:
  ///   - last: the retention time of the last round; `nil` for the first one of a process, which repeats the last round of the
  ///     process before.
  ///   - now: the retention time; `nil` if it is unknown.
  private func visits(after last: Int64?, until now: Int64?, at time: Int64) -> [Visit] {
    accounts("old data could not be removed").compactMap { account in
      if let now, RetentionSlot(account).isPassed(after: last ?? now - RetentionSlot.longestRound, until: now) {
        return Visit(account: account, forgets: true)
      }
      guard files.mayExpire(account, at: time, hasObjects: objects != nil) else { return nil }
      return Visit(account: account, forgets: false)
    }
  }

  /// Runs a body for each element, spread evenly over a round.
  private func spread<Element>(
    _ elements: [Element], from start: ContinuousClock.Instant, _ body: (Element) async -> Void
  ) async throws {
    for (index, element) in elements.enumerated() {
      try await environment.clock.sleepUntil(start + Self.round * index / elements.count)
      try Task.checkCancellation()
      await body(element)
    }
  }

  /// Starts the time of retention. For data of version 0.1, which lack it, the time starts at their last change.
  private func begin(_ clock: ServerClock, at now: Int64) async throws {
    let largest = Locked<Int64?>(nil)
    let failure = "cannot read the time of the last change"
    try await spread(accounts(failure), from: environment.clock.instant()) { account in
      await attempt(failure, account) {
        guard let time = try await storage.read(account, { try $0.largestStoredTime }) else { return }
        largest.withLock { $0 = max($0 ?? time, time) }
      }
    }
    clock.begin(largestStored: largest.withLock { $0 }, wall: now)
  }

  /// Forgets responses and deletions from before a time, and sweeps files that no record references: files that a
  /// record once referenced, and other files from before that time.
  /// - Parameter now: the time of the sweep of files.
  func forget(_ account: AccountName, before time: Int64, at now: Int64) async {
    await attempt("old responses, deletions and files could not be forgotten", account) {
      try await storage.forget(account, before: time)
      let rule = SweepRule(at: now, neverUsedBefore: time) { contents in try await inUse(account, contents) }
      try await files.sweep(account, rule)
      try await objects?.sweep(account, rule)
    }
  }

  func expireUploads(of account: AccountName, at time: Int64) async {
    await attempt("cannot discard expired uploads", account) {
      try await files.expire(account, at: time)
      try await objects?.expire(account, at: time)
      try await files.readExpiry(account, at: time)
    }
  }

  private func accounts(_ failure: String) -> [AccountName] {
    do {
      return try directory.accounts()
    } catch {
      log.failure("\(failure): \(error)")
      return []
    }
  }

  private func attempt(_ failure: String, _ account: AccountName, _ body: () async throws -> Void) async {
    do {
      try await body()
    } catch is CancellationError {
      return
    } catch {
      // The account may have been deleted since the beginning of the round.
      if !accounts(failure).contains(account) { return }
      // A damaged account must not stop the processing of the others. Its folder has a random name, which
      // identifies no user.
      log.failure("\(failure) in accounts/\(account.folder): \(error)")
    }
  }
}

/// The moment in every six hours of retention time at which the old data of an account are forgotten.
///
/// The moments of all accounts are spread over the six hours. They depend on stored time only, so that a restart omits no
/// account. Without progress of that time nothing becomes old.
struct RetentionSlot: Sendable {
  /// Six hours, in milliseconds.
  static let interval: Int64 = 6 * 3_600_000
  /// The greatest progress of retention time in a round of a quarter of an hour, in milliseconds.
  static let longestRound: Int64 = 2 * 900_000

  private let offset: Int64

  init(_ account: AccountName) {
    // FNV-1a. The names of folders are random, except those of tests.
    let hash = account.folder.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    offset = Int64(hash % UInt64(Self.interval))
  }

  /// Returns whether the moment is after one time and not after another one.
  func isPassed(after last: Int64, until now: Int64) -> Bool { number(now) > number(last) }

  private func number(_ time: Int64) -> Int64 {
    let (quotient, remainder) = (time - offset).quotientAndRemainder(dividingBy: Self.interval)
    return remainder < 0 ? quotient - 1 : quotient
  }
}

/// The ``RetentionClock`` of a running server, with the monotonic clock that drives it. The directory stores its time.
final class ServerClock: Sendable {
  private struct State {
    var clock: RetentionClock?
    var last: ContinuousClock.Instant
  }

  private let directory: any AccountDirectory
  private let clock: Clock
  private let state: Locked<State>

  init(_ directory: any AccountDirectory, _ clock: Clock) throws {
    (self.directory, self.clock) = (directory, clock)
    state = Locked(
      State(
        clock: try directory.retentionTime().map(RetentionClock.init(stored:)),
        last: clock.instant()))
  }

  /// Whether the server has no time yet, as after an upgrade from version 0.1.
  var needsBeginning: Bool { state.withLock { $0.clock == nil } }

  /// Starts the clock at the time of the last change.
  func begin(largestStored: Int64?, wall: Int64) {
    state.withLock { state in
      if state.clock == nil { state.clock = RetentionClock(largestStored: largestStored, wall: wall) }
    }
  }

  /// Advances the time by the duration of the monotonic clock, and stores it.
  func advance(wall: Int64) throws -> RetentionClock {
    let clock = state.withLock { state in
      let now = self.clock.instant()
      var clock = state.clock ?? RetentionClock(largestStored: nil, wall: wall)
      clock.advance(by: Int64(state.last.duration(to: now) / .milliseconds(1)), wall: wall)
      (state.clock, state.last) = (clock, now)
      return clock
    }
    try directory.storeRetentionTime(clock.now)
    return clock
  }

  /// The time of retention; `nil` before its start.
  var now: Int64? { state.withLock { $0.clock?.now } }

  /// Returns the time under which a change is stored.
  func storing(at wall: Int64) -> Int64 { state.withLock { $0.clock?.storing(at: wall) ?? wall } }
}
