import CommandLineKit

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension CommandContext {
  /// Whether a user can read a question at the terminal and answer it.
  var canAsk: Bool { people.terminal.isTerminal && isatty(STDIN_FILENO) == 1 }

  /// Asks a question. Every input except yes means no.
  func confirms(_ question: String) throws -> Bool {
    try people.write("\(question) [y/N] ")
    try people.flush()
    let answer = readLine()?.lowercased() ?? ""
    return answer == "y" || answer == "yes"
  }
}
