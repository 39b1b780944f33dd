// Checks of values and of the whole line.
extension ArgumentScan {
  func check(_ value: String, of option: OptionDescription) throws(UsageError) {
    guard !option.allowedValues.isEmpty, !option.allowedValues.contains(value) else { return }
    throw program.usageError(
      .invalidValue, notAllowed("--\(option.long)", value, option.allowedValues, isSecret: option.isSecret),
      hint: suggestion(value, option.allowedValues), option: option, in: chain)
  }

  func check(_ value: String, of argument: ArgumentDescription) throws(UsageError) {
    guard !argument.allowedValues.isEmpty, !argument.allowedValues.contains(value) else { return }
    throw program.usageError(
      .invalidValue, notAllowed(argument.name, value, argument.allowedValues, isSecret: argument.isSecret),
      hint: suggestion(value, argument.allowedValues), argument: argument, in: chain)
  }

  private func notAllowed(_ name: String, _ value: String, _ allowed: [String], isSecret: Bool) -> String {
    "\(name) is \(allowed.listed())" + (isSecret ? "" : ", not '\(escaped(value))'")
  }

  func checkChoices() throws(UsageError) {
    for choice in chain.flatMap(\.choices) + program.choices {
      let found = choice.names.filter(isGiven)
      if found.count > 1 {
        throw program.usageError(
          .conflict, "\(found.map(spelled).listed("and")) exclude each other", hint: "give one of them", in: chain)
      }
      if found.isEmpty, choice.isRequired {
        throw program.usageError(
          .missingArgument, "\(choice.names.map(spelled).listed()) is missing", in: chain)
      }
    }
  }

  func checkRequired() throws(UsageError) {
    for argument in chain.last?.arguments ?? [] where argument.isRequired && !isGiven(argument.name) {
      throw program.usageError(.missingArgument, "\(argument.name) is missing", argument: argument, in: chain)
    }
    for option in chain.flatMap(\.options) + program.options where option.isRequired && !isGiven(option.long) {
      throw program.usageError(.missingValue, "--\(option.long) is missing", option: option, in: chain)
    }
  }

  private func spelled(_ name: String) -> String {
    options.contains { $0.long == name } ? "--\(name)" : name
  }
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
        hint = "it is an option of \(program.quoted(owner.chain)), and stands after the command"
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
      "too many arguments: \(program.quoted(chain)) takes \(names.isEmpty ? "none" : names.listed("and"))",
      hint: names.isEmpty ? nil : "quote a value that has spaces", in: chain)
  }

  private func suggestion(_ word: String, _ candidates: [String], prefix: String = "") -> String? {
    nearest(to: word, in: candidates).map { "did you mean '\(prefix)\($0)'?" }
  }
}
