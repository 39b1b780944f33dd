import Foundation
import TestSupport

/// The command `shell`, which holds a vault open and waits on its standard input until this ends.
final class OpenShell {
  let running: Running
  private var input: Int32

  /// Starts it and waits for the first output of the shell, so that the vault is open.
  init(_ shop: Workshop) throws {
    var ends: [Int32] = [-1, -1]
    // A pair of sockets, because these can be closed to other children from the start: one that inherits the writing end
    // would keep the shell from seeing its end.
    #if os(Linux)
      let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw Unexpected("no pair of sockets") }
    #if !os(Linux)
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    #endif
    defer { close(ends[0]) }
    input = ends[1]
    running = try shop.start(["shell"], input: ends[0])
    try type("SELECT 'rea' || 'dy' AS word;\n")
    let running = running
    try blockUntil("the output of the shell") { try running.outputSoFar().contains("ready") }
  }

  deinit { if input >= 0 { close(input) } }

  var process: pid_t { running.process }

  /// Types a statement.
  func type(_ text: String) throws {
    guard write(input, text, text.utf8.count) == text.utf8.count else { throw Unexpected("the shell does not read") }
  }

  /// Ends its input and waits for it.
  func end() throws -> Ran {
    close(input)
    input = -1
    return try running.wait()
  }
}
