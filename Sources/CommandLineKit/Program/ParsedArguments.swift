/// A parsed command line: the command and its values.
///
/// Options are accessed by their long name, arguments by their name in capitals. A name that the command does not
/// declare is a programming error and stops a debug build.
public struct ParsedArguments: Sendable {
  /// The requested action.
  public enum Request: Sendable, Equatable {
    /// Run the command.
    case run
    /// Show the help for the command, or for the program if the path is empty.
    case help
    /// Show the version.
    case version
  }

  let program: Program
  let chain: [CommandDescription]
  let given: [String: [String]]
  /// The requested action.
  public let request: Request

  init(program: Program, request: Request, chain: [CommandDescription], given: [String: [String]]) {
    self.program = program
    self.request = request
    self.chain = chain
    self.given = given
  }

  /// The words of the command by their declared names: `["key", "add"]`.
  public var path: [String] { chain.map(\.name) }

  /// The path as one string, to switch over: `"key add"`.
  public var command: String { path.joined(separator: " ") }

  /// Returns whether a flag is on.
  public func flag(_ name: String) -> Bool { occurrences(name) != nil }

  /// Returns the number of times a flag was given: `-vv` is 2.
  public func count(_ name: String) -> Int { occurrences(name)?.count ?? 0 }

  /// Returns whether an option or argument was given.
  public func isGiven(_ name: String) -> Bool { occurrences(name) != nil }

  /// Returns the value of an option or argument, or the option's declared default.
  public func value(_ name: String) -> String? {
    occurrences(name)?.first ?? option(name)?.defaultValue
  }

  /// Returns all values of an option or argument in order; or the default.
  public func values(_ name: String) -> [String] {
    occurrences(name) ?? option(name)?.defaultValue.map { [$0] } ?? []
  }

  /// Returns a required value.
  public func required(_ name: String) throws(UsageError) -> String {
    if let value = value(name) { return value }
    throw mistake("\(spelled(name)) is missing", about: name, .missingArgument)
  }

  /// Returns the value as a case of an enumeration whose raw values are the allowed values.
  public func value<Case: RawRepresentable<String>>(_ name: String, as type: Case.Type) throws(UsageError) -> Case? {
    guard let text = value(name) else { return nil }
    if let value = Case(rawValue: text) { return value }
    throw mistake("\(spelled(name)) is not one of the allowed values", about: name)
  }

  /// Returns a usage error of the command, with the help line of the option or argument.
  public func mistake(
    _ message: String, about name: String? = nil, _ kind: UsageError.Kind = .invalidValue, hint: String? = nil
  ) -> UsageError {
    program.usageError(
      kind, message, hint: hint, option: name.flatMap(option), argument: name.flatMap(argument), in: chain)
  }

  private func occurrences(_ name: String) -> [String]? {
    assert(option(name) != nil || argument(name) != nil, "\(program.quoted(chain)) declares no \(name)")
    return given[name]
  }

  private func option(_ name: String) -> OptionDescription? {
    (chain.flatMap(\.options) + program.globalOptions).first { $0.long == name }
  }

  private func argument(_ name: String) -> ArgumentDescription? {
    chain.last?.arguments.first { $0.name == name }
  }

  func isSecret(_ name: String) -> Bool { option(name)?.isSecret ?? argument(name)?.isSecret ?? false }

  func spelled(_ name: String) -> String { option(name) == nil ? name : "--\(name)" }
}

extension ParsedArguments: Equatable {
  /// Returns whether both have the same action and values, in any spelling.
  public static func == (a: Self, b: Self) -> Bool {
    a.request == b.request && a.path == b.path && a.given == b.given
  }
}

extension ParsedArguments {
  /// Returns the value as a whole number; `nil` if it was not given.
  public func integer(_ name: String) throws(UsageError) -> Int? {
    try integer(name, from: .min, to: .max)
  }

  /// Returns the value as a whole number of at least the bound.
  public func integer(_ name: String, in range: PartialRangeFrom<Int>) throws(UsageError) -> Int? {
    try integer(name, from: range.lowerBound, to: .max)
  }

  /// Returns the value as a whole number between the bounds.
  public func integer(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
    try integer(name, from: range.lowerBound, to: range.upperBound)
  }

  /// Returns all values as whole numbers of at least the bound, such as the ids of a list.
  public func integers(_ name: String, in range: PartialRangeFrom<Int>) throws(UsageError) -> [Int] {
    var numbers: [Int] = []
    for text in values(name) { numbers.append(try number(text, name, range.lowerBound, .max)) }
    return numbers
  }

  private func integer(_ name: String, from low: Int, to high: Int) throws(UsageError) -> Int? {
    guard let text = value(name) else { return nil }
    return try number(text, name, low, high)
  }

  private func number(_ text: String, _ name: String, _ low: Int, _ high: Int) throws(UsageError) -> Int {
    if let number = Int(text), (low...high).contains(number) { return number }
    let bounds =
      switch (low, high) {
      case (.min, .max): ""
      case (_, .max): " from \(low)"
      default: " from \(low) to \(high)"
      }
    let shown = isSecret(name) ? "" : ", not '\(escaped(text))'"
    throw mistake("\(spelled(name)) is a whole number\(bounds)\(shown)", about: name)
  }
}
