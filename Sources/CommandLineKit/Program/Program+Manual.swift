extension Program {
  /// Returns the man page of the program: every visible command with its options, examples and exit codes.
  ///
  /// It is written in the macros of man(7), without a date, so that equal descriptions make equal pages.
  public func manual() -> String {
    var page = ManualPage()
    page.macro("TH", name.uppercased(), "1", "", "\(name) \(version)", "User Commands")
    // Left-aligned without hyphenation, so that words can be copied.
    page.macro("nh")
    page.macro("ad l")
    page.section("NAME")
    page.text("\(name) - \(summary)")
    page.section("SYNOPSIS")
    page.usage(usageLine([]))
    page.section("OPTIONS")
    page.text("Options are accepted before and after the command.")
    page.options(globalOptions)
    for group in groups {
      page.section(group.name.uppercased())
      for command in group.commands { describe(command, below: [], in: &page) }
    }
    page.section("EXIT STATUS")
    for code in exitCodes { page.item(String(code.rawValue), code.meaning) }
    let variables = variables
    if !variables.isEmpty {
      page.section("ENVIRONMENT")
      for variable in variables { page.item(variable.name, "the value of --\(variable.option), if it is not given") }
    }
    if !examples.isEmpty {
      page.section("EXAMPLES")
      page.examples(examples)
    }
    return page.source
  }

  private func describe(_ command: CommandDescription, below chain: [CommandDescription], in page: inout ManualPage) {
    let chain = chain + [command]
    page.macro("SS", ([name] + chain.map(\.name)).joined(separator: " "))
    page.text(command.summary.prefix(1).uppercased() + command.summary.dropFirst() + ".")
    if command.subcommands.isEmpty { page.usage(usageLine(chain)) }
    if let name = command.defaultSubcommand {
      page.text("Without a command, '\((chain.map(\.name) + [name]).joined(separator: " "))' runs.")
    }
    if !command.aliases.isEmpty { page.text("Also called: \(command.aliases.joined(separator: ", ")).") }
    page.paragraphs(command.discussion)
    for argument in command.arguments { page.item(argument.name, argument.describedHelp) }
    page.options(chain.flatMap(\.options))
    page.examples(command.examples)
    if command.subcommands.isEmpty {
      page.text(
        "Exit status: " + command.allExitCodes.map { "\($0.rawValue) \($0.meaning)" }.joined(separator: "; ") + ".")
    }
    for subcommand in command.subcommands where !subcommand.isHidden { describe(subcommand, below: chain, in: &page) }
  }

  /// The environment variables with the options that they stand for, sorted.
  private var variables: [(name: String, option: String)] {
    let options = visibleCommands().flatMap { $0.chain.flatMap(\.options) } + globalOptions
    let names = Dictionary(
      options.compactMap { option in option.variable.map { ($0, option.long) } },
      uniquingKeysWith: { first, _ in first })
    return names.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}

/// The source of a man page.
struct ManualPage {
  private(set) var source = ""

  /// Adds a macro with texts as its arguments.
  mutating func macro(_ name: String, _ arguments: String...) {
    source += ".\(name)" + arguments.map { " \"\(roff($0))\"" }.joined() + "\n"
  }

  mutating func section(_ title: String) { macro("SH", title) }

  /// Adds a paragraph.
  mutating func text(_ text: String) { source += ".PP\n\(roff(text))\n" }

  /// Adds a text whose paragraphs are separated by empty lines. A single line break stays.
  mutating func paragraphs(_ text: String) {
    if text.isEmpty { return }
    source += ".PP\n"
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      source += line.isEmpty ? ".PP\n" : "\(roff(line))\n.br\n"
    }
  }

  /// Adds a usage line, which is broken between options or between the words of a choice.
  mutating func usage(_ line: String) {
    let words = unbroken(line).map { character in
      switch character {
      case "\u{A0}": "\\ "
      case "|": "|\\:"
      default: roff(String(character))
      }
    }
    source += ".PP\n\\fB\(words.joined())\\fR\n"
  }

  /// Adds a name and its description.
  mutating func item(_ name: String, _ description: String) {
    source += ".TP\n\\fB\(roff(name))\\fR\n\(roff(description))\n"
  }

  mutating func options(_ options: [OptionDescription]) {
    for option in options where !option.isHidden { item(option.signature, option.describedHelp) }
  }

  /// Adds command lines, each with its effect.
  mutating func examples(_ examples: [Example]) {
    for example in examples {
      source += ".PP\n.RS\n.nf\n$ \(roff(example.command))\n.fi\n"
      if !example.effect.isEmpty { source += ".RS\n\(roff(example.effect))\n.RE\n" }
      source += ".RE\n"
    }
  }
}

/// Returns the source of a line of text whose characters appear as they are, so that they can be copied to a shell.
func roff(_ text: some StringProtocol) -> String {
  var result = ""
  for character in text {
    switch character {
    case "\\": result += "\\(rs"
    case "-": result += "\\-"
    case "'": result += "\\(aq"
    case "\"": result += "\\(dq"
    case "`": result += "\\(ga"
    case "^": result += "\\(ha"
    case "~": result += "\\(ti"
    default: result += character.isNewline ? " " : String(character)
    }
  }
  // A line that begins with a full stop is a macro. A quote cannot begin one, because it is escaped.
  return result.hasPrefix(".") ? "\\&" + result : result
}
