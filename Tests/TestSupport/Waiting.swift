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
  while try await !condition() {
    guard ContinuousClock.now < end else { throw Unexpected("not within \(limit): \(expectation) (\(file):\(line))") }
    try await Task.sleep(for: interval)
  }
}

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
