import Platform

/// Wakes one observer when a transaction changed a table that its query read.
final class ChangeSignal: Sendable {
  private struct State: Sendable {
    /// The region that the last run of the query read; `nil` before the first run and while the query runs, when
    /// every change counts.
    var reads: [String: Set<String>]?
    var isDue = true
    var isOver = false
    var waiter: CheckedContinuation<Bool, any Error>?
  }

  private let state = Locked(State())

  func receive(_ region: ChangedRegion?, _ virtualTables: Set<String>) {
    let waiter: CheckedContinuation<Bool, any Error>? = state.withLock { state in
      if let region {
        if let reads = state.reads, !region.touches(reads, isVirtual: virtualTables.contains) { return nil }
        state.isDue = true
      } else {
        state.isOver = true
      }
      defer { state.waiter = nil }
      if state.waiter != nil, !state.isOver {
        state.isDue = false
        state.reads = nil
      }
      return state.waiter
    }
    waiter?.resume(returning: region != nil)
  }

  /// Sets the region that the query has read. Changes during its run have already requested another run.
  func watch(_ reads: [String: Set<String>]) {
    state.withLock { $0.reads = reads }
  }

  /// Waits until the query should run; false when the database is closed.
  func wait() async throws -> Bool {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let answer: Result<Bool, any Error>? = state.withLock { state in
          if Task.isCancelled { return .failure(CancellationError()) }
          if state.isOver { return .success(false) }
          if state.isDue {
            state.isDue = false
            state.reads = nil
            return .success(true)
          }
          state.waiter = continuation
          return nil
        }
        if let answer { continuation.resume(with: answer) }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        defer { state.waiter = nil }
        return state.waiter
      }
      waiter?.resume(throwing: CancellationError())
    }
  }
}
