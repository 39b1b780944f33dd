/// The name, arguments, options and results of a command.
///
/// This value is the only source of the parser, the help, the completions of three shells and the manual. A command
/// with subcommands is a group. Without a subcommand it runs its default, and fails if it has none.
///
/// ```swift
/// CommandDescription(
///   "list", aliases: ["ls"], group: "Records", summary: "list records of an entity",
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
  /// The description, in one line.
  public var summary: String
  /// Further paragraphs for the help; empty if the summary suffices.
  public var discussion: String
  /// The positional arguments, in order.
  public var arguments: [ArgumentDescription]
  /// The options beyond those of the program.
  public var options: [OptionDescription]
  /// Options and arguments that exclude each other.
  public var choices: [Choice]
  /// Examples of command lines.
  public var examples: [Example]
  /// The exit codes in addition to ``ExitCode/done``, ``ExitCode/failed`` and ``ExitCode/usage``.
  public var exitCodes: [ExitCode]
  /// The commands of a group.
  public var subcommands: [CommandDescription]
  /// The command of a group that runs if none is given, such as `list`. It has no required argument.
  public var defaultSubcommand: String?
  /// Whether help and completions leave it out.
  public var isHidden: Bool

  /// Declares a command. Only the name and the summary are required.
  public init(
    _ name: String, aliases: [String] = [], group: String = "", summary: String, discussion: String = "",
    arguments: [ArgumentDescription] = [], options: [OptionDescription] = [], choices: [Choice] = [],
    examples: [Example] = [], exitCodes: [ExitCode] = [], subcommands: [CommandDescription] = [],
    defaultSubcommand: String? = nil, isHidden: Bool = false
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
    self.defaultSubcommand = defaultSubcommand
    self.isHidden = isHidden
  }

  /// The command of a group that runs if none is given.
  var defaultCommand: CommandDescription? {
    defaultSubcommand.flatMap { name in subcommands.first { $0.name == name } }
  }

  /// Returns whether a word calls this command.
  func isCalled(_ word: String) -> Bool { name == word || aliases.contains(word) }
}

/// A command line and its effect.
public struct Example: Sendable, Equatable {
  /// The command line.
  public var command: String
  /// The effect; empty if the command line says it.
  public var effect: String

  /// Creates an example. `problems()` of the program checks that its command line parses.
  public init(_ command: String, _ effect: String) {
    self.command = command
    self.effect = effect
  }
}

/// Options or arguments that exclude each other.
public struct Choice: Sendable, Equatable {
  /// Names as declared: `push-only` for an option, `ID` for an argument.
  public var names: [String]
  /// Whether one of them is required.
  public var isRequired: Bool

  /// Creates a choice of at most one of the names, or of exactly one if `required`.
  public init(_ names: String..., required: Bool = false) {
    self.names = names
    self.isRequired = required
  }
}

extension CommandDescription {
  /// The command that prints completions; run it with ``Program/completions(for:)``.
  public static func completions(group: String = "") -> Self {
    Self(
      "completions", group: group, summary: "a script that completes this program's words in a shell",
      discussion: """
        bash: add `source <(PROGRAM completions bash)` to ~/.bashrc.
        zsh: write it to a file named _PROGRAM in a folder of $fpath.
        fish: write it to ~/.config/fish/completions/PROGRAM.fish.
        """,
      arguments: [.required("SHELL", "the shell to write for", allowed: Shell.allCases.map(\.rawValue))])
  }

  /// The command that the completion scripts call for ``Completion/values(_:)``, with the words before the cursor. It prints
  /// a line for each value that begins with PREFIX. A tab and a description may follow the value.
  public static func completionValues() -> Self {
    Self(
      "complete", summary: "the values that a completion script offers",
      arguments: [
        .required("KIND", "the kind of value"), .required("PREFIX", "the beginning of the value, which may be empty"),
        .any("WORD", "the words before the value"),
      ], isHidden: true)
  }

  /// The command that prints the man page; run it with ``Program/manual()``.
  public static func manual(group: String = "") -> Self {
    Self("manual", group: group, summary: "the man page of this program, for 'man -l -'")
  }

  /// The command that prints the version.
  public static func version(group: String = "") -> Self {
    Self("version", group: group, summary: "the version of this program")
  }
}

/// A shell for which completions can be written.
public enum Shell: String, Sendable, CaseIterable {
  /// bash 3.2 and later. macOS has 3.2.
  case bash
  /// zsh 5 and later.
  case zsh
  /// fish 3 and later.
  case fish
}
