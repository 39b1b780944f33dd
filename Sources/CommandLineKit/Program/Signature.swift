// How options and arguments look in help and in usage lines.
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
      return (words + (chain.isEmpty ? ["[OPTIONS]", "COMMAND", "..."] : ["COMMAND", "..."])).joined(separator: " ")
    }
    // A choice is at the position of its first name.
    var shown: Set<String> = []
    func take(_ name: String, alone: String) {
      guard !shown.contains(name) else { return }
      guard let choice = command.choices.first(where: { $0.names.contains(name) }) else { return words.append(alone) }
      shown.formUnion(choice.names)
      let parts = choice.names.map { name in
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
