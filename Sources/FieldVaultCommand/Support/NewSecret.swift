import CommandLineKit
import VaultStore
import VaultKeys

extension CommandContext {
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
