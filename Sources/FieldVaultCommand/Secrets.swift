import CommandLineKit
import VaultKeys
import VaultStore

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
    if let file = arguments.value("passphrase-file") { return try passphrase(SecretSource(option: file)) }
    if let file = arguments.value("key-file") { return .keyFile(try KeyFile.read(at: file)) }
    if let file = arguments.value("recovery-file") {
      return .recoveryCode(try SecretSource(option: file).readRecoveryCode())
    }
    if let file = Terminal.variable("FIELDVAULT_PASSPHRASE_FILE"), !file.isEmpty {
      return try passphrase(.file(path: file))
    }
    if let file = Terminal.variable("FIELDVAULT_KEY_FILE"), !file.isEmpty {
      return .keyFile(try KeyFile.read(at: file))
    }
    return nil
  }

  private func passphrase(_ source: SecretSource) throws -> UnlockSecret {
    .passphrase(try source.readPassphrase())
  }

  /// A new passphrase from `--new-passphrase-file`, or from a prompt that asks for it twice.
  func newPassphrase() throws -> SecureBytes {
    if let file = arguments.value("new-passphrase-file") { return try SecretSource(option: file).readPassphrase() }
    return try SecretSource.terminal(prompt: "New passphrase: ").readPassphrase(isNew: true)
  }

  /// The secrets of further slots, from the `--also-...` options.
  func furtherSecrets() throws -> [UnlockSecret] {
    try arguments.values("also-passphrase-file").map { .passphrase(try SecretSource(option: $0).readPassphrase()) }
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
