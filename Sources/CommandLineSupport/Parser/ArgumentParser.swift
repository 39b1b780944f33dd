/// Reads a command line by the description of a program.
///
/// - `--name value`, `--name=value`, `-n value`, `-nvalue`; flags in a group: `-qv`.
/// - `--` ends the options; a lone `-` is a value, by custom standard input; negative numbers are values.
/// - Another value that begins with a dash is given as `--name=-value`, unless its name would have a space in it.
/// - Options of a command stand after it, global ones anywhere. `--help` anywhere asks for help.
///
/// ```swift
/// let arguments = try ArgumentParser(program).parse(["list", "AtmosphericLog", "-n", "5"])
/// arguments.command               // "list"
/// try arguments.integer("limit")  // 5
/// ```
///
/// Parsing is a pure function of the words: it reads no environment, no file, and prints nothing.
public struct ArgumentParser: Sendable {
  /// What is parsed for.
  public let program: Program

  /// A parser for the program.
  public init(_ program: Program) {
    self.program = program
  }

  /// Reads the words that follow the program's name.
  public func parse(_ words: [String]) throws(UsageError) -> ParsedArguments {
    var scan = ArgumentScan(program: program)
    if asksForHelp(words) {
      // Other mistakes on the line do not matter to somebody who asks, except that of the command itself.
      do throws(UsageError) {
        try scan.run(words)
      } catch {
        if error.kind == .unknownCommand { throw error }
      }
      return scan.result(.help)
    }
    try scan.run(words)
    if scan.asksForHelp { return scan.result(.help) }
    if scan.isGiven("version") { return scan.result(.version) }
    try scan.finish()
    return scan.result(.run)
  }

  private func asksForHelp(_ words: [String]) -> Bool {
    words.prefix { $0 != "--" }.contains { $0 == "--help" || $0 == "-h" }
  }
}
