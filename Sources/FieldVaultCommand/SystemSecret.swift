import VaultStore
import VaultKeys

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
