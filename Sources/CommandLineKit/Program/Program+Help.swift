extension Program {
  /// Returns the help that a command line requests.
  public func help(for arguments: ParsedArguments, terminal: Terminal = .plain) -> String {
    switch arguments.topic {
    case .exitCodes: HelpPage(terminal: terminal).exitCodes(of: self)
    case nil: help(arguments.path, terminal: terminal)
    }
  }

  /// Returns the help for the command with the path, or for the program if the path is empty or unknown.
  ///
  /// The help fits into 80 columns, or into the terminal if that is narrower or slightly wider.
  public func help(_ path: [String] = [], terminal: Terminal = .plain) -> String {
    let page = HelpPage(terminal: terminal)
    guard let chain = chain(path), let command = chain.last else { return page.program(self) }
    return page.command(command, chain, of: self)
  }
}

/// A page of help that is not about a command: `help exit-codes`.
enum HelpTopic: String, CaseIterable {
  case exitCodes = "exit-codes"
}

/// Lays out one page of help.
struct HelpPage {
  let terminal: Terminal
  var width: Int { terminal.textWidth }

  func program(_ program: Program) -> String {
    var sections = [wrap(program.summary, width: width) + "\n", usage(program.usageLine([]))]
    let groups = program.groups.map { ($0.name, commandRows($0.commands)) }
    let column = groups.flatMap(\.1).map(\.name.count).max() ?? 0
    sections += groups.map { section($0.0, $0.1, column: column) }
    sections.append(section("Options, before or after the command", optionRows(program.globalOptions)))
    sections.append(examples(program.examples))
    // In one paragraph, so that the page fits a screen; the page of a command has a line for each.
    let codes = program.exitCodes.map { "\($0.rawValue) \($0.meaning)" }.joined(separator: "; ")
    sections.append(wrap(codes, width: width, first: heading("Exit codes") + "  ", indent: 2) + "\n")
    let more =
      "See '\(program.name) help COMMAND' for a command, and '\(program.name) help exit-codes' for the exit codes."
    sections.append(wrap(more, width: width) + "\n")
    return sections.filter { !$0.isEmpty }.joined(separator: "\n")
  }

  /// The exit codes with the names that errors have in JSON.
  func exitCodes(of program: Program) -> String {
    let widest = program.exitCodes.map(\.name.count).max() ?? 0
    return section(
      "Exit codes, with their names in JSON",
      program.exitCodes.map { code in
        (rightAligned(code, among: program.exitCodes) + "  " + code.name.padded(to: widest), code.meaning)
      })
  }

  func command(_ command: CommandDescription, _ chain: [CommandDescription], of program: Program) -> String {
    let name = ([program.name] + chain.map(\.name)).joined(separator: " ")
    var sections = [wrap("\(name): \(command.summary)", width: width) + "\n", usage(program.usageLine(chain))]
    if let name = command.defaultSubcommand {
      let line = (chain.map(\.name) + [name]).joined(separator: " ")
      sections.append(wrap("Without a command, '\(line)' runs.", width: width) + "\n")
    }
    if !command.aliases.isEmpty { sections.append("Also called: \(command.aliases.joined(separator: ", "))\n") }
    if !command.discussion.isEmpty { sections.append(wrap(command.discussion, width: width) + "\n") }
    sections.append(section("Commands", commandRows(command.subcommands.filter { !$0.isHidden })))
    sections.append(section("Arguments", command.arguments.map { ($0.name, $0.describedHelp) }))
    sections.append(section("Options", optionRows(chain.flatMap(\.options))))
    sections.append(examples(command.examples))
    sections.append(command.subcommands.isEmpty ? exitCodes(command.allExitCodes) : "")
    sections.append(wrap("See '\(program.name) help' for the options that every command has.", width: width) + "\n")
    return sections.filter { !$0.isEmpty }.joined(separator: "\n")
  }

  // MARK: Parts

  private func usage(_ line: String) -> String {
    wrapUsage(line, width: width, first: terminal.styled("Usage:", .bold) + " ", indent: 7) + "\n"
  }

  private func section(_ title: String, _ rows: [(name: String, text: String)], column: Int = 0) -> String {
    rows.isEmpty ? "" : heading(title) + twoColumns(rows, width: width, terminal: terminal, atLeast: column)
  }

  private func heading(_ title: String) -> String { terminal.styled("\(title):", .bold) + "\n" }

  private func commandRows(_ commands: [CommandDescription]) -> [(name: String, text: String)] {
    commands.map { (([$0.name] + $0.aliases).joined(separator: ", "), $0.summary) }
  }

  private func optionRows(_ options: [OptionDescription]) -> [(name: String, text: String)] {
    options.filter { !$0.isHidden }.map {
      // Options without a letter are aligned with the names of the others.
      (($0.short == nil ? "    " : "") + $0.signature, $0.describedHelp)
    }
  }

  private func examples(_ examples: [Example]) -> String {
    if examples.isEmpty { return "" }
    return heading("Examples")
      + examples.map { example in
        let effect = example.effect.isEmpty ? "" : wrap(example.effect, width: width, first: "    ", indent: 4) + "\n"
        return "  $ \(example.command)\n" + effect
      }.joined()
  }

  private func exitCodes(_ codes: [ExitCode]) -> String {
    section("Exit codes", codes.map { (rightAligned($0, among: codes), $0.meaning) })
  }

  private func rightAligned(_ code: ExitCode, among codes: [ExitCode]) -> String {
    let digits = codes.map { String($0.rawValue).count }.max() ?? 0
    let number = String(code.rawValue)
    return String(repeating: " ", count: digits - number.count) + number
  }
}

extension String {
  /// Returns the text followed by spaces up to a number of characters.
  fileprivate func padded(to count: Int) -> String { self + String(repeating: " ", count: max(0, count - self.count)) }
}

extension Program {
  /// The visible commands by their headings, in the order of the first command of each.
  var groups: [(name: String, commands: [CommandDescription])] {
    var groups: [(name: String, commands: [CommandDescription])] = []
    for command in commands where !command.isHidden {
      let name = command.group.isEmpty ? "Commands" : command.group
      if let index = groups.firstIndex(where: { $0.name == name }) {
        groups[index].commands.append(command)
      } else {
        groups.append((name, [command]))
      }
    }
    return groups
  }
}

extension CommandDescription {
  /// The exit codes with those of every command, in the order of their numbers.
  var allExitCodes: [ExitCode] {
    let always: [ExitCode] = [.done, .failed, .usage]
    return always + exitCodes.filter { !always.contains($0) }.sorted { $0.rawValue < $1.rawValue }
  }
}

// MARK: Options, arguments and usage lines

extension OptionDescription {
  /// The option with all its spellings: `-n, --limit N`.
  var signature: String { spellings.joined(separator: ", ") + valuePart }

  /// The option in a usage line: `--limit N`, `--format csv|json`.
  var usage: String {
    let words = allowedValues.joined(separator: "|")
    let value = words.isEmpty || words.count > 30 ? valuePart : " \(words)"
    return "--\(long)" + value + (isFlag || repetition == .once ? "" : " ...")
  }

  /// The option as a line of a configuration file: `rate = N`.
  var setting: String { "\(long) = \(valueName ?? "true|false")" }

  private var valuePart: String { valueName.map { " \($0)" } ?? "" }

  /// The help text, completed with facts of the description.
  var describedHelp: String {
    var notes: [String] = []
    if !allowedValues.isEmpty { notes.append(allowedValues.joined(separator: ", ")) }
    if let defaultValue { notes.append("default: \(defaultValue)") }
    if !isFlag, repetition != .once { notes.append("may be repeated") }
    if isRequired { notes.append("required") }
    if let variable { notes.append("environment: \(variable)") }
    if isReloadable { notes.append("reloadable") }
    return notes.isEmpty ? help : "\(help) (\(notes.joined(separator: "; ")))"
  }
}

extension ArgumentDescription {
  /// The argument in a usage line: `ENTITY`, `[NAME]`, `UUID ...`.
  var usage: String {
    switch count {
    case .one: allowedValues.isEmpty ? name : allowedValues.joined(separator: "|")
    case .optional: "[\(allowedValues.isEmpty ? name : allowedValues.joined(separator: "|"))]"
    case .oneOrMore: "\(name) ..."
    case .any: "[\(name) ...]"
    }
  }

  /// The help text, completed with the allowed words.
  var describedHelp: String {
    allowedValues.isEmpty ? help : "\(help) (\(allowedValues.joined(separator: ", ")))"
  }
}

extension Program {
  /// Returns the usage line of a command: `fieldvault list ENTITY [--limit N]`.
  func usageLine(_ chain: [CommandDescription]) -> String {
    var words = [name] + chain.map(\.name)
    guard let command = chain.last, command.subcommands.isEmpty else {
      if chain.isEmpty { words.append("[OPTIONS]") }
      return (words + (chain.last?.defaultSubcommand == nil ? ["COMMAND", "..."] : ["[COMMAND", "...]"]))
        .joined(separator: " ")
    }
    // A choice is at the position of its first name. A name of several choices is shown in the first one only.
    var shown: Set<String> = []
    func take(_ name: String, alone: String) {
      guard !shown.contains(name) else { return }
      guard let choice = command.choices.first(where: { $0.names.contains(name) }) else { return words.append(alone) }
      let parts = choice.names.filter { shown.insert($0).inserted }.map { name in
        command.options.first { $0.long == name }?.usage ?? name
          + (command.arguments.first { $0.name == name }?.isRepeating == true ? " ..." : "")
      }
      words.append(choice.isRequired ? "(\(parts.joined(separator: " | ")))" : "[\(parts.joined(separator: " | "))]")
    }
    for argument in command.arguments { take(argument.name, alone: argument.usage) }
    for option in chain.flatMap(\.options) where !option.isHidden {
      take(option.long, alone: option.isRequired ? option.usage : "[\(option.usage)]")
    }
    return words.joined(separator: " ")
  }
}
