import Platform
import TestSupport

/// A value that tasks of a simulation share.
///
/// `@unchecked Sendable` holds because a simulation has one thread.
struct OneThread<Value>: @unchecked Sendable {
  let value: Value
}

/// Runs all tasks of a simulation on the calling thread, in virtual time and in an order that the seed decides.
///
/// `@unchecked Sendable` holds because a simulation has one thread: every job runs inside ``run(until:while:)``, and the tasks
/// never leave this executor.
final class Scheduler: SingleThreadExecutor, @unchecked Sendable {
  /// A sleeping task, or a call at a time.
  private struct Timer {
    let time: Int64
    /// Of timers with the same time, the first one is first.
    let number: UInt64
    let fire: @Sendable () -> Void
  }

  /// The virtual time since the start, in microseconds.
  private(set) var now: Int64 = 0
  private var random: Seeded
  private var ready: [UnownedJob] = []
  /// A binary heap.
  private var timers: [Timer] = []
  private var lastTimer: UInt64 = 0
  /// Called after each job, for the log of a replay.
  var afterJob: (() -> Void)?
  private let begin = ContinuousClock.now

  init(_ random: Seeded) { self.random = random }

  /// The virtual time as an instant.
  var instant: ContinuousClock.Instant { begin + .microseconds(now) }

  func enqueue(_ job: consuming ExecutorJob) { ready.append(UnownedJob(job)) }

  /// Starts a task.
  @discardableResult
  func start(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    Task(executorPreference: self) { await body() }
  }

  /// Calls a closure after a time in microseconds.
  func after(_ microseconds: Int64, _ fire: @escaping @Sendable () -> Void) {
    lastTimer += 1
    push(Timer(time: now + max(microseconds, 0), number: lastTimer, fire: fire))
  }

  /// Sleeps in virtual time.
  /// - Throws: `CancellationError`
  func sleep(_ microseconds: Int64) async throws {
    let box = Locked<(continuation: CheckedContinuation<Void, any Error>?, isOver: Bool)>((nil, false))
    @Sendable func end(_ result: Result<Void, any Error>) {
      let continuation = box.withLock { state in
        state.isOver = true
        defer { state.continuation = nil }
        return state.continuation
      }
      continuation?.resume(with: result)
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        let isOver = box.withLock { state in
          if !state.isOver { state.continuation = continuation }
          return state.isOver
        }
        if isOver { return continuation.resume(throwing: CancellationError()) }
        after(microseconds) { end(.success(())) }
      }
    } onCancel: {
      end(.failure(CancellationError()))
    }
  }

  /// Lets virtual time pass, also in a cancelled task. The task never goes on if the simulation ends before.
  func pass(_ microseconds: Int64) async {
    await withUnsafeContinuation { continuation in after(microseconds) { continuation.resume() } }
  }

  /// Runs jobs and timers until a time, or until a condition holds.
  func run(until limit: Int64, while condition: () -> Bool = { true }) {
    while condition() {
      if !ready.isEmpty {
        let index = ready.count == 1 ? 0 : random.number(0..<ready.count)
        let job = ready.remove(at: index)
        job.runSynchronously(on: asUnownedTaskExecutor())
        afterJob?()
      } else if let timer = timers.first, timer.time <= limit {
        pop()
        now = max(now, timer.time)
        timer.fire()
      } else {
        now = max(now, limit)
        return
      }
    }
  }

  /// Lets time pass as while all computers are suspended. Timers that become due fire afterwards, in their order.
  func skip(_ microseconds: Int64) { now += microseconds }

  /// Runs a body to its end. Returns `nil` if nothing is left that could continue it within a time in microseconds.
  func finish<Value: Sendable>(
    within microseconds: Int64, _ body: @escaping @Sendable () async throws -> Value
  ) throws -> Value? {
    let result = Locked<Result<Value, any Error>?>(nil)
    start {
      do {
        let value = try await body()
        result.withLock { $0 = .success(value) }
      } catch {
        result.withLock { $0 = .failure(error) }
      }
    }
    run(until: now + microseconds) { result.withLock { $0 == nil } }
    return try result.withLock { $0 }?.get()
  }

  /// Forgets all timers, which belong to cancelled sleeps when the simulation is over.
  func clear() { timers = [] }

  // MARK: The heap

  private func isBefore(_ left: Int, _ right: Int) -> Bool {
    (timers[left].time, timers[left].number) < (timers[right].time, timers[right].number)
  }

  private func push(_ timer: Timer) {
    timers.append(timer)
    var index = timers.count - 1
    while index > 0, isBefore(index, (index - 1) / 2) {
      timers.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  private func pop() {
    timers.swapAt(0, timers.count - 1)
    timers.removeLast()
    var index = 0
    while true {
      var least = index
      for child in [2 * index + 1, 2 * index + 2] where child < timers.count && isBefore(child, least) { least = child }
      if least == index { return }
      timers.swapAt(index, least)
      index = least
    }
  }
}
