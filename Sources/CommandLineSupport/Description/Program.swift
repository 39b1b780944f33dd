/// An executable: what it is called, the options that stand anywhere, and its commands.
///
/// `help`, `--help`, `-h` and `--version` belong to every program and are not declared.
public struct Program: Sendable {
  /// The word that calls it.
  public var name: String
  /// Its version, as `--version` shows it.
  public var version: String
  /// What it is, in a sentence or two.
  public var summary: String
  /// Options that may stand before and after any command.
  public var options: [OptionDescription]
  /// Global options of which only one may be given.
  public var choices: [Choice]
  /// The commands, in the order of help.
  public var commands: [CommandDescription]
  /// Command lines that work, each with what it does.
  public var examples: [Example]
  /// What the program can return.
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

  /// The commands from the outermost to the one that the path names; nil when there is none.
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

  /// The global options with those that every program has.
  var globalOptions: [OptionDescription] { options + OptionDescription.builtIn }
}
