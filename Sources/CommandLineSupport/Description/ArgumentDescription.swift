/// A positional argument of a command.
public struct ArgumentDescription: Sendable {
  /// How often an argument stands on the command line. Only the last argument may repeat.
  public enum Count: Sendable {
    /// Exactly once.
    case one
    /// Once or not at all.
    case optional
    /// Once or more.
    case oneOrMore
    /// Any number of times.
    case any
  }

  /// Its name in help and in `ParsedArguments`, in capitals: `ENTITY`, `FIELD=VALUE`.
  public var name: String
  /// How often it may be given.
  public var count: Count
  /// What it is, in one line.
  public var help: String
  /// What a shell offers for it.
  public var completion: Completion
  /// The only words that it may be; empty when anything goes.
  public var allowedValues: [String]
  /// Whether messages must not repeat what was given.
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

  /// An argument that must be given.
  public static func required(
    _ name: String, _ help: String, completion: Completion = .none, allowed: [String] = []
  ) -> Self {
    Self(name, count: .one, help: help, completion: completion, allowedValues: allowed)
  }

  /// An argument that may be left out.
  public static func optional(
    _ name: String, _ help: String, completion: Completion = .none, allowed: [String] = []
  ) -> Self {
    Self(name, count: .optional, help: help, completion: completion, allowedValues: allowed)
  }

  /// One argument or more.
  public static func oneOrMore(
    _ name: String, _ help: String, completion: Completion = .none, allowed: [String] = []
  ) -> Self {
    Self(name, count: .oneOrMore, help: help, completion: completion, allowedValues: allowed)
  }

  /// Any number of arguments, none among them.
  public static func any(
    _ name: String, _ help: String, completion: Completion = .none, allowed: [String] = []
  ) -> Self {
    Self(name, count: .any, help: help, completion: completion, allowedValues: allowed)
  }

  var isRepeating: Bool { count == .oneOrMore || count == .any }
  var isRequired: Bool { count == .one || count == .oneOrMore }

  /// What a shell offers: the allowed words come before everything else.
  var offered: Completion { allowedValues.isEmpty ? completion : .words(allowedValues) }
}

/// What a shell offers for a value.
public enum Completion: Sendable, Equatable {
  /// Nothing: only the person knows.
  case none
  /// Names of files and folders.
  case file
  /// Names of folders.
  case folder
  /// These words.
  case words([String])
}
