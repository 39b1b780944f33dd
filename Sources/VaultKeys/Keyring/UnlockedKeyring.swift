/// A keyring and its keys: what unlocking gives, and what every change of the keyring needs.
///
/// A value: each change returns a new one, whose ``keyring`` is then written with ``KeyringFile/write(_:at:)``. Until
/// that has returned, nothing has changed on the disk. The keys are wiped when the last copy goes.
public struct UnlockedKeyring: Sendable {
  /// The keyring that these keys belong to.
  public let keyring: Keyring
  /// The slot that opened it. It may have been removed since, which takes nothing away from this value.
  public let slotID: String
  /// Wraps the database key; wrapped by every slot. 32 bytes.
  let rootKey: SecureBytes
  /// The key of the current generation of the database. 32 bytes.
  public let databaseKey: SecureBytes

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
