/// An option of a command or of the program: a flag, or a name with a value.
public struct OptionDescription: Sendable {
  /// How often an option with a value may be given. A flag may always be repeated; it stays on.
  public enum Repetition: Sendable {
    /// Once.
    case once
    /// Any number of times, with one value each: `--header A --header B`.
    case each
    /// The words that follow are values too: `--schema restoration range`. For commands without arguments.
    case list
    /// `NAME=VALUE` words that follow are values too: `--set a=1 b=2`.
    case assignments
  }

  /// Its long name, without the dashes.
  public var long: String
  /// Its one-letter name.
  public var short: Character?
  /// How help calls its value, in capitals; nil for a flag.
  public var valueName: String?
  /// What it does, in one line.
  public var help: String
  /// How often it may be given.
  public var repetition: Repetition
  /// Whether the command cannot do without.
  public var isRequired: Bool
  /// What holds when it is not given; help says so.
  public var defaultValue: String?
  /// What a shell offers for its value.
  public var completion: Completion
  /// The only values that it takes; empty when anything goes.
  public var allowedValues: [String]
  /// Whether messages must not repeat its value.
  public var isSecret: Bool
  /// Whether help and completions leave it out.
  public var isHidden: Bool

  /// An option that is on or off.
  public static func flag(
    _ long: String, short: Character? = nil, _ help: String, isHidden: Bool = false
  ) -> Self {
    Self(
      long: long, short: short, valueName: nil, help: help, repetition: .each, isRequired: false, defaultValue: nil,
      completion: .none, allowedValues: [], isSecret: false, isHidden: isHidden)
  }

  /// An option with a value.
  public static func value(
    _ long: String, _ valueName: String, short: Character? = nil, _ help: String, repetition: Repetition = .once,
    required: Bool = false, default defaultValue: String? = nil, completion: Completion = .none,
    allowed: [String] = [], isSecret: Bool = false, isHidden: Bool = false
  ) -> Self {
    Self(
      long: long, short: short, valueName: valueName, help: help, repetition: repetition, isRequired: required,
      defaultValue: defaultValue, completion: completion, allowedValues: allowed, isSecret: isSecret,
      isHidden: isHidden)
  }

  var isFlag: Bool { valueName == nil }

  /// What a shell offers: the allowed words come before everything else.
  var offered: Completion { allowedValues.isEmpty ? completion : .words(allowedValues) }

  /// As it is typed: `--limit`, and `-n` when there is one.
  var spellings: [String] { (short.map { ["-\($0)"] } ?? []) + ["--\(long)"] }

  /// The options that every program has.
  static let builtIn: [OptionDescription] = [
    .flag("help", short: "h", "show help for the program or the command"),
    .flag("version", "show the version"),
  ]
}
