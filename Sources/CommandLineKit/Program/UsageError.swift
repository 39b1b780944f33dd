/// An invalid command line: the problem, then help for the argument, then the usage line.
///
/// The texts repeat names, and values only from a closed set or numbers; never the value of a secret option, nor
/// words that could be field values.
public struct UsageError: Error, Sendable, Equatable {
  /// The kind of the mistake.
  public enum Kind: Sendable, Equatable {
    /// No command was given, or a group without one of its commands.
    case missingCommand
    /// An unknown command.
    case unknownCommand
    /// No such option here.
    case unknownOption
    /// An option lacks its value, or a required option is missing altogether.
    case missingValue
    /// A flag was given a value.
    case unexpectedValue
    /// An argument is missing.
    case missingArgument
    /// More arguments than the command takes.
    case tooManyArguments
    /// A value is not allowed.
    case invalidValue
    /// An option was given twice.
    case repeatedOption
    /// Options that exclude each other were given.
    case conflict
  }

  /// The kind of the mistake.
  public let kind: Kind
  /// The problem, in a sentence without a full stop.
  public let message: String
  /// The remedy, such as a similar name.
  public let hint: String?
  /// The help line of the argument concerned.
  public let help: String?
  /// How the command is called.
  public let usage: String
  /// The command that shows more.
  public let more: String
  /// The words of the command, as far as they were understood.
  public let path: [String]

  /// Always ``ExitCode/usage``.
  public var exitCode: ExitCode { .usage }

  /// The lines to write to standard error.
  public func text(for terminal: Terminal = .plain) -> String {
    var lines = [terminal.styled("error:", .red, .bold) + " " + message]
    if let hint { lines.append(terminal.styled("hint:", .yellow, .bold) + "  " + hint) }
    if let help { lines.append(terminal.styled("help:", .bold) + "  " + help) }
    lines.append(
      wrapUsage(usage, width: terminal.textWidth, first: terminal.styled("usage:", .bold) + " ", indent: 7))
    lines.append("       See '\(more)' for more.")
    return lines.joined(separator: "\n") + "\n"
  }
}

extension UsageError: CustomStringConvertible {
  /// The text without colours.
  public var description: String { text() }
}

extension Program {
  /// A usage error about the command, with the help line of the option or argument and its usage line.
  func usageError(
    _ kind: UsageError.Kind, _ message: String, hint: String? = nil, option: OptionDescription? = nil,
    argument: ArgumentDescription? = nil, in chain: [CommandDescription]
  ) -> UsageError {
    let path = chain.map(\.name)
    let help =
      option.map { "\($0.signature)  \($0.describedHelp)" } ?? argument.map { "\($0.name)  \($0.describedHelp)" }
    return UsageError(
      kind: kind, message: message, hint: hint, help: help, usage: usageLine(chain),
      more: ([name, "help"] + path).joined(separator: " "), path: path)
  }

  /// How messages call the command: `'key add'`, or by the program's name outside of any.
  func quoted(_ chain: [CommandDescription]) -> String {
    chain.isEmpty ? name : "'\(chain.map(\.name).joined(separator: " "))'"
  }
}

extension Sequence<String> {
  /// `a, b or c`.
  func listed(_ conjunction: String = "or") -> String {
    let words = Array(self)
    guard words.count > 1, let last = words.last else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " \(conjunction) " + last
  }
}
