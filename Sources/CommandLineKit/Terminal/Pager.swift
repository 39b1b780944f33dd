import Platform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A program that shows long output of a terminal page by page: the command of `PAGER`, or `less -FRX` if it is installed.
///
/// `less` keeps no history of searches, because they may contain user data.
public final class Pager: Sendable {
  /// The output that the pager shows, with the properties of the terminal.
  public let output: Output
  private let shell: ChildShell
  private let end: Int32

  /// Starts the pager of a terminal.
  /// - Returns: `nil` if the output is no terminal whose cursor can be moved, if no pager is installed, or if `PAGER`
  ///   disables it: empty, or `cat`.
  public init?(for terminal: Terminal, environment: (String) -> String? = Terminal.variable) {
    guard terminal.canRedraw, let command = Self.command(environment) else { return nil }
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    defer { close(ends[0]) }
    for end in ends { setCloseOnExec(end) }
    guard
      let shell = try? ChildShell(command, input: ends[0], usesTerminal: true, defaults: ["LESSHISTFILE": "-"])
    else {
      close(ends[1])
      return nil
    }
    // Ctrl-C is a key of the pager. This process ends when the pager closes the pipe.
    signal(SIGINT, SIG_IGN)
    self.shell = shell
    end = ends[1]
    output = Output(descriptor: ends[1], terminal: terminal)
  }

  /// Ends the output, and waits until the user leaves the pager.
  public func finish() {
    close(end)
    shell.wait()
    signal(SIGINT, SIG_DFL)
  }

  /// Returns the command line of the pager; `nil` for none.
  static func command(_ environment: (String) -> String?) -> String? {
    if let own = environment("PAGER") {
      let words = own.split(separator: " ")
      return words.isEmpty || words == ["cat"] ? nil : own
    }
    let folders = (environment("PATH") ?? "").split(separator: ":")
    return folders.contains { access("\($0)/less", X_OK) == 0 } ? "less -FRX" : nil
  }
}
