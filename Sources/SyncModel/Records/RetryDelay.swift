/// The delay before an operation or a transfer is tried again after an attempt that the server did not complete.
package enum RetryDelay {
  /// The retries before the operation or transfer fails, unless its row has another number.
  package static let retries = 5
  /// The longest delay of the five retries, with all of its jitter, in milliseconds.
  package static let longest = milliseconds(afterRetries: retries - 1, jitter: 1)

  /// Returns the delay in milliseconds: 1, 2, 4, 8 and 16 seconds, plus a jitter of up to half of that.
  ///
  /// The jitter is added to the step, so that the five retries take at least 31 seconds, enough for a restart of the
  /// server.
  /// - Parameters:
  ///   - retries: the retries before this one.
  ///   - jitter: 0 to 1. Spreads devices that failed together.
  package static func milliseconds(afterRetries retries: Int, jitter: Double) -> Int64 {
    let step = Int64(1000) << min(max(retries, 0), 20)
    return step + Int64(Double(step) / 2 * min(max(jitter, 0), 1))
  }
}
