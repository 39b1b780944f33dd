/// A keyring with its keys: the result of unlocking, from which every change of the keyring starts.
///
/// It is a value: each change returns a new one, whose ``keyring`` is then written with ``KeyringFile/write(_:at:)``.
/// Until that call returns, nothing has changed on the disk. The keys are wiped with the last copy.
public struct UnlockedKeyring: Sendable {
  /// The keyring that these keys belong to.
  public let keyring: Keyring
  /// The slot that opened it. It may have been removed since, which takes nothing away from this value.
  public let slotID: String
  /// Wraps the database key; wrapped by every slot. 32 bytes.
  let rootKey: SecureBytes
  /// The key of the current generation of the database. 32 bytes.
  public let databaseKey: SecureBytes

  /// The key of the backups of this vault, 32 bytes. A new root key makes another one; a backup carries its keyring.
  ///
  /// - Throws: ``KeyError`` `outOfMemory`.
  public func backupKey() throws(KeyError) -> SecureBytes { try SubKey.rootBackup.key(from: rootKey) }

  /// Returns the keys of a newer keyring of the same vault, without asking for a secret again.
  ///
  /// For a process that finds the file changed by another process: added or removed slots, or a new generation.
  ///
  /// - Throws: ``KeyError`` `wrongSecret` if the root key of this value does not authenticate it: another vault, a
  ///   replaced root key, or a forgery. Unlock it with a secret to tell these apart. Or `damaged`.
  public func following(_ newer: Keyring) throws(KeyError) -> UnlockedKeyring {
    guard newer.vaultID == keyring.vaultID, Digest.isEqual(try newer.expectedMAC(rootKey: rootKey), newer.mac) else {
      throw KeyError(
        .wrongSecret, "the keyring has changed, and the root key at hand is not its own",
        hint: "unlock the vault again")
    }
    return try newer.authenticated(slotID: slotID, rootKey: rootKey)
  }

  /// The same keys with other slots.
  func replacing(slots: [KeySlot]) throws(KeyError) -> UnlockedKeyring {
    let changed = try Keyring(
      vaultID: keyring.vaultID, generation: keyring.generation, slots: slots, rootKey: rootKey)
    return UnlockedKeyring(keyring: changed, slotID: slotID, rootKey: rootKey, databaseKey: databaseKey)
  }
}

extension UnlockedKeyring: CustomStringConvertible, CustomReflectable {
  /// The vault and the slot, never a key.
  public var description: String { "UnlockedKeyring(vault \(keyring.vaultID), opened by slot \(slotID))" }
  /// No children, so that `dump` shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
