/// The operating system's secret store of a user: the keychain, or the Secret Service of a desktop.
///
/// It keeps the secrets of ``KeySlot/Kind/system`` slots, each under the ids of its vault and its slot.
///
/// **Threads.** May be used from any thread. A call blocks its thread while the user unlocks the store, with a time
/// limit.
public protocol SystemSecretStore: Sendable {
  /// Stores a secret, and replaces a secret with the same ids.
  ///
  /// - Parameter label: the name in the system's own list of secrets.
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
  /// The store; `nil` if the system has no store, or its client library is not installed.
  public static var current: (any SystemSecretStore)? { platformStore() }

  /// The store.
  /// - Throws: ``KeyError`` `secretStoreMissing`.
  public static func required() throws(KeyError) -> any SystemSecretStore {
    guard let store = current else { throw missing }
    return store
  }
}

extension KeyError {
  /// The value in the store is not a secret of a slot.
  static let badSystemSecret = KeyError(
    .badSystemSecret, "what the system's secret store keeps for this vault is not 32 bytes",
    hint: "unlock with another secret, remove the slot and add it again")
}
