extension Program {
  /// A usage error about the command, with the help line of the option or argument and its usage line.
  func usageError(
    _ kind: UsageError.Kind, _ message: String, hint: String? = nil, option: OptionDescription? = nil,
    argument: ArgumentDescription? = nil, in chain: [CommandDescription]
  ) -> UsageError {
    let path = chain.map(\.name)
    let help =
      option.map { "\($0.signature)  \($0.describedHelp)" } ?? argument.map { "\($0.name)  \($0.describedHelp)" }
    return UsageError(
      kind: kind, message: message, hint: hint, help: help, usage: usageLine(chain),
      more: ([name, "help"] + path).joined(separator: " "), path: path)
  }

  /// How messages call the command: `'key add'`, or by the program's name outside of any.
  func quoted(_ chain: [CommandDescription]) -> String {
    chain.isEmpty ? name : "'\(chain.map(\.name).joined(separator: " "))'"
  }
}

extension Sequence<String> {
  /// `a, b or c`.
  func listed(_ conjunction: String = "or") -> String {
    let words = Array(self)
    guard words.count > 1, let last = words.last else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " \(conjunction) " + last
  }
}
