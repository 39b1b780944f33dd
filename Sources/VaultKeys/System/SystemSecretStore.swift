/// Where the operating system keeps secrets for a person: the keychain, or the Secret Service of a desktop.
///
/// It holds the secrets of ``KeySlot/Kind/system`` slots, each under the id of its vault and that of its slot.
///
/// **Threads.** May be used from any thread. A call blocks its thread, for as long as a person takes to unlock the
/// store, but never for ever.
public protocol SystemSecretStore: Sendable {
  /// Keeps a secret, in place of one that is there under the same ids.
  ///
  /// - Parameter label: What a person sees in the system's own list of secrets.
  /// - Throws: ``KeyError`` `secretStoreMissing` or `secretStoreRefused`.
  func store(_ secret: SecureBytes, vaultID: String, slotID: String, label: String) throws(KeyError)

  /// The secret under these ids, or nil when the store has none.
  ///
  /// - Throws: ``KeyError`` `secretStoreMissing`, `secretStoreRefused`, `badSystemSecret` or `outOfMemory`.
  func secret(vaultID: String, slotID: String) throws(KeyError) -> SecureBytes?

  /// Forgets the secret under these ids. That there is none is no error.
  ///
  /// - Throws: ``KeyError`` `secretStoreMissing` or `secretStoreRefused`.
  func remove(vaultID: String, slotID: String) throws(KeyError)
}

/// The secret store of this system.
public enum SystemSecrets {
  /// The store; nil where the system has none, or where what reaches it is not installed.
  public static var current: (any SystemSecretStore)? { platformStore() }

  /// The store.
  /// - Throws: ``KeyError`` `secretStoreMissing`.
  public static func required() throws(KeyError) -> any SystemSecretStore {
    guard let store = current else { throw missing }
    return store
  }
}

extension KeyError {
  /// What stands in a store is no secret of a slot.
  static let badSystemSecret = KeyError(
    .badSystemSecret, "what the system's secret store keeps for this vault is not 32 bytes",
    hint: "unlock with another secret, remove the slot and add it again")
}
