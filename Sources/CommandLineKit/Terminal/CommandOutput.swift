import CPlatform
import Platform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The reason why a command of the user printed no usable line. It never contains output of the command.
public struct CommandFailure: Error, Equatable, Sendable, CustomStringConvertible {
  /// The reason, which follows the name of the command: "ended with exit code 3".
  public let description: String

  init(_ description: String) { self.description = description }
}

/// Runs a command of the user and reads the first line of its output, which may be a secret.
///
/// The command is a line for `/bin/sh`. Its standard error is that of this process, so that a user sees why it fails. It has no
/// input and inherits no descriptor, no handler of a signal, and no variable of this program.
public struct CommandOutput: Sendable {
  /// The variables that a command does not inherit begin with this: they name the vault and the files of its secrets.
  private static let ownVariables = "FIELDVAULT_"

  /// The longest output in bytes. A command that prints more is stopped.
  public var greatestBytes = 64 << 10
  /// The longest time until the command has ended, in seconds. A command that runs longer is stopped.
  public var seconds: Double = 60

  /// The usual limits: 64 KiB and 60 s.
  public init() {}

  /// Returns the first line of the output of a command, without its end.
  /// - Throws: ``CommandFailure`` if the command cannot be started, fails, prints nothing, or exceeds a limit;
  ///   `CancellationError` when the task is cancelled. The command is stopped then.
  public func firstLine(of command: String) async throws -> String {
    let isCancelled = Locked(false)
    return try await withTaskCancellationHandler {
      try await offload { [self] () throws -> String in
        try run(command) { isCancelled.withLock { $0 } }
      }
    } onCancel: {
      isCancelled.withLock { $0 = true }
    }
  }

  private func run(_ command: String, isCancelled: () -> Bool) throws -> String {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw Self.failure("cannot be started", errno) }
    let reading = ends[0]
    defer { close(reading) }
    for end in ends { setCloseOnExec(end) }
    let child: Child
    do {
      defer { close(ends[1]) }
      child = try Child(command, output: ends[1])
    }
    let output: [UInt8]
    let status: Int32
    do {
      let end = ContinuousClock.now + .seconds(seconds)
      output = try read(reading, until: end, isCancelled)
      status = try child.wait { try check(end, isCancelled) }
    } catch {
      child.stop()
      throw error
    }
    return try Self.line(of: output, status)
  }

  private func check(_ end: ContinuousClock.Instant, _ isCancelled: () -> Bool) throws {
    if isCancelled() { throw CancellationError() }
    if ContinuousClock.now >= end { throw CommandFailure("did not end within \(Int(seconds.rounded(.up))) s") }
  }

  /// Reads until the command closes its output.
  private func read(
    _ descriptor: Int32, until end: ContinuousClock.Instant, _ isCancelled: () -> Bool
  ) throws -> [UInt8] {
    var output: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 4096)
    while true {
      try check(end, isCancelled)
      var readable = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&readable, 1, 50) > 0 else { continue }
      #if canImport(Darwin)
        let count = Darwin.read(descriptor, &part, part.count)
      #elseif canImport(Musl)
        let count = Musl.read(descriptor, &part, part.count)
      #else
        let count = Glibc.read(descriptor, &part, part.count)
      #endif
      if count == 0 { return output }
      if count < 0 {
        if errno == EINTR { continue }
        throw Self.failure("cannot be read", errno)
      }
      output += part[..<count]
      if output.count > greatestBytes { throw CommandFailure("printed more than \(greatestBytes / 1024) KiB") }
    }
  }

  /// Returns the first line of the output of a command with a status of waitpid(2).
  private static func line(of output: [UInt8], _ status: Int32) throws(CommandFailure) -> String {
    let signal = status & 0x7F
    guard signal == 0 else { throw CommandFailure("was ended by signal \(signal)") }
    let code = (status >> 8) & 0xFF
    guard code == 0 else { throw CommandFailure("ended with exit code \(code)") }
    var line = output.prefix { $0 != UInt8(ascii: "\n") }
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    guard !line.isEmpty else { throw CommandFailure("printed nothing in its first line") }
    return String(decoding: line, as: UTF8.self)
  }

  fileprivate static func failure(_ what: String, _ number: Int32) -> CommandFailure {
    CommandFailure("\(what): \(String(cString: strerror(number)))")
  }

  /// A running shell.
  private struct Child {
    let id: pid_t
    /// Whether the shell leads a group, so that its own children are stopped with it.
    let leadsGroup: Bool

    init(_ command: String, output: Int32) throws(CommandFailure) {
      // A command that asks at the terminal must stay in the group of the foreground.
      leadsGroup = isatty(STDERR_FILENO) != 1
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
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
      posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
      var flags = POSIX_SPAWN_SETSIGMASK | (leadsGroup ? POSIX_SPAWN_SETPGROUP : 0)
      #if canImport(Darwin)
        flags |= POSIX_SPAWN_CLOEXEC_DEFAULT
        posix_spawn_file_actions_addinherit_np(&actions, STDERR_FILENO)
      #endif
      guard cplatform_spawn_close_from(&actions, 3) == 0 else {
        throw CommandFailure("cannot be started: its descriptors cannot be closed")
      }
      // Threads of this program block signals, which the command would inherit.
      var noSignals = sigset_t()
      sigemptyset(&noSignals)
      posix_spawnattr_setsigmask(&attributes, &noSignals)
      posix_spawnattr_setflags(&attributes, Int16(flags))
      let words: [UnsafeMutablePointer<CChar>?] = [strdup("sh"), strdup("-c"), strdup(command), nil]
      let variables = Self.environment().map { strdup($0) } + [nil]
      defer { for pointer in words + variables { free(pointer) } }
      var id: pid_t = 0
      let result = posix_spawn(&id, "/bin/sh", &actions, &attributes, words, variables)
      guard result == 0 else { throw CommandOutput.failure("cannot be started", result) }
      self.id = id
    }

    private static func environment() -> [String] {
      var variables: [String] = []
      var pointer = environ
      while let entry = pointer.pointee {
        let text = String(cString: entry)
        if !text.hasPrefix(CommandOutput.ownVariables) { variables.append(text) }
        pointer += 1
      }
      return variables
    }

    /// Waits for the end and returns the status of waitpid(2). A command may close its output before it ends.
    func wait(_ check: () throws -> Void) throws -> Int32 {
      var status: Int32 = 0
      while true {
        let ended = waitpid(id, &status, WNOHANG)
        if ended == id { return status }
        if ended < 0, errno != EINTR { throw CommandOutput.failure("cannot be waited for", errno) }
        try check()
        usleep(5_000)
      }
    }

    /// Kills the command, and waits for its end.
    func stop() {
      kill(leadsGroup ? -id : id, SIGKILL)
      var status: Int32 = 0
      while waitpid(id, &status, 0) < 0, errno == EINTR {}
    }
  }
}
