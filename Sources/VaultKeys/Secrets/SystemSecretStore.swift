/// The operating system's secret store of a user: the keychain, or the Secret Service of a desktop.
///
/// The store contains the secrets of ``KeySlot/Kind/system`` slots, each under the ids of its vault and its slot.
///
/// **Threads.** May be used from any thread. A call blocks its thread while the user unlocks the store, with a time
/// limit.
public protocol SystemSecretStore: Sendable {
  /// Stores a secret, and replaces a secret with the same ids.
  ///
  /// - Parameter label: the name in the system's own list of secrets.
  /// - Throws: ``KeyError`` `secretStoreMissing` or `secretStoreRefused`.
  func store(_ secret: SecureBytes, vaultID: String, slotID: String, label: String) throws(KeyError)

  /// Returns the secret with these ids; `nil` if the store does not have it.
  ///
  /// - Throws: ``KeyError`` `secretStoreMissing`, `secretStoreRefused`, `badSystemSecret` or `outOfMemory`.
  func secret(vaultID: String, slotID: String) throws(KeyError) -> SecureBytes?

  /// Removes the secret with these ids. A missing secret is ignored.
  ///
  /// - Throws: ``KeyError`` `secretStoreMissing` or `secretStoreRefused`.
  func remove(vaultID: String, slotID: String) throws(KeyError)
}

/// The secret store of this system.
public enum SystemSecrets {
  /// The store; `nil` if the system has no store, or its client library is not installed.
  public static var current: (any SystemSecretStore)? { platformStore() }

  /// Returns the store.
  /// - Throws: ``KeyError`` `secretStoreMissing`.
  public static func required() throws(KeyError) -> any SystemSecretStore {
    guard let store = current else { throw missing }
    return store
  }
}

extension KeyError {
  /// The value in the store is not a secret of a slot.
  static let badSystemSecret = KeyError(
    .badSystemSecret, "the secret of this vault in the system's secret store does not have 32 bytes",
    hint: "unlock with another secret, remove the slot and add it again")
}
