/// Parses a command line by the description of a program.
///
/// - `--name value`, `--name=value`, `-n value`, `-nvalue`; grouped flags: `-qv`.
/// - `--` ends the options. A single `-` is a value, by convention standard input. Negative numbers are values.
/// - Another value that begins with a dash is written as `--name=-value`, unless its name would contain a space.
/// - Options of a command follow it, global ones are allowed anywhere. `--help` anywhere requests the help.
/// - A group runs its default command if none is given. An option of the default command selects it.
///
/// ```swift
/// let arguments = try ArgumentParser(program).parse(["list", "AtmosphericLog", "-n", "5"])
/// arguments.command               // "list"
/// try arguments.integer("limit")  // 5
/// ```
///
/// Parsing is a pure function of the words: it reads no environment and no file, and prints nothing.
public struct ArgumentParser: Sendable {
  /// The program.
  public let program: Program

  /// Creates a parser for the program.
  public init(_ program: Program) {
    self.program = program
  }

  /// Reads the words that follow the program's name.
  public func parse(_ words: [String]) throws(UsageError) -> ParsedArguments {
    var scan = ArgumentScan(program: program)
    if asksForHelp(words) {
      // A request for help ignores other mistakes, except an unknown command.
      do throws(UsageError) {
        try scan.run(words)
      } catch {
        if error.kind == .unknownCommand { throw error }
      }
      return scan.result(.help)
    }
    try scan.run(words)
    if scan.asksForHelp { return scan.result(.help) }
    if scan.isGiven("version") { return scan.result(.version) }
    try scan.finish()
    return scan.result(.run)
  }

  /// Reads the words before the cursor of a line that is being written. The first mistake and all words after the mistake
  /// are ignored.
  public func parseBeginning(_ words: [String]) -> ParsedArguments {
    var scan = ArgumentScan(program: program)
    do throws(UsageError) {
      try scan.run(words)
    } catch {
      // The line may end with an option whose value is being written.
    }
    return scan.beginning()
  }

  private func asksForHelp(_ words: [String]) -> Bool {
    words.prefix { $0 != "--" }.contains { $0 == "--help" || $0 == "-h" }
  }
}

/// The state while a command line is read, word by word.
struct ArgumentScan {
  let program: Program
  private(set) var chain: [CommandDescription] = []
  private(set) var asksForHelp = false
  private var topic: HelpTopic?
  private var given: [String: [String]] = [:]
  private var positionals: [String] = []

  init(program: Program) {
    self.program = program
  }

  func isGiven(_ name: String) -> Bool { given[name] != nil }

  func result(_ request: ParsedArguments.Request) -> ParsedArguments {
    ParsedArguments(
      program: program, request: request, topic: topic, chain: chain,
      given: given.mapValues { values in values.map { GivenValue(text: $0, source: .commandLine) } })
  }

  mutating func run(_ words: [String]) throws(UsageError) {
    var rest = words[...]
    while let word = rest.popFirst() {
      if word == "--" {
        for word in rest { try takeWord(word) }
        return
      }
      if isValue(word) {
        try takeWord(word)
      } else if word.hasPrefix("--") {
        try takeLong(word, &rest)
      } else {
        try takeShort(word, &rest)
      }
    }
  }

  // MARK: Options

  private mutating func takeLong(_ word: String, _ rest: inout ArraySlice<String>) throws(UsageError) {
    let body = word.dropFirst(2)
    // By bytes: a mark at the start of the value would be one character with the sign.
    let name = body[..<(body.utf8.firstIndex(of: UInt8(ascii: "=")) ?? body.endIndex)]
    guard let option = takeOption({ $0.long == name }) else { throw unknownOption("--\(name)") }
    let attached = name.endIndex == body.endIndex ? nil : String(body.unicodeScalars[name.endIndex...].dropFirst())
    if option.isFlag {
      guard attached == nil else {
        throw program.usageError(.unexpectedValue, "--\(name) takes no value", option: option, in: chain)
      }
      given[option.long, default: []].append("")
    } else {
      try takeValue(of: option, spelled: "--\(name)", attached: attached, &rest)
    }
  }

  /// Returns the option that is allowed here. An option of a group's default command selects that command.
  private mutating func takeOption(_ isMeant: (OptionDescription) -> Bool) -> OptionDescription? {
    if let option = options.first(where: isMeant) { return option }
    guard let command = chain.last?.defaultCommand, let option = command.options.first(where: isMeant) else {
      return nil
    }
    chain.append(command)
    return option
  }

  private mutating func takeShort(_ word: String, _ rest: inout ArraySlice<String>) throws(UsageError) {
    var letters = word.unicodeScalars.dropFirst()
    while let letter = letters.popFirst() {
      guard let option = takeOption({ $0.short == Character(letter) }) else {
        throw unknownOption("-\(letter)")
      }
      if option.isFlag {
        given[option.long, default: []].append("")
      } else {
        return try takeValue(
          of: option, spelled: "-\(letter)", attached: letters.isEmpty ? nil : String(letters), &rest)
      }
    }
  }

  private mutating func takeValue(
    of option: OptionDescription, spelled: String, attached: String?, _ rest: inout ArraySlice<String>
  ) throws(UsageError) {
    if option.repetition == .once, isGiven(option.long) {
      throw program.usageError(.repeatedOption, "\(spelled) is given twice", option: option, in: chain)
    }
    guard let value = attached ?? (rest.first.map(isValue) == true ? rest.popFirst() : nil) else {
      let isEnd = rest.isEmpty || rest.first == "--"
      let hint = isEnd ? nil : "write a value that begins with '-' as --\(option.long)=-VALUE"
      throw program.usageError(.missingValue, "\(spelled) needs a value", hint: hint, option: option, in: chain)
    }
    try check(value, of: option)
    given[option.long, default: []].append(value)
    guard attached == nil else { return }
    while let next = rest.first, isValue(next), continues(option, with: next) {
      try check(next, of: option)
      given[option.long, default: []].append(next)
      rest.removeFirst()
    }
  }

  private func continues(_ option: OptionDescription, with word: String) -> Bool {
    switch option.repetition {
    case .once, .each: false
    case .list: true
    case .assignments: isAssignment(word)
    }
  }

  /// Returns whether a word is a value and not an option. A word whose name contains a space is a value, because SQL
  /// may begin with a comment.
  private func isValue(_ word: String) -> Bool {
    guard word.hasPrefix("-"), word != "-", !isNegativeNumber(word) else { return true }
    let name = word.hasPrefix("--") ? word.unicodeScalars.prefix { $0 != "=" } : word.unicodeScalars.prefix(2)
    return name.contains(where: \.properties.isWhitespace)
  }

  private func isNegativeNumber(_ word: String) -> Bool {
    guard let second = word.dropFirst().first, !options.contains(where: { $0.short == second }) else { return false }
    return second.isASCII && (second.isNumber || second == ".") && Double(word) != nil
  }

  // MARK: Words

  private mutating func takeWord(_ word: String) throws(UsageError) {
    if let command = chain.last, command.subcommands.isEmpty {
      positionals.append(word)
    } else if let command = commands.first(where: { $0.isCalled(word) }) {
      chain.append(command)
    } else if word == "help" {
      asksForHelp = true
    } else if asksForHelp, chain.isEmpty, let topic = HelpTopic(rawValue: word) {
      self.topic = topic
    } else {
      throw unknownCommand(word)
    }
  }
}

extension ArgumentScan {
  /// The commands that the next word can name.
  var commands: [CommandDescription] { chain.last?.subcommands ?? program.commands }

  /// The options that are allowed here, the options of the innermost command first.
  var options: [OptionDescription] { chain.reversed().flatMap(\.options) + program.globalOptions }

  /// Checks the whole line and assigns names to the arguments.
  mutating func finish() throws(UsageError) {
    if let command = chain.last?.defaultCommand { chain.append(command) }
    if chain.last?.subcommands.isEmpty != true { throw missingCommand() }
    let excess = nameArguments()
    for argument in chain.last?.arguments ?? [] {
      for value in given[argument.name] ?? [] { try check(value, of: argument) }
    }
    if excess > 0 { throw tooManyArguments() }
    let arguments = result(.run)
    try arguments.checkChoices()
    try arguments.checkRequired()
  }

  /// Returns the line so far, unchecked.
  mutating func beginning() -> ParsedArguments {
    nameArguments()
    return result(.run)
  }

  /// - Returns: the number of words for which the command has no argument.
  @discardableResult
  private mutating func nameArguments() -> Int {
    var rest = positionals[...]
    for argument in chain.last?.arguments ?? [] {
      let values = argument.isRepeating ? rest : rest.prefix(1)
      rest = rest.dropFirst(values.count)
      if !values.isEmpty { given[argument.name] = Array(values) }
    }
    return rest.count
  }
}

/// Returns whether a word has the form `NAME=VALUE` with an SQL name, which may contain dots.
private func isAssignment(_ word: String) -> Bool {
  guard let equals = word.utf8.firstIndex(of: UInt8(ascii: "=")) else { return false }
  let name = word.utf8[..<equals]
  guard let first = name.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else { return false }
  return name.allSatisfy {
    switch $0 {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."): true
    default: false
    }
  }
}

// Checks of values.
extension ArgumentScan {
  func check(_ value: String, of option: OptionDescription) throws(UsageError) {
    guard let refusal = option.refusal(of: value, spelled: "--\(option.long)") else { return }
    throw program.usageError(.invalidValue, refusal.message, hint: refusal.hint, option: option, in: chain)
  }

  func check(_ value: String, of argument: ArgumentDescription) throws(UsageError) {
    guard
      let refusal = refusal(
        of: value, spelled: argument.name, allowed: argument.allowedValues, isSecret: argument.isSecret)
    else { return }
    throw program.usageError(.invalidValue, refusal.message, hint: refusal.hint, argument: argument, in: chain)
  }
}

extension OptionDescription {
  /// Returns why a value is not one of the allowed values; `nil` if it is.
  func refusal(of value: String, spelled: String) -> (message: String, hint: String?)? {
    CommandLineKit.refusal(of: value, spelled: spelled, allowed: allowedValues, isSecret: isSecret)
  }
}

private func refusal(
  of value: String, spelled: String, allowed: [String], isSecret: Bool
) -> (message: String, hint: String?)? {
  guard !allowed.isEmpty, !allowed.contains(value) else { return nil }
  return (
    "\(spelled) is \(allowed.listed())" + (isSecret ? "" : ", not '\(escaped(value))'"), suggestion(value, allowed)
  )
}

// Returns the problem of a name. Words that may be field values are not repeated in messages.
extension ArgumentScan {
  func unknownOption(_ spelling: String) -> UsageError {
    let name = String(spelling.drop { $0 == "-" })
    let isLong = spelling.hasPrefix("--")
    var hint = isLong ? suggestion(name, options.map(\.long), prefix: "--") : nil
    if chain.isEmpty {
      let owners = program.visibleCommands().filter { _, chain in
        chain.last?.options.contains { isLong ? $0.long == name : $0.short.map(String.init) == name } == true
      }
      if let owner = owners.first {
        hint = "it is an option of \(program.quoted(owner.chain)), and follows the command"
      }
    }
    return program.usageError(
      .unknownOption, "\(program.quoted(chain)) has no option '\(escaped(spelling))'", hint: hint, in: chain)
  }

  func unknownCommand(_ word: String) -> UsageError {
    let visible = commands.filter { !$0.isHidden }
    var hint = suggestion(word, visible.flatMap { [$0.name] + $0.aliases })
    if chain.isEmpty, let group = visible.first(where: { $0.subcommands.contains { $0.isCalled(word) } }) {
      hint = "did you mean '\(group.name) \(word)'?"
    }
    return program.usageError(
      .unknownCommand, "\(program.quoted(chain)) has no command '\(escaped(word))'", hint: hint, in: chain)
  }

  func missingCommand() -> UsageError {
    let names = commands.filter { !$0.isHidden }.map(\.name)
    let message =
      chain.isEmpty ? "no command given" : "\(program.quoted(chain)) needs one of its commands: \(names.listed())"
    return program.usageError(.missingCommand, message, in: chain)
  }

  func tooManyArguments() -> UsageError {
    let names = chain.last?.arguments.map(\.name) ?? []
    return program.usageError(
      .tooManyArguments,
      "too many arguments: \(program.quoted(chain)) takes \(names.isEmpty ? "no arguments" : names.listed("and"))",
      hint: names.isEmpty ? nil : "quote a value that has spaces", in: chain)
  }
}

/// Returns the hint that names the most similar candidate; `nil` if none is similar.
func suggestion(_ word: String, _ candidates: [String], prefix: String = "") -> String? {
  nearest(to: word, in: candidates).map { "did you mean '\(prefix)\($0)'?" }
}
