import Platform

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
