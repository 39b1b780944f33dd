import OfflineStore
import VaultKeys

/// Secrets that the operating system keeps.
extension CommandContext {
  /// The secret of `--system`.
  func systemSecret(for keyring: Keyring) throws -> UnlockSecret {
    try keyring.requiredSystemSecret(in: try SystemSecrets.required())
  }

  /// The secret that the system keeps, when it opens the keyring; nil wherever anything is in the way, so that the
  /// person is asked instead.
  func systemSecretIfAny(for keyring: () throws -> Keyring) -> UnlockSecret? {
    guard let keyring = try? keyring(), keyring.slots.contains(where: { $0.kind == .system }),
      let store = SystemSecrets.current, let secret = try? keyring.systemSecret(in: store),
      (try? keyring.unlock(with: secret)) != nil
    else { return nil }
    return secret
  }

  /// Takes the secrets of slots that are gone out of the system's store. A store that is not there is no failure: the
  /// slots are gone all the same.
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
