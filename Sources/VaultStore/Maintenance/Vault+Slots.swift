import Platform
import VaultKeys

extension Vault {
  /// Returns the key slots in the keyring on disk.
  /// - Throws: `KeyError` when the keyring cannot be read.
  public func slots() throws -> [KeySlot] { try KeyringFile.read(at: layout.keyring).slots }

  /// The id of the key slot that opened this vault.
  public var openedSlotID: String { keyring.slotID }

  /// The key that opens this vault again without a secret, until its keyring changes.
  package var sessionKey: SessionKey { keyring.sessionKey }

  /// Adds a key slot.
  ///
  /// The new slot is opened once before the keyring is replaced. After a crash the vault has the old or the new
  /// keyring.
  /// - Throws: `KeyError` for an invalid secret or label, or with `limitReached`; ``VaultError`` with `busy`.
  public func addSlot(_ secret: UnlockSecret, label: String = "") throws -> KeySlot {
    let changed = try changeSlots(proving: secret) { try $0.adding(secret, label: label, settings: keySettings) }
    guard let slot = changed.slots.last else { throw VaultError(.damaged, "the keyring has no slots") }
    return slot
  }

  /// Adds a key slot with a random secret that the operating system stores.
  ///
  /// The secret is stored and read back before the keyring is replaced. If the keyring cannot be replaced, the
  /// secret is removed from the store.
  /// - Throws: `KeyError` of the store, or with `badLabel` or `limitReached`; ``VaultError`` with `busy`.
  public func addSystemSlot(in store: any SystemSecretStore, label: String = "") throws -> KeySlot {
    var added: KeySlot?
    do {
      let changed = try changeSlots(proving: nil) { newest in
        let changed = try newest.addingSystemSlot(in: store, label: label, settings: keySettings)
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

  /// Returns whether the keyring on disk has a slot, which is possible even after an error if the rename succeeded.
  private func isWritten(_ slot: KeySlot) -> Bool {
    (try? KeyringFile.read(at: layout.keyring))?.slots.contains(slot) ?? false
  }

  /// Removes the secret of a removed key slot from the operating system's store.
  /// - Throws: `KeyError` of the store.
  public func forget(_ slotID: String, in store: any SystemSecretStore) throws {
    try store.remove(vaultID: keyring.keyring.vaultID, slotID: slotID)
  }

  /// Returns the keyring of the vault at a path without unlocking it, for example to look up its stored secrets.
  /// - Throws: ``VaultError`` with `notAVault`; `KeyError` when the keyring cannot be read.
  public static func keyring(at path: String) throws -> Keyring { try KeyringFile.read(at: existing(path).keyring) }

  /// Returns the keyring in a backup without unlocking it, for example to look up its stored secrets.
  /// - Throws: ``VaultError`` with `damaged` when the file is not a backup, or with `refused` when its keyring has
  ///   a newer format.
  public static func keyring(ofBackup path: String) throws -> Keyring {
    try BackupReader(OpenFile(reading: path)).keyring
  }

  /// Returns the id of the key slot that a word names: its id, or at least 4 of its first characters.
  /// - Throws: `KeyError` with `noSuchSlot`; ``VaultError`` with `ambiguous`.
  public func slotID(_ word: String) throws -> String {
    let keyring = try KeyringFile.read(at: layout.keyring)
    let found = Self.slotIDs(beginningWith: word.lowercased(), among: keyring.slots.map(\.id))
    guard found.count <= 1 else {
      throw VaultError(
        .ambiguous, "'\(word)' is the beginning of \(found.count) slot ids", hint: "give more characters of the id",
        name: word, candidates: found, candidateCount: found.count)
    }
    return try found.first ?? keyring.slot(word).id
  }

  /// Returns the ids that begin with a text; none for a text that is shorter than ``Identifier/shortestPrefix``.
  package static func slotIDs(beginningWith text: String, among ids: [String]) -> [String] {
    text.utf8.count >= Identifier.shortestPrefix ? ids.filter { $0.hasPrefix(text) } : []
  }

  /// Removes a key slot, unless it is the last one. Copies of the old keyring can still be opened with its secret.
  /// - Throws: `KeyError` with `noSuchSlot` or `lastSlot`; ``VaultError`` with `busy`.
  public func removeSlot(_ id: String) throws {
    _ = try changeSlots(proving: nil) { try $0.removingSlot(id) }
  }

  /// Changes the passphrase of a key slot. The database key stays the same.
  /// - Throws: `KeyError` with `noSuchSlot` or for an invalid passphrase; ``VaultError`` with `busy`.
  public func changePassphrase(ofSlot id: String, to passphrase: SecureBytes) throws {
    _ = try changeSlots(proving: .passphrase(passphrase)) {
      try $0.changingPassphrase(of: id, to: passphrase, settings: keySettings)
    }
  }

  /// Writes the database key to a new file of mode 0600, for other programs that read SQLCipher databases.
  /// - Throws: `KeyError` with `alreadyExists`, `noSpace` or `cannotWrite`.
  public func exportDatabaseKey(to path: String) throws { try ExportedKey.write(keyring.databaseKey, at: path) }

  /// Changes the newest keyring and writes it. If `secret` is given, it must first open the changed keyring.
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

  /// The settings of a change of the keyring: the time of the vault, and random numbers of the operating system.
  var keySettings: KeyringSettings { KeyringSettings(now: environment.clock.now) }

  /// Returns the keyring on disk, unlocked with the keys in memory.
  func newestKeyring() throws -> UnlockedKeyring {
    try keyring.following(KeyringFile.read(at: layout.keyring))
  }

  /// Raises the cost of a passphrase slot to the current standard. Errors are ignored because the vault is already
  /// open. The next opening tries again.
  func raiseCost(of secret: UnlockSecret) {
    guard case .passphrase(let passphrase) = secret,
      keyring.keyring.slots.contains(where: { $0.id == openedSlotID && $0.needsUpgrade })
    else { return }
    _ = try? changeSlots(proving: secret) {
      try $0.upgradingPassphrase(of: openedSlotID, passphrase, settings: keySettings)
    }
  }
}
