import Platform
import CommandLineKit
import VaultKeys
import VaultStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The secrets of a vault that the options, the variables or a prompt give.
extension CommandContext {
  /// Returns the secret that opens the vault: from the options or variables, otherwise from the system's secret
  /// store, otherwise from a prompt.
  func secret() throws -> UnlockSecret { try secret { try Vault.keyring(at: try self.vaultPath()) } }

  /// Returns the secret for another keyring.
  /// - Parameter keyring: the keyring to open.
  func secret(for keyring: () throws -> Keyring) throws -> UnlockSecret {
    if arguments.flag("system") { return try systemSecret(for: try keyring()) }
    return try namedSecret() ?? systemSecretIfAny(for: keyring)
      ?? .passphrase(try SecretSource.terminal(prompt: "Passphrase: ").readPassphrase())
  }

  /// Returns the key of the key agent. Returns `nil` for a locked vault, and if an option or a variable names a secret.
  func agentSession() throws -> SessionKey? {
    let path = try vaultPath()
    guard !namesSecret, let place = AgentPlace(vault: path), let session = try AgentClient(place).session(),
      session.key.opens(try Vault.keyring(at: path))
    else { return nil }
    return session.key
  }

  /// Whether an option or a variable names a secret.
  private var namesSecret: Bool {
    ["system", "passphrase-file", "passphrase-command", "key-file", "recovery-file"].contains(where: arguments.isGiven)
      || ["FIELDVAULT_PASSPHRASE_FILE", "FIELDVAULT_KEY_FILE"].contains { Terminal.variable($0)?.isEmpty == false }
  }

  /// Opens the vault without a question to the user: with the key agent, or with a file that an option or a variable names.
  /// - Returns: `nil` if this does not open the vault.
  func openVaultUnasked() throws -> Vault? {
    if try agentSession() != nil { return try openVault() }
    let files = [arguments.value("passphrase-file"), arguments.value("recovery-file")]
    let variable = Terminal.variable("FIELDVAULT_PASSPHRASE_FILE")
    guard !arguments.flag("system"), !arguments.isGiven("passphrase-command"), !(files + [variable]).contains("-"),
      let secret = try namedSecret()
    else { return nil }
    return try openVault(with: secret)
  }

  /// The secret of a new vault.
  func newSecret() throws -> UnlockSecret {
    if arguments.flag("system") {
      throw arguments.mistake(
        "a new vault has no system slot", about: "system",
        hint: "create it with a passphrase or a key file, then run: fieldvault key add system")
    }
    return try namedSecret()
      ?? .passphrase(try SecretSource.terminal(prompt: "New passphrase: ").readPassphrase(isNew: true))
  }

  private func namedSecret() throws -> UnlockSecret? {
    if let file = arguments.value("passphrase-file") { return .passphrase(try passphrase(in: file)) }
    if let command = arguments.value("passphrase-command") { return .passphrase(try passphrase(printedBy: command)) }
    if let file = arguments.value("key-file") { return .keyFile(try KeyFile.read(at: file)) }
    if let file = arguments.value("recovery-file") {
      warnIfOthersRead(file)
      return .recoveryCode(try SecretSource(option: file).readRecoveryCode())
    }
    if let file = Terminal.variable("FIELDVAULT_PASSPHRASE_FILE"), !file.isEmpty {
      return .passphrase(try passphrase(in: file))
    }
    if let file = Terminal.variable("FIELDVAULT_KEY_FILE"), !file.isEmpty {
      return .keyFile(try KeyFile.read(at: file))
    }
    return nil
  }

  /// Returns the passphrase in the first line of a file; `-` is standard input.
  private func passphrase(in file: String) throws -> SecureBytes {
    warnIfOthersRead(file)
    return try SecretSource(option: file).readPassphrase()
  }

  /// Returns the first line that a command of the user prints.
  private func passphrase(printedBy command: String) throws -> SecureBytes {
    guard command.contains(where: { !$0.isWhitespace }) else {
      throw arguments.mistake("the passphrase command is empty", about: "passphrase-command")
    }
    do {
      var line = Array(try Waiting.run { try await CommandOutput().firstLine(of: command) }.utf8)
      return try SecureBytes(wiping: &line)
    } catch let reason as CommandFailure {
      throw PassphraseCommandFailed(reason: reason)
    }
  }

  /// Warns if the mode of a file with a secret permits other users to read it.
  private func warnIfOthersRead(_ file: String) {
    var status = stat()
    guard file != "-", stat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o044 != 0 else {
      return
    }
    note("warning: other users can read \(file). To prevent that: chmod 600 \(file)")
  }

  /// Advises against a passphrase that is easy to guess.
  func adviseOnStrength(of passphrase: SecureBytes) {
    guard let weakness = PassphraseStrength.weakness(of: passphrase) else { return }
    hint(
      "The passphrase \(weakness). An attacker with a copy of the vault can try passphrases without a limit: use at least "
        + "12 characters, such as four random words. To change it: fieldvault key passphrase")
  }

  /// A new passphrase from `--new-passphrase-file`, or from a prompt that asks for it twice.
  func newPassphrase() throws -> SecureBytes {
    if let file = arguments.value("new-passphrase-file") { return try passphrase(in: file) }
    return try SecretSource.terminal(prompt: "New passphrase: ").readPassphrase(isNew: true)
  }

  /// The secrets of further slots, from the `--also-...` options.
  func furtherSecrets() throws -> [UnlockSecret] {
    try arguments.values("also-passphrase-file").map { .passphrase(try passphrase(in: $0)) }
      + arguments.values("also-key-file").map { .keyFile(try KeyFile.read(at: $0)) }
      + arguments.values("also-recovery-file").map {
        .recoveryCode(try SecretSource(option: $0).readRecoveryCode())
      }
      + (arguments.flag("also-system") ? [try systemSecret(for: try Vault.keyring(at: try vaultPath()))] : [])
  }
}

/// Secrets that the operating system keeps.
extension CommandContext {
  /// The secret of `--system`.
  func systemSecret(for keyring: Keyring) throws -> UnlockSecret {
    try keyring.requiredSystemSecret(in: try SystemSecrets.required())
  }

  /// Returns the secret of the system's store if it opens the keyring; `nil` after any failure, so that the user is
  /// asked instead.
  func systemSecretIfAny(for keyring: () throws -> Keyring) -> UnlockSecret? {
    guard let keyring = try? keyring(), keyring.slots.contains(where: { $0.kind == .system }),
      let store = SystemSecrets.current, let secret = try? keyring.systemSecret(in: store),
      (try? keyring.unlock(with: secret)) != nil
    else { return nil }
    return secret
  }

  /// Removes the secrets of removed slots from the system's store. A missing store is not a failure, because the slots
  /// are already removed.
  func forgetSystemSecrets(of slots: [KeySlot], _ vault: Vault) throws {
    for slot in slots where slot.kind == .system {
      do {
        try vault.forget(slot.id, in: try SystemSecrets.required())
      } catch let error as KeyError {
        hint("The secret of slot \(slot.id) may still be in the system's secret store: \(error.message).")
      }
    }
  }
}

/// The command of `--passphrase-command` failed. The text names no output of the command.
struct PassphraseCommandFailed: Error {
  let reason: CommandFailure

  var message: String { "the passphrase command \(reason)" }
  /// An empty passphrase is a mistake on the command line, wherever it comes from.
  var exitCode: ExitCode { reason == .printedNothing ? .usage : .locked }
}

/// A judgement of passphrases that finds the most common mistakes. It does not measure strength.
enum PassphraseStrength {
  private static let common = ["password", "passwort", "qwerty", "letmein", "123456", "abcdef", "fieldvault"]

  /// Returns why a passphrase is easy to guess, as the end of a sentence; `nil` for no reason.
  static func weakness(of passphrase: SecureBytes) -> String? {
    passphrase.withUnsafeBytes { bytes in
      // By code points: bytes that continue one are not counted.
      let length = bytes.count { $0 & 0xC0 != 0x80 }
      if length < 12 { return "has only \(counted(length, "character"))" }
      if Set(bytes).count < 5 { return "repeats few characters" }
      if length < 20, bytes.allSatisfy({ (0x30...0x39).contains($0) }) { return "consists of digits" }
      if length < 16, common.contains(where: { contains(bytes, Array($0.utf8)) }) {
        return "contains a common password"
      }
      return nil
    }
  }

  /// Returns whether a text contains a word in lower case, in any case.
  private static func contains(_ text: UnsafeRawBufferPointer, _ word: [UInt8]) -> Bool {
    guard text.count >= word.count else { return false }
    return (0...text.count - word.count).contains { start in
      word.indices.allSatisfy { index in
        let byte = text[start + index]
        return ((0x41...0x5A).contains(byte) ? byte | 0x20 : byte) == word[index]
      }
    }
  }
}
