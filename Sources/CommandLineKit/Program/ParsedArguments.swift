/// The origin of a value.
public enum ValueSource: Sendable, Hashable {
  /// A word of the command line.
  case commandLine
  /// An environment variable.
  case environment(String)
  /// A line of a configuration file.
  case file(String, line: Int)
  /// The declared default.
  case declaredDefault
}

/// A value with its origin. A flag that is off has the text `false`.
struct GivenValue: Sendable {
  let text: String
  let source: ValueSource
}

/// A parsed command line: the command and its values, which environment variables and a configuration file may complete.
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
  /// The topic of the requested help; `nil` for the help of the command.
  let topic: HelpTopic?
  let chain: [CommandDescription]
  private(set) var given: [String: [GivenValue]]
  /// The requested action.
  public let request: Request

  init(
    program: Program, request: Request, topic: HelpTopic? = nil, chain: [CommandDescription],
    given: [String: [GivenValue]]
  ) {
    self.program = program
    self.request = request
    self.topic = topic
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
      kind, message, hint: hint, option: name.flatMap(option), argument: name.flatMap(argument),
      at: name.flatMap { place($0) }, in: chain)
  }

  private func occurrences(_ name: String) -> [String]? {
    assert(isDeclared(name), "\(program.quoted(chain)) declares no \(name)")
    guard let values = given[name] else { return nil }
    if option(name)?.isFlag == true, values.first?.text == "false" { return nil }
    return values.map(\.text)
  }

  private var options: [OptionDescription] { chain.flatMap(\.options) + program.globalOptions }

  private func option(_ name: String) -> OptionDescription? { options.first { $0.long == name } }

  private func argument(_ name: String) -> ArgumentDescription? {
    chain.last?.arguments.first { $0.name == name }
  }

  func isSecret(_ name: String) -> Bool { option(name)?.isSecret ?? argument(name)?.isSecret ?? false }

  /// Returns whether the command has an option or argument.
  public func isDeclared(_ name: String) -> Bool { option(name) != nil || argument(name) != nil }

  /// Returns the name of an option or argument in messages, as the user wrote it: `--data`, the environment variable, or
  /// the name in a configuration file.
  public func spelled(_ name: String) -> String {
    switch given[name]?.first?.source {
    case .environment(let variable): variable
    case .file: name
    case .commandLine, .declaredDefault, nil: option(name) == nil ? name : "--\(name)"
    }
  }

  /// Returns the origin of the first value of an option or argument; `nil` without a value.
  public func source(_ name: String) -> ValueSource? {
    isGiven(name) ? given[name]?.first?.source : option(name)?.defaultValue.map { _ in .declaredDefault }
  }

  /// Returns the file and the line of a value, `server.conf:7`; `nil` unless it comes from a configuration file.
  /// - Parameter index: the position of the value among those of the option.
  public func place(_ name: String, at index: Int = 0) -> String? {
    guard let values = given[name], values.indices.contains(index) else { return nil }
    guard case .file(let path, let line) = values[index].source else { return nil }
    return "\(path):\(line)"
  }
}

extension ParsedArguments: Equatable {
  /// Returns whether both have the same action and values, in any spelling.
  public static func == (a: Self, b: Self) -> Bool {
    a.request == b.request && a.path == b.path
      && a.given.mapValues { $0.map(\.text) } == b.given.mapValues { $0.map(\.text) }
  }
}

// Checks of the whole line.
extension ParsedArguments {
  func checkChoices() throws(UsageError) {
    for choice in chain.flatMap(\.choices) + program.choices {
      let found = choice.names.filter(isGiven)
      if found.count > 1 {
        throw mistake(
          "\(found.map(spelled).listed("and")) exclude each other", about: found.first(where: { place($0) != nil }),
          .conflict, hint: "use only one of them")
      }
      if found.isEmpty, choice.isRequired {
        throw mistake("\(choice.names.map(spelled).listed()) is missing", .missingArgument)
      }
    }
  }

  func checkRequired() throws(UsageError) {
    for argument in chain.last?.arguments ?? [] where argument.isRequired && !isGiven(argument.name) {
      throw mistake("\(argument.name) is missing", about: argument.name, .missingArgument)
    }
    for option in chain.flatMap(\.options) + program.options where option.isRequired && !isGiven(option.long) {
      throw mistake("--\(option.long) is missing", about: option.long, .missingValue)
    }
  }
}

extension ParsedArguments {
  /// A value that a command uses.
  public struct EffectiveSetting: Sendable, Hashable {
    /// The long name of the option.
    public let name: String
    /// The value. A flag is `true` or `false`.
    public let value: String
    /// The origin of the value.
    public let source: ValueSource
  }

  /// The values of the options that a configuration file may have, in the order of the help. Options without a value are
  /// left out.
  public var effectiveSettings: [EffectiveSetting] {
    options.filter(\.isSetting).flatMap { option in
      let values =
        given[option.long]
        ?? (option.isFlag ? "false" : option.defaultValue).map { [GivenValue(text: $0, source: .declaredDefault)] }
        ?? []
      return values.map { value in
        EffectiveSetting(
          name: option.long, value: option.isFlag ? (value.text == "false" ? "false" : "true") : value.text,
          source: value.source)
      }
    }
  }

  /// The names of the options whose changed values a running program takes over.
  public var reloadableSettings: Set<String> { Set(options.filter(\.isReloadable).map(\.long)) }

  /// Returns the arguments with the values of environment variables for options that are not given. An empty variable
  /// counts as missing.
  /// - Parameter variable: returns the value of a variable.
  public func adding(_ variable: (String) -> String?) throws(UsageError) -> ParsedArguments {
    var result = self
    for option in options {
      guard let name = option.variable, let text = variable(name), !text.isEmpty, !isDecided(option.long) else {
        continue
      }
      if let refusal = option.refusal(of: text, spelled: name) {
        throw mistake(refusal.message, about: option.long, hint: refusal.hint)
      }
      result.given[option.long] = [GivenValue(text: text, source: .environment(name))]
    }
    try result.checkChoices()
    return result
  }

  /// Returns the arguments with the settings of a file for options that are not given. Settings that the command does not
  /// have are left out.
  public func adding(_ file: ConfigurationFile) throws(UsageError) -> ParsedArguments {
    var result = self
    for setting in file.settings where option(setting.name) != nil && !isDecided(setting.name) {
      result.given[setting.name, default: []].append(
        GivenValue(text: setting.value, source: .file(file.path, line: setting.line)))
    }
    try result.checkChoices()
    return result
  }

  /// Returns whether an option, or one that excludes it, is given.
  private func isDecided(_ name: String) -> Bool {
    given[name] != nil
      || chain.flatMap(\.choices).contains { $0.names.contains(name) && $0.names.contains(where: isGiven) }
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
