/// An executable: its name, its global options, and its commands.
///
/// Every program has `help`, `--help`, `-h` and `--version` without declaring them.
public struct Program: Sendable {
  /// The word that calls it.
  public var name: String
  /// Its version, as `--version` shows it.
  public var version: String
  /// The description, in a sentence or two.
  public var summary: String
  /// The options that are allowed before and after any command.
  public var options: [OptionDescription]
  /// Global options of which only one may be given.
  public var choices: [Choice]
  /// The commands, in the order of help.
  public var commands: [CommandDescription]
  /// Examples of command lines.
  public var examples: [Example]
  /// The exit codes of the program.
  public var exitCodes: [ExitCode]

  /// Declares a program.
  public init(
    name: String, version: String, summary: String, options: [OptionDescription] = [], choices: [Choice] = [],
    commands: [CommandDescription], examples: [Example] = [], exitCodes: [ExitCode] = ExitCode.all
  ) {
    self.name = name
    self.version = version
    self.summary = summary
    self.options = options
    self.choices = choices
    self.commands = commands
    self.examples = examples
    self.exitCodes = exitCodes
  }

  /// Returns the commands of a path from the outermost one; `nil` if it names none.
  func chain(_ path: [String]) -> [CommandDescription]? {
    var found: [CommandDescription] = []
    for word in path {
      guard let next = (found.last?.subcommands ?? commands).first(where: { $0.isCalled(word) }) else { return nil }
      found.append(next)
    }
    return found
  }

  /// Every command that may be shown, groups included, with its path, in the order of help.
  func visibleCommands() -> [(path: [String], chain: [CommandDescription])] {
    var found: [(path: [String], chain: [CommandDescription])] = []
    func visit(_ commands: [CommandDescription], below chain: [CommandDescription]) {
      for command in commands where !command.isHidden {
        let chain = chain + [command]
        found.append((chain.map(\.name), chain))
        visit(command.subcommands, below: chain)
      }
    }
    visit(commands, below: [])
    return found
  }

  /// The global options, including those of every program.
  var globalOptions: [OptionDescription] { options + OptionDescription.builtIn }
}
