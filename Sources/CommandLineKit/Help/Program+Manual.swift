extension Program {
  /// The whole manual as plain text, in the sections of a man page: every command with its options and examples.
  public func manual(terminal: Terminal = .plain) -> String {
    let page = HelpPage(terminal: terminal)
    var text = terminal.styled("\(name.uppercased())(1), version \(version)", .bold) + "\n\n" + page.program(self)
    for (path, chain) in visibleCommands() {
      guard let command = chain.last else { continue }
      text += "\n" + terminal.styled(([name] + path).joined(separator: " ").uppercased(), .bold) + "\n\n"
      text += page.command(command, chain, of: self)
    }
    return text
  }
}
