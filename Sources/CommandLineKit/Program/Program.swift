/// An executable: its name, its global options, and its commands.
///
/// Every program has `help`, `--help`, `-h` and `--version` without declaring them.
public struct Program: Sendable {
  /// The word that calls it.
  public var name: String
  /// The version that `--version` shows.
  public var version: String
  /// The description, in a sentence or two.
  public var summary: String
  /// The options that are allowed before and after any command.
  public var options: [OptionDescription]
  /// Global options that exclude each other.
  public var choices: [Choice]
  /// The commands, in the order of help.
  public var commands: [CommandDescription]
  /// Examples of command lines.
  public var examples: [Example]
  /// The exit codes of the program.
  public var exitCodes: [ExitCode]

  /// Declares a program.
  public init(
    name: String, version: String, summary: String, options: [OptionDescription] = [], choices: [Choice] = [],
    commands: [CommandDescription], examples: [Example] = [], exitCodes: [ExitCode] = ExitCode.all
  ) {
    self.name = name
    self.version = version
    self.summary = summary
    self.options = options
    self.choices = choices
    self.commands = commands
    self.examples = examples
    self.exitCodes = exitCodes
  }

  /// Returns the commands of a path from the outermost one; `nil` for an unknown path.
  func chain(_ path: [String]) -> [CommandDescription]? {
    var found: [CommandDescription] = []
    for word in path {
      guard let next = (found.last?.subcommands ?? commands).first(where: { $0.isCalled(word) }) else { return nil }
      found.append(next)
    }
    return found
  }

  /// Returns every visible command, including groups, with its path, in the order of help.
  func visibleCommands() -> [(path: [String], chain: [CommandDescription])] {
    var found: [(path: [String], chain: [CommandDescription])] = []
    func visit(_ commands: [CommandDescription], below chain: [CommandDescription]) {
      for command in commands where !command.isHidden {
        let chain = chain + [command]
        found.append((chain.map(\.name), chain))
        visit(command.subcommands, below: chain)
      }
    }
    visit(commands, below: [])
    return found
  }

  /// The global options, including those of every program.
  var globalOptions: [OptionDescription] { options + OptionDescription.builtIn }
}

extension Program {
  /// Returns the problems of the description, for a test of the program.
  ///
  /// Checks that every name is unique where it is visible, only the last argument repeats, and optional arguments are
  /// last. Choices must name existing options, and the command line of every example must parse.
  public func problems() -> [String] {
    var problems = namesTwice(commands.flatMap { [$0.name] + $0.aliases } + ["help"], in: name)
    problems += exampleProblems(examples)
    for (path, chain) in visibleCommands() {
      guard let command = chain.last else { continue }
      let place = path.joined(separator: " ")
      let options = chain.flatMap(\.options) + globalOptions
      problems += namesTwice(command.subcommands.flatMap { [$0.name] + $0.aliases }, in: place)
      problems += namesTwice(options.flatMap(\.spellings) + command.arguments.map(\.name), in: place)
      problems += namesTwice(options.compactMap(\.variable), in: place)
      if command.arguments.dropLast().contains(where: \.isRepeating) {
        problems.append("\(place): only the last argument may repeat")
      }
      if command.arguments.drop(while: \.isRequired).contains(where: \.isRequired) {
        problems.append("\(place): a required argument follows an optional one")
      }
      if let name = command.defaultSubcommand {
        if command.defaultCommand?.subcommands.isEmpty != true {
          problems.append("\(place): the default \(name) is not one of its commands")
        } else if let inner = command.defaultCommand,
          inner.arguments.contains(where: \.isRequired) || inner.options.contains(where: \.isRequired)
        {
          problems.append("\(place): the default \(name) requires arguments")
        }
      }
      if !command.subcommands.isEmpty, !command.arguments.isEmpty {
        problems.append("\(place): a group takes no arguments")
      }
      let names = Set(options.map(\.long) + command.arguments.map(\.name))
      problems += command.choices.flatMap(\.names).filter { !names.contains($0) }.map {
        "\(place): a choice names \($0), which is not declared"
      }
      problems += exampleProblems(command.examples)
    }
    return problems
  }

  private func namesTwice(_ names: [String], in place: String) -> [String] {
    var seen: Set<String> = []
    return names.filter { !seen.insert($0).inserted }.map { "\(place): \($0) is declared twice" }
  }

  private func exampleProblems(_ examples: [Example]) -> [String] {
    examples.compactMap { example in
      // The words before the program's name set variables or feed a pipe. Redirections follow it.
      let ends: Set<String> = ["|", ">", "<", "&&", ";", "&"]
      let words = shellSplit(example.command).drop { $0 != name }.prefix { !ends.contains($0) }
      guard !words.isEmpty else { return "example does not call \(name): \(example.command)" }
      do throws(UsageError) {
        _ = try ArgumentParser(self).parse(Array(words.dropFirst()))
        return nil
      } catch {
        return "example does not parse: \(example.command): \(error.message)"
      }
    }
  }
}

/// Returns the words of a command line in which quotes are the only special characters.
func shellSplit(_ line: String) -> [String] {
  var words: [String] = []
  var word: String?
  var quote: Character?
  for character in line {
    if character == quote {
      quote = nil
    } else if quote == nil, character == "'" || character == "\"" {
      quote = character
      word = word ?? ""
    } else if quote == nil, character == " " {
      if let word { words.append(word) }
      word = nil
    } else {
      word = (word ?? "") + String(character)
    }
  }
  return words + (word.map { [$0] } ?? [])
}

extension Program {
  /// Returns the script for the completion of the program's words in a shell.
  public func completions(for shell: Shell) -> String {
    switch shell {
    case .bash: bashCompletions()
    case .zsh: zshCompletions()
    case .fish: fishCompletions()
    }
  }

  /// Returns the possible words at each place, for the scripts. The program has the empty path.
  func completionPlaces() -> [CompletionPlace] {
    let root = CompletionPlace(path: "", summary: summary, commands: commands, options: [], arguments: [])
    return [root]
      + visibleCommands().compactMap { path, chain in
        guard let command = chain.last else { return nil }
        return CompletionPlace(
          path: path.joined(separator: " "), summary: command.summary, commands: command.subcommands,
          options: chain.flatMap(\.options).filter { !$0.isHidden }, arguments: command.arguments)
      }
  }

  /// Whether a completion needs values that only the program knows.
  func asksForValues(_ places: [CompletionPlace]) -> Bool {
    let offered =
      visibleGlobalOptions.map(\.offered)
      + places.flatMap { place in
        place.options.map(\.offered) + place.arguments.map(\.offered)
      }
    return offered.contains { if case .values = $0 { true } else { false } }
  }

  /// The words of a script that call the command for the values of a kind.
  var valuesCommand: String { CommandDescription.completionValues().name + " --" }

  /// The visible global options.
  var visibleGlobalOptions: [OptionDescription] { globalOptions.filter { !$0.isHidden } }

  /// The name for functions of a script: `fieldvault-server` is `fieldvault_server` there.
  var identifier: String {
    String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
  }
}

/// A command, or the program, for the completion scripts.
struct CompletionPlace {
  /// The words of the command; empty for the program.
  let path: String
  let summary: String
  let commands: [CommandDescription]
  /// The options at this place in addition to the global ones.
  let options: [OptionDescription]
  let arguments: [ArgumentDescription]

  var visibleCommands: [CommandDescription] { commands.filter { !$0.isHidden } }

  func path(of command: CommandDescription) -> String {
    path.isEmpty ? command.name : "\(path) \(command.name)"
  }
}

/// Quotes a text as one word for bash and zsh.
func shellQuoted(_ text: some StringProtocol) -> String {
  var result = "'"
  // By scalars: a quote with a combining accent behind it is another Character, and still a quote for a shell.
  for scalar in text.unicodeScalars {
    if scalar == "'" { result += "'\\'" }
    result.unicodeScalars.append(scalar)
  }
  return result + "'"
}

/// Returns words for an array of bash and zsh.
func shellWords(_ words: some Sequence<String>) -> String {
  words.map(shellQuoted).joined(separator: " ")
}
