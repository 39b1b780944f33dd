import Platform

/// The source of a secret. A secret is never an argument of a command and never in the environment.
public enum SecretSource: Sendable, Equatable {
  /// A file, or a named pipe.
  case file(path: String)
  /// An open descriptor, which stays open.
  case descriptor(Int32)
  /// Standard input.
  case standardInput
  /// A prompt on the terminal of the process, with the echo off. Standard input may be something else.
  case terminal(prompt: String)

  /// Creates the source that an option's value names: `-` is standard input, any other value a path.
  public init(option: String) {
    self = option == "-" ? .standardInput : .file(path: option)
  }

  /// Reads a passphrase into guarded memory: the first line, without its line feed and without a carriage return
  /// before it. The bytes are not changed. Nothing after the first line is consumed.
  ///
  /// - Parameter isNew: a new passphrase is requested twice on a terminal, up to three times.
  /// - Throws: ``KeyError`` `emptySecret`, `secretTooLong` above 1 MiB, `notFound`, `unreadable`, `noTerminal`,
  ///   `cancelled`, `secretsDiffer` or `outOfMemory`.
  ///
  /// **Threads.** Blocks its thread. One prompt uses the terminal at a time; another one waits for it.
  public func readPassphrase(isNew: Bool = false) throws(KeyError) -> SecureBytes {
    let line = try readLine(isNew: isNew)
    try UnlockSecret.passphrase(line).validate()
    return line
  }

  /// Reads a recovery code: a whole file (at most 4 KiB), or a line on the terminal.
  ///
  /// - Throws: ``KeyError`` `badRecoveryCode`, and the errors of reading.
  public func readRecoveryCode() throws(KeyError) -> SecureBytes {
    let text =
      if case .terminal = self { try readLine(isNew: false) } else { try SecretReader.whole(of: self, limit: 4096) }
    try UnlockSecret.recoveryCode(text).validate()
    return text
  }

  private func readLine(isNew: Bool) throws(KeyError) -> SecureBytes {
    guard case .terminal(let prompt) = self else { return try SecretReader.firstLine(of: self) }
    let terminal = try TerminalPrompt()
    return isNew ? try terminal.askTwice(prompt) : try terminal.ask(prompt)
  }

  /// The name of the source in a message.
  var name: String {
    switch self {
    case .file(let path): path
    case .descriptor(let number): "descriptor \(number)"
    case .standardInput: "standard input"
    case .terminal: "the terminal"
    }
  }

  /// Opens the source. Not for a terminal, which uses ``TerminalPrompt``.
  func open() throws(KeyError) -> Descriptor {
    switch self {
    case .file(let path):
      do {
        return try Descriptor(opening: path, 0 /* O_RDONLY */)
      } catch {
        throw .reading(name, error)
      }
    case .descriptor(let number): return Descriptor(borrowing: number)
    case .standardInput, .terminal: return Descriptor(borrowing: 0)
    }
  }
}
