import CommandLineKit
import VaultStore

/// A command: its description for parser, help and completions, and its code.
protocol ProgramCommand: SendableMetatype {
  static var description: CommandDescription { get }
  static func run(_ context: CommandContext) throws
}

extension ProgramCommand {
  static var entityArgument: ArgumentDescription {
    .required(
      "ENTITY", "the entity type (AtmosphericLog) or its table (OfflineAtmosphericLog)", completion: .of(.entity))
  }
  /// The help of an argument that names a record.
  static var recordHelp: String { "the uuid, at least 4 of its first characters, or the local id" }
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

extension CommandContext {
  /// Returns the ids that an argument or option names; empty without a value.
  /// - Parameter isRecord: whether a local id is allowed.
  func identifiers(_ name: String, isRecord: Bool = true) throws -> [Identifier] {
    try arguments.values(name).map { word in
      if let identifier = Identifier(word, isRecord: isRecord) { return identifier }
      let id = isRecord ? "a uuid" : "an id"
      throw arguments.mistake(
        "\(arguments.spelled(name)) is \(id), at least \(Identifier.shortestPrefix) of its first characters"
          + (isRecord ? ", or a local id" : ""), about: name)
    }
  }

  /// Returns the id that a required argument names.
  func identifier(_ name: String, isRecord: Bool = true) throws -> Identifier {
    _ = try arguments.required(name)
    return try identifiers(name, isRecord: isRecord)[0]
  }
}
