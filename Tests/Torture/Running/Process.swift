import Foundation
import Glibc
import TestSupport

/// A process whose environment is that of the program, with added variables, and whose output goes to files.
struct RunningProcess {
  private let process: ChildProcess
  private let start = ContinuousClock.now

  /// - Parameters:
  ///   - words: the program and its arguments.
  ///   - variables: added to the environment.
  init(_ words: [String], variables: [String: String] = [:], output: String, errors: String) throws {
    process = try ChildProcess(
      words[0], Array(words.dropFirst()), environment: ProcessInfo.processInfo.environment.merging(variables) { $1 },
      output: .file(output), errors: .file(errors))
  }

  /// Waits for the end.
  func wait(atMost limit: Duration = .seconds(120)) throws -> Ending {
    if let ending = process.wait(within: limit) { return ending }
    process.end()
    throw Unexpected("did not end within \(limit)")
  }

  /// Kills it after a time. Returns how it ended before, or nil when it was killed.
  func stop(after delay: Duration) throws -> Ending? {
    while start.duration(to: .now) < delay {
      if let ending = process.poll() { return ending }
      usleep(200)
    }
    process.signal(SIGKILL)
    let ending = try process.wait()
    return ending == .signal(SIGKILL) ? nil : ending
  }
}
