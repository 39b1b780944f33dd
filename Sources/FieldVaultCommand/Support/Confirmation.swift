import CommandLineSupport

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension CommandContext {
  /// Whether a person sits at the terminal, to read a question and to answer it.
  var canAsk: Bool { people.terminal.isTerminal && isatty(STDIN_FILENO) == 1 }

  /// Asks a question whose answer is no unless it is yes.
  func confirms(_ question: String) throws -> Bool {
    try people.write("\(question) [y/N] ")
    try people.flush()
    let answer = readLine()?.lowercased() ?? ""
    return answer == "y" || answer == "yes"
  }
}
