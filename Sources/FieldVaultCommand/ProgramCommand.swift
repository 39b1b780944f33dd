import CommandLineKit

/// A command: its description for parser, help and completions, and its code.
protocol ProgramCommand: SendableMetatype {
  static var description: CommandDescription { get }
  static func run(_ context: CommandContext) throws
}

extension ProgramCommand {
  static var entityArgument: ArgumentDescription {
    .required("ENTITY", "the entity type (AtmosphericLog) or its table (OfflineAtmosphericLog)")
  }
  /// The exit codes of a command that opens a vault.
  static var usual: [ExitCode] { usualExitCodes }
}

/// The exit codes of a command that opens a vault.
let usualExitCodes: [ExitCode] = [.done, .failed, .usage, .locked, .notFound, .damaged, .busy]

/// An entry of the program's help: a command, or a group of commands.
enum ProgramEntry: Sendable {
  case command(any ProgramCommand.Type)
  /// The description of the group without its subcommands, and these.
  case group(CommandDescription, [any ProgramCommand.Type])

  var description: CommandDescription {
    switch self {
    case .command(let command): return command.description
    case .group(var group, let commands):
      group.subcommands = commands.map { $0.description }
      return group
    }
  }

  /// The commands with their words.
  var commands: [(String, any ProgramCommand.Type)] {
    switch self {
    case .command(let command): [(command.description.name, command)]
    case .group(let group, let commands): commands.map { ("\(group.name) \($0.description.name)", $0) }
    }
  }
}
