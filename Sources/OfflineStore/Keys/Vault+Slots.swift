import VaultKeys

extension Vault {
  /// The ways to unlock the vault, as its keyring has them now.
  /// - Throws: `KeyError` when the keyring cannot be read.
  public func slots() throws -> [KeySlot] { try KeyringFile.read(at: layout.keyring).slots }

  /// The slot that opened the vault here.
  public var openedSlotID: String { keyring.slotID }

  /// Adds a way to unlock the vault.
  ///
  /// The new slot is opened once before the keyring is replaced, and after a crash the keyring is the old or the new one.
  /// - Throws: `KeyError` for a secret or label that cannot be, or with `limitReached`; ``VaultError`` with `busy`.
  public func addSlot(_ secret: UnlockSecret, label: String = "") throws -> KeySlot {
    let changed = try changeSlots(proving: secret) { try $0.adding(secret, label: label) }
    guard let slot = changed.slots.last else { throw VaultError(.damaged, "the keyring has no slots") }
    return slot
  }

  /// Adds a way to unlock the vault whose secret is random and kept by the operating system.
  ///
  /// The store is asked first. The keyring is replaced when the secret is in the store and was read back; where it
  /// cannot be replaced, the secret is taken out of the store again.
  /// - Throws: `KeyError` of the store, with `badLabel` or `limitReached`; ``VaultError`` with `busy`.
  public func addSystemSlot(in store: any SystemSecretStore, label: String = "") throws -> KeySlot {
    var added: KeySlot?
    do {
      let changed = try changeSlots(proving: nil) { newest in
        let changed = try newest.addingSystemSlot(in: store, label: label)
        added = changed.keyring.slots.last
        return changed
      }
      guard let slot = changed.slots.last else { throw VaultError(.damaged, "the keyring has no slots") }
      return slot
    } catch {
      if let added, !isWritten(added) { try? forget(added.id, in: store) }
      throw error
    }
  }

  /// Whether the keyring on the disk has a slot, also after an error that came behind the commit.
  private func isWritten(_ slot: KeySlot) -> Bool {
    (try? KeyringFile.read(at: layout.keyring))?.slots.contains(slot) ?? false
  }

  /// Takes the secret of a slot that is removed out of the system's store.
  /// - Throws: `KeyError` of the store.
  public func forget(_ slotID: String, in store: any SystemSecretStore) throws {
    try store.remove(vaultID: keyring.keyring.vaultID, slotID: slotID)
  }

  /// The keyring of the vault at a path, to look for its secrets; no key is tried.
  /// - Throws: ``VaultError`` with `notAVault`; `KeyError` when the keyring cannot be read.
  public static func keyring(at path: String) throws -> Keyring { try KeyringFile.read(at: existing(path).keyring) }

  /// The keyring that a backup carries, to look for its secrets; no key is tried.
  /// - Throws: ``VaultError`` with `damaged` when the file is no backup.
  public static func keyring(ofBackup path: String) throws -> Keyring {
    try BackupReader(OpenFile(reading: path)).keyring
  }

  /// Removes a way to unlock the vault, never the last one. Copies of the old keyring still open with it.
  /// - Throws: `KeyError` with `noSuchSlot` or `lastSlot`; ``VaultError`` with `busy`.
  public func removeSlot(_ id: String) throws {
    _ = try changeSlots(proving: nil) { try $0.removingSlot(id) }
  }

  /// Gives a passphrase slot another passphrase. The database key stays the same.
  /// - Throws: `KeyError` with `noSuchSlot` or for a passphrase that cannot be; ``VaultError`` with `busy`.
  public func changePassphrase(ofSlot id: String, to passphrase: SecureBytes) throws {
    _ = try changeSlots(proving: .passphrase(passphrase)) { try $0.changingPassphrase(of: id, to: passphrase) }
  }

  /// Writes the database key to a new file of mode 0600, for other programs that read SQLCipher.
  /// - Throws: `KeyError` with `alreadyExists`, `noSpace` or `cannotWrite`.
  public func exportDatabaseKey(to path: String) throws { try ExportedKey.write(keyring.databaseKey, at: path) }

  /// Changes the newest keyring and writes it. A secret that is given has to open the changed keyring first.
  private func changeSlots(
    proving secret: UnlockSecret?, _ change: (UnlockedKeyring) throws -> UnlockedKeyring
  ) throws -> Keyring {
    let held = try KeyringLock(folder: layout.folder)
    defer { withExtendedLifetime(held) {} }
    let changed = try change(try newestKeyring())
    if let secret { _ = try Keyring(parsing: changed.keyring.serialized()).unlock(with: secret) }
    try KeyringFile.write(changed.keyring, at: layout.keyring)
    keys.withLock { $0 = changed }
    return changed.keyring
  }

  /// The keyring as it stands on the disk, with the keys at hand.
  func newestKeyring() throws -> UnlockedKeyring {
    try keyring.following(KeyringFile.read(at: layout.keyring))
  }

  /// Makes a passphrase slot cost what is the standard today. Where that cannot be written, the vault is open all the
  /// same, and the next time tries again.
  func raiseCost(of secret: UnlockSecret) {
    guard case .passphrase(let passphrase) = secret,
      keyring.keyring.slots.contains(where: { $0.id == openedSlotID && $0.needsUpgrade })
    else { return }
    _ = try? changeSlots(proving: secret) { try $0.upgradingPassphrase(of: openedSlotID, passphrase) }
  }
}
