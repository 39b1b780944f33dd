import CPlatform
import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A process that inherits no descriptor and no blocked or ignored signal, and that is killed with this value.
package final class ChildProcess {
  /// The end of a standard stream.
  package enum Stream: Sendable {
    case null
    case descriptor(Int32)
    /// A file, which is emptied first. A file cannot fill up as a pipe can.
    case file(String)
    case appendedFile(String)
  }

  /// The process identifier.
  package let id: pid_t
  private var ending: Ending?

  /// Starts a program.
  /// - Parameter environment: all variables of the process.
  package init(
    _ program: String, _ arguments: [String] = [], environment: [String: String] = ["PATH": "/usr/bin:/bin"],
    input: Stream = .null, output: Stream, errors: Stream
  ) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // The threads of the tests block signals, a background job of a shell ignores SIGINT and SIGQUIT, and `nohup` ignores
    // SIGHUP. A child would inherit all of that, and a service would not end.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var noSignals = sigset_t()
    sigemptyset(&noSignals)
    posix_spawnattr_setsigmask(&attributes, &noSignals)
    var restored = noSignals
    for signal in [SIGINT, SIGQUIT, SIGHUP, SIGTERM] { sigaddset(&restored, signal) }
    posix_spawnattr_setsigdefault(&attributes, &restored)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    for (number, stream) in [(Int32(0), input), (1, output), (2, errors)] {
      let reading = number == 0
      switch stream {
      case .null: posix_spawn_file_actions_addopen(&actions, number, "/dev/null", reading ? O_RDONLY : O_WRONLY, 0)
      case .descriptor(let other): posix_spawn_file_actions_adddup2(&actions, other, number)
      case .file(let path):
        posix_spawn_file_actions_addopen(
          &actions, number, path, reading ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC, 0o600)
      case .appendedFile(let path):
        posix_spawn_file_actions_addopen(&actions, number, path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
      }
    }
    // A pipe of another test that a child holds open would keep that test from reading its end.
    guard cplatform_spawn_close_from(&actions, 3) == 0 else { throw Unexpected("cannot close descriptors in a child") }
    let words = ([program] + arguments).map { strdup($0) } + [nil]
    let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for pointer in words + variables { free(pointer) } }
    var started: pid_t = 0
    let result = posix_spawn(&started, program, &actions, &attributes, words, variables)
    guard result == 0 else { throw Unexpected("cannot start \(program): \(String(cString: strerror(result)))") }
    id = started
  }

  deinit { end() }

  /// Returns how the process ended, or nil while it runs.
  package func poll() -> Ending? {
    if let ending { return ending }
    var status: Int32 = 0
    guard waitpid(id, &status, WNOHANG) == id else { return nil }
    ending = Ending(waitStatus: status)
    return ending
  }

  /// Waits for the end.
  package func wait() throws -> Ending {
    if let ending { return ending }
    var status: Int32 = 0
    while waitpid(id, &status, 0) != id {
      guard errno == EINTR else { throw Unexpected("cannot wait for a child: \(String(cString: strerror(errno)))") }
    }
    let ending = Ending(waitStatus: status)
    self.ending = ending
    return ending
  }

  /// Waits for the end, and returns nil if the process still runs after `limit`.
  package func wait(within limit: Duration) -> Ending? {
    let end = ContinuousClock.now + limit
    while true {
      if let ending = poll() { return ending }
      if ContinuousClock.now > end { return nil }
      usleep(1_000)
    }
  }

  /// Sends a signal, unless the process has ended.
  package func signal(_ number: Int32) {
    if poll() == nil { kill(id, number) }
  }

  /// Kills the process with SIGKILL and waits for its end.
  package func end() {
    signal(SIGKILL)
    _ = try? wait()
  }
}
