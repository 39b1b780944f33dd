/// An option of a command or of the program: a flag, or a name with a value.
public struct OptionDescription: Sendable {
  /// The number of values of an option. A flag may always be repeated.
  public enum Repetition: Sendable {
    /// One value at most.
    case once
    /// Any number of times, with one value each: `--header A --header B`.
    case each
    /// The following words are values too: `--schema restoration range`. For commands without arguments.
    case list
    /// The following `NAME=VALUE` words are values too: `--set a=1 b=2`.
    case assignments
  }

  /// The long name, without the dashes.
  public var long: String
  /// The one-letter name.
  public var short: Character?
  /// The name of the value in help, in capitals; `nil` for a flag.
  public var valueName: String?
  /// The description, in one line.
  public var help: String
  /// The number of values.
  public var repetition: Repetition
  /// Whether the command requires the option.
  public var isRequired: Bool
  /// The default, which the help shows.
  public var defaultValue: String?
  /// The completions for its value.
  public var completion: Completion
  /// The allowed values; empty if any text is allowed.
  public var allowedValues: [String]
  /// Whether messages must not repeat its value.
  public var isSecret: Bool
  /// Whether help and completions leave it out.
  public var isHidden: Bool
  /// The environment variable with the value for a command line that lacks the option; `nil` for none.
  public var variable: String?
  /// Whether a configuration file may have the option.
  public var isSetting: Bool
  /// Whether a running program takes over a changed value.
  public var isReloadable: Bool
  /// The values that are names, of an option whose other values are paths.
  public var names: [String]

  /// Describes an option that is on or off.
  public static func flag(
    _ long: String, short: Character? = nil, _ help: String, isHidden: Bool = false, isSetting: Bool = true
  ) -> Self {
    Self(
      long: long, short: short, valueName: nil, help: help, repetition: .each, isRequired: false, defaultValue: nil,
      completion: .none, allowedValues: [], isSecret: false, isHidden: isHidden, variable: nil, isSetting: isSetting,
      isReloadable: false, names: [])
  }

  /// Describes an option with a value.
  public static func value(
    _ long: String, _ valueName: String, short: Character? = nil, _ help: String, repetition: Repetition = .once,
    required: Bool = false, default defaultValue: String? = nil, completion: Completion = .none,
    allowed: [String] = [], names: [String] = [], isSecret: Bool = false, isHidden: Bool = false,
    variable: String? = nil, isSetting: Bool = true, isReloadable: Bool = false
  ) -> Self {
    Self(
      long: long, short: short, valueName: valueName, help: help, repetition: repetition, isRequired: required,
      defaultValue: defaultValue, completion: completion, allowedValues: allowed, isSecret: isSecret,
      isHidden: isHidden, variable: variable, isSetting: isSetting, isReloadable: isReloadable, names: names)
  }

  var isFlag: Bool { valueName == nil }

  /// The completions of a shell: the allowed words, unless any text is allowed.
  var offered: Completion { allowedValues.isEmpty ? completion : .words(allowedValues) }

  /// The form on the command line: `--limit`, and `-n` if it has a letter.
  var spellings: [String] { (short.map { ["-\($0)"] } ?? []) + ["--\(long)"] }

  /// The options that every program has.
  static let builtIn: [OptionDescription] = [
    .flag("help", short: "h", "show help for the program or the command", isSetting: false),
    .flag("version", "show the version", isSetting: false),
  ]
}
