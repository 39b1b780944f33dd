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

extension CommandContext {
  /// Whether a user can read a question at the terminal and confirm it.
  var canAsk: Bool { messages.terminal.isTerminal && isatty(STDIN_FILENO) == 1 }

  /// Asks a question. Every input except yes means no.
  func confirms(_ question: String) throws -> Bool {
    try messages.write("\(question) [y/N] ")
    try messages.flush()
    let input = readLine()?.lowercased() ?? ""
    return input == "y" || input == "yes"
  }
}

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
