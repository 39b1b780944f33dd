/// A positional argument of a command.
public struct ArgumentDescription: Sendable {
  /// The number of values of an argument. Only the last argument may repeat.
  public enum Count: Sendable {
    /// Exactly once.
    case one
    /// At most one value.
    case optional
    /// One value or more.
    case oneOrMore
    /// Any number of times.
    case any
  }

  /// The name in help and in `ParsedArguments`, in capitals: `ENTITY`, `FIELD=VALUE`.
  public var name: String
  /// The number of values.
  public var count: Count
  /// The description, in one line.
  public var help: String
  /// The completions that a shell offers.
  public var completion: Completion
  /// The allowed words; empty if any text is allowed.
  public var allowedValues: [String]
  /// Whether messages must not repeat the value.
  public var isSecret: Bool

  /// Declares an argument; the factories below read better.
  public init(
    _ name: String, count: Count, help: String, completion: Completion = .none, allowedValues: [String] = [],
    isSecret: Bool = false
  ) {
    self.name = name
    self.count = count
    self.help = help
    self.completion = completion
    self.allowedValues = allowedValues
    self.isSecret = isSecret
  }

  /// Describes a required argument.
  public static func required(
    _ name: String, _ help: String, completion: Completion = .none, allowed: [String] = []
  ) -> Self {
    Self(name, count: .one, help: help, completion: completion, allowedValues: allowed)
  }

  /// Describes an optional argument.
  public static func optional(
    _ name: String, _ help: String, completion: Completion = .none, allowed: [String] = []
  ) -> Self {
    Self(name, count: .optional, help: help, completion: completion, allowedValues: allowed)
  }

  /// Describes an argument with one value or more.
  public static func oneOrMore(
    _ name: String, _ help: String, completion: Completion = .none, allowed: [String] = []
  ) -> Self {
    Self(name, count: .oneOrMore, help: help, completion: completion, allowedValues: allowed)
  }

  /// Describes an argument with zero or more values.
  public static func any(
    _ name: String, _ help: String, completion: Completion = .none, allowed: [String] = []
  ) -> Self {
    Self(name, count: .any, help: help, completion: completion, allowedValues: allowed)
  }

  var isRepeating: Bool { count == .oneOrMore || count == .any }
  var isRequired: Bool { count == .one || count == .oneOrMore }

  /// The completions of a shell: the allowed words, unless any text is allowed.
  var offered: Completion { allowedValues.isEmpty ? completion : .words(allowedValues) }
}

/// The completions for a value.
public enum Completion: Sendable, Equatable {
  /// The shell offers no completions, because only the user knows the value.
  case none
  /// Names of files and folders.
  case file
  /// Names of folders.
  case folder
  /// The given words.
  case words([String])
  /// Values that only the program knows. The shell asks the command ``CommandDescription/completionValues()`` for those
  /// of this kind.
  case values(String)
}
