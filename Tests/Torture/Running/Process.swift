import Foundation
import Glibc

/// How a process ended.
enum Ending: CustomStringConvertible {
  case exit(Int32)
  case signal(Int32)

  var description: String {
    switch self {
    case .exit(let code): "exit code \(code)"
    case .signal(let number): "signal \(number)"
    }
  }
}

/// A process that is started with its output in files.
struct RunningProcess {
  private let number: pid_t
  private let start = ContinuousClock.now

  /// - Parameters:
  ///   - words: the program and its arguments.
  ///   - variables: added to the environment.
  init(_ words: [String], variables: [String: String] = [:], output: String, errors: String) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    let environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
    let arguments = words.map { strdup($0) } + [nil]
    let assignments = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for pointer in arguments + assignments { free(pointer) } }
    var process: pid_t = 0
    let result = posix_spawn(&process, words[0], &actions, nil, arguments, assignments)
    guard result == 0 else { throw Trouble("cannot start \(words[0]): \(String(cString: strerror(result)))") }
    number = process
  }

  /// Waits for the end.
  func wait(atMost limit: Duration = .seconds(120)) throws -> Ending {
    while true {
      if let ending = try poll() { return ending }
      if start.duration(to: .now) > limit {
        kill(number, SIGKILL)
        var status: Int32 = 0
        waitpid(number, &status, 0)
        throw Trouble("did not end within \(limit)")
      }
      usleep(1000)
    }
  }

  /// Kills it after a time. Nil when it had ended before, and then how.
  func stop(after delay: Duration) throws -> Ending? {
    while start.duration(to: .now) < delay {
      if let ending = try poll() { return ending }
      usleep(200)
    }
    kill(number, SIGKILL)
    let ending = try wait()
    if case .signal(SIGKILL) = ending { return nil }
    return ending
  }

  private func poll() throws -> Ending? {
    var status: Int32 = 0
    let result = waitpid(number, &status, WNOHANG)
    guard result >= 0 else { throw Trouble("waitpid: \(String(cString: strerror(errno)))") }
    guard result == number else { return nil }
    return status & 0x7f == 0 ? .exit((status >> 8) & 0xff) : .signal(status & 0x7f)
  }
}

/// What is wrong, in one line.
struct Trouble: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
