/// An invalid command line or configuration file: the problem, then help for the argument, then the usage line.
///
/// The texts repeat names, numbers and values of a closed set. They never repeat the value of a secret option, or words
/// that could be field values.
public struct UsageError: Error, Sendable, Equatable {
  /// The kind of the mistake.
  public enum Kind: Sendable, Equatable {
    /// A missing command, or a group without one of its commands.
    case missingCommand
    /// An unknown command.
    case unknownCommand
    /// An unknown option.
    case unknownOption
    /// An option lacks its value, or a required option is missing.
    case missingValue
    /// A flag has a value.
    case unexpectedValue
    /// An argument is missing.
    case missingArgument
    /// Too many arguments for the command.
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
  /// The usage line of the command; `nil` for a mistake in a configuration file.
  public let usage: String?
  /// The command that shows more help.
  public let more: String
  /// The recognized words of the command.
  public let path: [String]

  /// Always ``ExitCode/usage``.
  public var exitCode: ExitCode { .usage }

  /// The lines to write to standard error.
  public func text(for terminal: Terminal = .plain) -> String {
    var lines = [terminal.styled("error:", .red, .bold) + " " + message]
    if let hint { lines.append(terminal.styled("hint:", .yellow, .bold) + "  " + hint) }
    if let help { lines.append(terminal.styled("help:", .bold) + "  " + help) }
    if let usage {
      lines.append(
        wrapUsage(usage, width: terminal.textWidth, first: terminal.styled("usage:", .bold) + " ", indent: 7))
    }
    lines.append("       See '\(more)' for more.")
    return lines.joined(separator: "\n") + "\n"
  }
}

extension UsageError: CustomStringConvertible {
  /// The text without colours.
  public var description: String { text() }
}

extension Program {
  /// Returns a usage error about a command, with the help line of the option or argument and the usage line.
  /// - Parameter place: the file and the line of a setting; `nil` for a mistake in the command line.
  func usageError(
    _ kind: UsageError.Kind, _ message: String, hint: String? = nil, option: OptionDescription? = nil,
    argument: ArgumentDescription? = nil, at place: String? = nil, in chain: [CommandDescription]
  ) -> UsageError {
    let path = chain.map(\.name)
    let help =
      option.map { "\(place == nil ? $0.signature : $0.setting)  \($0.describedHelp)" }
      ?? argument.map { "\($0.name)  \($0.describedHelp)" }
    return UsageError(
      kind: kind, message: (place.map { "\(escaped($0)): " } ?? "") + message, hint: hint, help: help,
      usage: place == nil ? usageLine(chain) : nil, more: ([name, "help"] + path).joined(separator: " "), path: path)
  }

  /// Returns the name of a command in messages: `'key add'`, or the name of the program without a command.
  func quoted(_ chain: [CommandDescription]) -> String {
    chain.isEmpty ? name : "'\(chain.map(\.name).joined(separator: " "))'"
  }
}

extension Sequence<String> {
  /// Returns a list such as `a, b or c`.
  func listed(_ conjunction: String = "or") -> String {
    let words = Array(self)
    guard words.count > 1, let last = words.last else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " \(conjunction) " + last
  }
}
