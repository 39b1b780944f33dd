import CPlatform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The variables of the environment that a child process receives.
public enum ChildVariables {
  /// The beginning of the variables of this program, which name the vault and the files of its secrets.
  public static let own = "FIELDVAULT_"

  /// Returns the variables of this process, except those that begin with a text, as `NAME=VALUE`.
  public static func inherited(without beginning: String) -> [String] {
    var variables: [String] = []
    var pointer = environ
    while let entry = pointer.pointee {
      let text = String(cString: entry)
      if !text.hasPrefix(beginning) { variables.append(text) }
      pointer += 1
    }
    return variables
  }
}

/// A running command of the user: a line for `/bin/sh`.
///
/// Its standard error is that of this process. It inherits no descriptor beyond the standard ones, no handler of a signal,
/// and no variable of this program.
struct ChildShell {
  let id: pid_t
  /// Whether the shell leads a group, so that its own children are stopped with it.
  let leadsGroup: Bool

  /// Starts a command.
  /// - Parameters:
  ///   - input: the standard input; `nil` for none.
  ///   - output: the standard output; `nil` for that of this process.
  ///   - usesTerminal: whether the command reads keys, and therefore stays in the foreground.
  ///   - defaults: variables for the command that are not set in this process.
  init(
    _ command: String, input: Int32? = nil, output: Int32? = nil, usesTerminal: Bool = false,
    defaults: [String: String] = [:]
  ) throws(CommandFailure) {
    // A command that asks at the terminal must stay in the group of the foreground.
    leadsGroup = !usesTerminal && isatty(STDERR_FILENO) != 1
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
      var attributes: posix_spawnattr_t?
    #else
      var actions = posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    if let input {
      posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
    } else {
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    }
    if let output { posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO) }
    var flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (leadsGroup ? POSIX_SPAWN_SETPGROUP : 0)
    #if canImport(Darwin)
      flags |= POSIX_SPAWN_CLOEXEC_DEFAULT
      if output == nil { posix_spawn_file_actions_addinherit_np(&actions, STDOUT_FILENO) }
      posix_spawn_file_actions_addinherit_np(&actions, STDERR_FILENO)
    #endif
    guard cplatform_spawn_close_from(&actions, 3) == 0 else {
      throw CommandFailure("cannot be started: its descriptors cannot be closed")
    }
    // Threads of this program block signals, and the program ignores some, which the command would inherit.
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    for signal in [SIGINT, SIGTERM, SIGPIPE] { sigaddset(&signals, signal) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(flags))
    let words: [UnsafeMutablePointer<CChar>?] = [strdup("sh"), strdup("-c"), strdup(command), nil]
    let added = defaults.filter { getenv($0.key) == nil }.map { "\($0.key)=\($0.value)" }
    let variables = (added + ChildVariables.inherited(without: ChildVariables.own)).map { strdup($0) } + [nil]
    defer { for pointer in words + variables { free(pointer) } }
    var id: pid_t = 0
    let result = posix_spawn(&id, "/bin/sh", &actions, &attributes, words, variables)
    guard result == 0 else { throw CommandFailure("cannot be started", result) }
    self.id = id
  }

  /// Waits for the end and returns the status of waitpid(2). A command may close its output before it ends.
  func wait(_ check: () throws -> Void) throws -> Int32 {
    var status: Int32 = 0
    while true {
      let ended = waitpid(id, &status, WNOHANG)
      if ended == id { return status }
      if ended < 0, errno != EINTR { throw CommandFailure("cannot be waited for", errno) }
      try check()
      usleep(5_000)
    }
  }

  /// Waits for the end, however long it takes.
  func wait() {
    var status: Int32 = 0
    while waitpid(id, &status, 0) < 0, errno == EINTR {}
  }

  /// Kills the command, and waits for its end.
  func stop() {
    kill(leadsGroup ? -id : id, SIGKILL)
    wait()
  }
}
