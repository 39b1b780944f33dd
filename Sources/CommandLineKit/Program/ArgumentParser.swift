/// Parses a command line by the description of a program.
///
/// - `--name value`, `--name=value`, `-n value`, `-nvalue`; grouped flags: `-qv`.
/// - `--` ends the options. A single `-` is a value, by convention standard input. Negative numbers are values.
/// - Another value that begins with a dash is written as `--name=-value`, unless its name would contain a space.
/// - Options of a command follow it, global ones are allowed anywhere. `--help` anywhere requests the help.
///
/// ```swift
/// let arguments = try ArgumentParser(program).parse(["list", "AtmosphericLog", "-n", "5"])
/// arguments.command               // "list"
/// try arguments.integer("limit")  // 5
/// ```
///
/// Parsing is a pure function of the words: it reads no environment and no file, and prints nothing.
public struct ArgumentParser: Sendable {
  /// The program.
  public let program: Program

  /// Creates a parser for the program.
  public init(_ program: Program) {
    self.program = program
  }

  /// Reads the words that follow the program's name.
  public func parse(_ words: [String]) throws(UsageError) -> ParsedArguments {
    var scan = ArgumentScan(program: program)
    if asksForHelp(words) {
      // A request for help ignores other mistakes, except an unknown command.
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
