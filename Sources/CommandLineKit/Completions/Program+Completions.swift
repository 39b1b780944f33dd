extension Program {
  /// The script that makes a shell complete the program's words.
  public func completions(for shell: Shell) -> String {
    switch shell {
    case .bash: bashCompletions()
    case .zsh: zshCompletions()
    case .fish: fishCompletions()
    }
  }

  /// The possible words at each place, for the scripts: the program itself has the empty path.
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

  /// The global options that are shown.
  var visibleGlobalOptions: [OptionDescription] { globalOptions.filter { !$0.isHidden } }

  /// The name for functions of a script: `fieldvault-server` is `fieldvault_server` there.
  var identifier: String {
    String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
  }
}

/// A command, or the program itself, as the completion scripts see it.
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
  "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
}

/// Words for an array of bash and zsh.
func shellWords(_ words: some Sequence<String>) -> String {
  words.map(shellQuoted).joined(separator: " ")
}
