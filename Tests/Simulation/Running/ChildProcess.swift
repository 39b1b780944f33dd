import CPlatform
import Glibc

/// A process that is started with its output in files, and inherits nothing else.
final class ChildProcess {
  let number: pid_t
  private var ending: Int32?

  /// - Parameters:
  ///   - words: the program and its arguments.
  ///   - variables: its environment, beside the path.
  init(_ words: [String], output: String, variables: [String: String] = [:]) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // The thread that starts it may block signals, and the child would inherit that.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, output + ".out", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    posix_spawn_file_actions_addopen(&actions, 2, output + ".err", O_WRONLY | O_CREAT | O_APPEND, 0o600)
    _ = cplatform_spawn_close_from(&actions, 3)
    let arguments = words.map { strdup($0) } + [nil]
    let environment = [strdup("PATH=/usr/bin:/bin")] + variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for pointer in arguments + environment { free(pointer) } }
    var process: pid_t = 0
    let result = posix_spawn(&process, words[0], &actions, &attributes, arguments, environment)
    guard result == 0 else { throw Trouble("cannot start \(words[0]): \(String(cString: strerror(result)))") }
    number = process
  }

  deinit { kill() }

  /// How it ended, as `waitpid` says it; nil while it runs.
  func poll() -> Int32? {
    if let ending { return ending }
    var status: Int32 = 0
    guard waitpid(number, &status, WNOHANG) == number else { return nil }
    ending = status
    return status
  }

  /// Waits for the end; nil when it does not come in time.
  func wait(seconds: Double) -> Int32? {
    let end = ContinuousClock.now + .seconds(seconds)
    while true {
      if let status = poll() { return status }
      if ContinuousClock.now > end { return nil }
      usleep(2000)
    }
  }

  /// Kills the process with SIGKILL at any instruction.
  func kill() {
    guard poll() == nil else { return }
    Glibc.kill(number, SIGKILL)
    var status: Int32 = 0
    waitpid(number, &status, 0)
    ending = status
  }
}
