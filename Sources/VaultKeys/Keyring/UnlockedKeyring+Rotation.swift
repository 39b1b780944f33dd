extension UnlockedKeyring {
  /// Returns the keyring with a new database key as the next generation. Every slot stays valid.
  ///
  /// The new key exists in this value only until the keyring is written, and the old one in `self`. Write the new
  /// generation of the database first and verify it. Then replace the keyring file, which is the commit.
  ///
  /// - Throws: ``KeyError`` `limitReached` after 999,999,999 generations, or `outOfMemory`.
  public func withNewGeneration(settings: KeyringSettings = .standard) throws(KeyError) -> UnlockedKeyring {
    try next(rootKey: rootKey, slots: keyring.slots, settings: settings)
  }

  /// Returns the keyring with a fresh root key and a fresh database key, as the next generation.
  ///
  /// A slot can be kept only if its secret is given, because it must wrap the new root key. All other slots are dropped
  /// and returned, so that the program can name them. Ask the user before writing the new keyring.
  ///
  /// - Parameter secrets: each secret keeps the slots that it opens, with their ids, labels, dates and, for
  ///   passphrases, their costs.
  /// - Throws: ``KeyError`` `wrongSecret` if a secret opens no slot, `lastSlot` without secrets, `limitReached`,
  ///   `outOfMemory`, and the errors of ``UnlockSecret/validate()``.
  public func withNewRootKey(
    keeping secrets: [UnlockSecret], settings: KeyringSettings = .standard
  ) throws(KeyError) -> (unlocked: UnlockedKeyring, dropped: [KeySlot]) {
    guard !secrets.isEmpty else {
      throw KeyError(
        .lastSlot, "a new root key needs the secret of at least one slot", hint: "give the passphrase or a key file")
    }
    let freshRoot = try SecureBytes.random(count: 32, from: settings.randomness)
    var kept: [String: KeySlot] = [:]
    for secret in secrets {
      for slot in try slots(openedBy: secret) {
        var same = settings
        same.derivation = slot.derivation ?? settings.derivation
        kept[slot.id] = try KeySlot.wrapping(
          freshRoot, for: secret, vaultID: keyring.vaultID, id: slot.id, label: slot.label, createdAt: slot.createdAt,
          settings: same)
      }
    }
    let slots = keyring.slots.compactMap { kept[$0.id] }
    let dropped = keyring.slots.filter { kept[$0.id] == nil }
    let opener = kept[slotID] == nil ? slots.first?.id : slotID
    let changed = try next(rootKey: freshRoot, slots: slots, settings: settings, opener: opener)
    return (changed, dropped)
  }

  private func slots(openedBy secret: UnlockSecret) throws(KeyError) -> [KeySlot] {
    // Asks for the errors of an ordinary unlocking first: no slot of that kind, a wrong secret.
    try secret.validate()
    var opened: [KeySlot] = []
    for slot in keyring.slots {
      if try slot.open(with: secret, vaultID: keyring.vaultID) != nil { opened.append(slot) }
    }
    if opened.isEmpty { _ = try keyring.unlock(with: secret) }
    return opened
  }

  private func next(
    rootKey: SecureBytes, slots: [KeySlot], settings: KeyringSettings, opener: String? = nil
  ) throws(KeyError) -> UnlockedKeyring {
    guard keyring.generation.number < Keyring.Generation.range.upperBound else {
      throw KeyError(
        .limitReached, "no generation number is left", hint: "move the records to a new vault")
    }
    let databaseKey = try SecureBytes.random(count: 32, from: settings.randomness)
    let generation = try Keyring.Generation(
      number: keyring.generation.number + 1, databaseKey: databaseKey, rootKey: rootKey, vaultID: keyring.vaultID,
      randomness: settings.randomness)
    let changed = try Keyring(
      vaultID: keyring.vaultID, generation: generation, slots: slots, rootKey: rootKey)
    return UnlockedKeyring(
      keyring: changed, slotID: opener ?? slotID, rootKey: rootKey, databaseKey: databaseKey)
  }
}
