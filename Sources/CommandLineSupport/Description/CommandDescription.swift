/// What a command is called, takes, does and returns.
///
/// This one value is the source of the parser, the help, the completions of three shells and the manual, so none
/// of them can say something else. A command with subcommands is a group: it does nothing by itself.
///
/// ```swift
/// CommandDescription(
///   "list", aliases: ["ls"], group: "Records", summary: "records of one kind",
///   arguments: [.required("ENTITY", "the entity type, or its table")],
///   options: [.value("limit", "N", short: "n", "at most this many")],
///   examples: [Example("fieldvault list AtmosphericLog -n 5", "the first five readings")],
///   exitCodes: [.locked, .notFound])
/// ```
public struct CommandDescription: Sendable {
  /// The word that calls it.
  public var name: String
  /// Other words that call it, such as `ls`.
  public var aliases: [String]
  /// The heading under which the program's help lists it.
  public var group: String
  /// What it does, in one line.
  public var summary: String
  /// What else a person should know, in paragraphs; empty when the summary says it all.
  public var discussion: String
  /// The positional arguments, in order.
  public var arguments: [ArgumentDescription]
  /// The options beyond those of the program.
  public var options: [OptionDescription]
  /// Options and arguments of which only one may be given.
  public var choices: [Choice]
  /// Command lines that work, each with what it does.
  public var examples: [Example]
  /// What it can return beside ``ExitCode/done``, ``ExitCode/failed`` and ``ExitCode/usage``.
  public var exitCodes: [ExitCode]
  /// The commands of a group.
  public var subcommands: [CommandDescription]
  /// Whether help and completions leave it out.
  public var isHidden: Bool

  /// Declares a command; everything but its name and summary may be left out.
  public init(
    _ name: String, aliases: [String] = [], group: String = "", summary: String, discussion: String = "",
    arguments: [ArgumentDescription] = [], options: [OptionDescription] = [], choices: [Choice] = [],
    examples: [Example] = [], exitCodes: [ExitCode] = [], subcommands: [CommandDescription] = [],
    isHidden: Bool = false
  ) {
    self.name = name
    self.aliases = aliases
    self.group = group
    self.summary = summary
    self.discussion = discussion
    self.arguments = arguments
    self.options = options
    self.choices = choices
    self.examples = examples
    self.exitCodes = exitCodes
    self.subcommands = subcommands
    self.isHidden = isHidden
  }

  /// Whether the word calls this command.
  func isCalled(_ word: String) -> Bool { name == word || aliases.contains(word) }
}

/// A command line that works, and what it does.
public struct Example: Sendable, Equatable {
  /// What to type.
  public var command: String
  /// What happens then.
  public var effect: String

  /// An example; `problems()` of the program checks that its command line parses.
  public init(_ command: String, _ effect: String) {
    self.command = command
    self.effect = effect
  }
}

/// Options or arguments that exclude each other.
public struct Choice: Sendable, Equatable {
  /// Names as declared: `push-only` for an option, `ID` for an argument.
  public var names: [String]
  /// Whether one of them has to be given.
  public var isRequired: Bool

  /// At most one of the names, or exactly one when `required`.
  public init(_ names: String..., required: Bool = false) {
    self.names = names
    self.isRequired = required
  }
}
