#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A limit of CPU time for the current thread, counted from the creation of the value.
struct ThreadTime {
  private let end: Int64

  /// The CPU time of a write transaction of a job, in nanoseconds. With its commit, the transaction stays below 50 ms.
  static let ofJob: Int64 = 20_000_000

  init(nanoseconds: Int64) { end = Self.used + nanoseconds }

  var isOver: Bool { Self.used >= end }

  /// Returns the CPU time of the thread so far, in nanoseconds.
  static var used: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
