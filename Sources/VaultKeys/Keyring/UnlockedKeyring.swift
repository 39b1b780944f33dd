/// A keyring with its keys: the result of unlocking, from which every change of the keyring starts.
///
/// Each change returns a new value, whose ``keyring`` is then written with ``KeyringFile/write(_:at:)``. Until that
/// call returns, the file is unchanged. The keys are wiped with the last copy.
public struct UnlockedKeyring: Sendable {
  /// The keyring that these keys belong to.
  public let keyring: Keyring
  /// The slot that opened the keyring. The value stays usable after the slot is removed.
  public let slotID: String
  /// The root key; `nil` if a session key opened the keyring.
  private let storedRootKey: SecureBytes?
  /// The key of the current generation of the database. 32 bytes.
  public let databaseKey: SecureBytes

  init(keyring: Keyring, slotID: String, rootKey: SecureBytes?, databaseKey: SecureBytes) {
    (self.keyring, self.slotID, storedRootKey, self.databaseKey) = (keyring, slotID, rootKey, databaseKey)
  }

  /// The root key, which wraps the database key and is wrapped by every slot. 32 bytes.
  ///
  /// - Throws: ``KeyError`` `secretRequired` if a session key opened the keyring.
  var rootKey: SecureBytes {
    get throws(KeyError) {
      if let storedRootKey { return storedRootKey }
      throw KeyError(
        .secretRequired, "this step needs a secret of the vault, which was opened without one",
        hint: "unlock the vault with its passphrase, a key file or the recovery code")
    }
  }

  /// Returns the key of the backups of this vault, 32 bytes. It changes with the root key. A backup contains its
  /// keyring.
  ///
  /// - Throws: ``KeyError`` `outOfMemory`, or `secretRequired` if a session key opened the keyring.
  public func backupKey() throws(KeyError) -> SecureBytes { try SubKey.rootBackup.key(from: try rootKey) }

  /// Returns the keys of a newer keyring of the same vault, without asking for a secret again.
  ///
  /// For a process that finds the file changed by another process: added or removed slots, or a new generation.
  ///
  /// - Throws: ``KeyError`` `wrongSecret` if the root key of this value does not authenticate it: another vault, a
  ///   replaced root key, or a forgery. Unlock it with a secret to distinguish these causes. Or `damaged`.
  public func following(_ newer: Keyring) throws(KeyError) -> UnlockedKeyring {
    if newer == keyring { return self }
    let rootKey = try rootKey
    guard newer.vaultID == keyring.vaultID, Digest.isEqual(try newer.expectedMAC(rootKey: rootKey), newer.mac) else {
      throw KeyError(
        .wrongSecret, "the keyring has changed, and the root key no longer opens it",
        hint: "unlock the vault again")
    }
    return try newer.authenticated(slotID: slotID, rootKey: rootKey)
  }

  /// Returns the same keys with other slots.
  func replacing(slots: [KeySlot]) throws(KeyError) -> UnlockedKeyring {
    let rootKey = try rootKey
    let changed = try Keyring(
      vaultID: keyring.vaultID, generation: keyring.generation, slots: slots, rootKey: rootKey)
    return UnlockedKeyring(keyring: changed, slotID: slotID, rootKey: rootKey, databaseKey: databaseKey)
  }
}

extension UnlockedKeyring: CustomStringConvertible, CustomReflectable {
  /// The vault and the slot, never a key.
  public var description: String { "UnlockedKeyring(vault \(keyring.vaultID), opened by slot \(slotID))" }
  /// A mirror without children, so that `dump` shows no keys.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
