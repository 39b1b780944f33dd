import Foundation

/// Waits until a condition holds that another task, thread or process brings about.
///
/// - Parameters:
///   - expectation: the condition as a clause, for the message of a failure.
///   - limit: only guards against a hang.
package func eventually(
  _ expectation: String = "the condition holds", within limit: Duration = .seconds(300),
  every interval: Duration = .milliseconds(5), file: String = #fileID, line: Int = #line,
  _ condition: () async throws -> Bool
) async throws {
  let end = ContinuousClock.now + limit
  var checks = 0
  while try await !condition() {
    checks += 1
    // Other tests may occupy all threads for minutes, so that the first checks are late.
    guard ContinuousClock.now < end || checks < leastChecks else {
      throw Unexpected("not within \(limit): \(expectation) (\(file):\(line))")
    }
    try await Task.sleep(for: interval)
  }
}

/// The least number of checks before ``eventually(_:within:every:file:line:_:)`` gives up.
private let leastChecks = 1_000

/// Blocks the thread until a condition holds that another thread or process brings about.
///
/// - Parameters:
///   - expectation: the condition as a clause, for the message of a failure.
///   - limit: only guards against a hang.
package func blockUntil(
  _ expectation: String, within limit: Duration = .seconds(60), every interval: Duration = .milliseconds(10),
  _ condition: () throws -> Bool
) throws {
  let end = ContinuousClock.now + limit
  while try !condition() {
    guard ContinuousClock.now < end else { throw Unexpected("not within \(limit): \(expectation)") }
    Thread.sleep(forTimeInterval: interval / .seconds(1))
  }
}
