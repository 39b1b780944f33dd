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

  /// The first line of the output is empty.
  public static let printedNothing = CommandFailure("printed nothing in its first line")

  init(_ description: String) { self.description = description }

  /// A failed call of the system with its `errno`.
  init(_ failure: String, _ number: Int32) { self.init("\(failure): \(String(cString: strerror(number)))") }
}

/// Runs a command of the user and reads the first line of its output, which may be a secret.
///
/// The command is a line for `/bin/sh`. Its standard error is that of this process, so that a user sees why it fails. It has no
/// input and inherits no descriptor, no handler of a signal, and no variable of this program.
public struct CommandOutput: Sendable {
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
    guard pipe(&ends) == 0 else { throw CommandFailure("cannot be started", errno) }
    let reading = ends[0]
    defer { close(reading) }
    for end in ends { setCloseOnExec(end) }
    let child: ChildShell
    do {
      defer { close(ends[1]) }
      child = try ChildShell(command, output: ends[1])
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
        throw CommandFailure("cannot be read", errno)
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
    guard !line.isEmpty else { throw .printedNothing }
    return String(decoding: line, as: UTF8.self)
  }
}
