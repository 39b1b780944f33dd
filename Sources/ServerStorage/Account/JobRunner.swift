import Platform

/// The part of an engine that does the jobs of one account.
package protocol JobOwner: AnyObject, Sendable {
  /// Runs one transaction of the jobs.
  /// - Returns: the changes, and whether any jobs are left.
  func doJob() async throws -> (changes: CommittedChanges?, hasJobs: Bool)
  /// Tells the requests that wait for changes of the account.
  func announce(_ changes: CommittedChanges)
}

/// Does the jobs of an account in the background, each in a transaction of its own.
///
/// It keeps its owner alive while jobs run, and not while it pauses after a failure.
package final class JobRunner: Sendable {
  private enum State { case idle, running, runningWithMore, closed }

  private let state = Locked(State.idle)
  private let unannounced = Locked<CommittedChanges?>(nil)
  private let clock: Clock
  private let log: @Sendable (String) -> Void

  /// - Parameter log: receives each failure.
  package init(clock: Clock, log: @escaping @Sendable (String) -> Void) { (self.clock, self.log) = (clock, log) }

  /// Starts the jobs, unless they are running.
  package func start(for owner: some JobOwner) {
    let isToStart = state.withLock { state -> Bool in
      switch state {
      case .idle:
        state = .running
        return true
      case .running:
        state = .runningWithMore
        return false
      case .runningWithMore, .closed: return false
      }
    }
    if isToStart { startTask { await self.run(for: owner) } }
  }

  /// Starts no further transaction.
  package func close() { state.withLock { $0 = .closed } }

  private func run(for owner: some JobOwner) async {
    while isRunning {
      do {
        if try await !step(owner) {
          state.withLock { if $0 != .closed { $0 = $0 == .runningWithMore ? .running : .idle } }
        }
      } catch {
        guard isRunning else { return }
        log("the dependents of a record are retried later: \(error)")
        state.withLock { if $0 != .closed { $0 = .idle } }
        startTask { [weak self, weak owner, clock] in
          try await clock.sleep(Self.pauseAfterFailure)
          if let self, let owner { start(for: owner) }
        }
      }
    }
  }

  private static let pauseAfterFailure = Duration.seconds(10)

  private var isRunning: Bool { state.withLock { $0 == .running || $0 == .runningWithMore } }

  /// Runs one transaction. Returns whether any jobs are left.
  private func step(_ owner: some JobOwner) async throws -> Bool {
    let (changes, hasJobs) = try await owner.doJob()
    // Announces once at the end, because devices would otherwise pull after each transaction.
    let announced = unannounced.withLock { known -> CommittedChanges? in
      known = changes?.union(known) ?? known
      guard !hasJobs else { return nil }
      defer { known = nil }
      return known
    }
    if let announced { owner.announce(announced) }
    return hasJobs
  }
}

/// A limit of CPU time for the current thread, counted from the creation of the value.
struct ThreadTime {
  private let clock: Clock
  private let end: Int64

  /// The CPU time of a write transaction of a job, in nanoseconds. With its commit, the transaction stays below 50 ms.
  static let ofJob: Int64 = 20_000_000

  init(_ clock: Clock, nanoseconds: Int64 = ofJob) {
    self.clock = clock
    end = clock.threadTime() + nanoseconds
  }

  var isOver: Bool { clock.threadTime() >= end }
}
